"""``report.html`` as a file."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pytest_kernelperf.atomic_write import write_atomically
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Run
from pytest_kernelperf.report.text import one_line

NAME = "report.html"
MISSING = "report.html needs the extra report, which is not installed: pip install 'pytest-kernelperf[report]'"


def try_page(run: Run, folder: Path) -> str:
    """Write the page beside a run's file and return the line that says where it is, or why there is none.

    Whatever goes wrong here changes nothing of the run: all that the page says stands in the run file.
    """
    path = folder / NAME
    try:
        write_page(run, path)
    except UsageError as missing:
        return f"no page: {missing}"
    except Exception as problem:  # a library's own kinds as well
        return one_line(f"no page: {path} could not be written ({type(problem).__name__}: {problem})")
    return f"the run as a page: {path}"


def write_page(run: Run, path: Path) -> None:
    """Write the page of a run; the folder must exist.

    Raises:
        UsageError: the extra ``report`` is not installed.
        OSError: the file cannot be written.
    """
    try:
        # Only here: neither belongs to a plain installation, and both take their time.
        from pytest_kernelperf.report.html.library import load_library
        from pytest_kernelperf.report.html.page import render_page

        with ThreadPoolExecutor(1) as beside:  # it is bundled in a second or two without Python's own lock
            library = beside.submit(load_library)
            text = render_page(run, library.result)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("pytest_kernelperf"):
            raise
        raise UsageError(MISSING) from None
    write_atomically(path, text.encode("utf-8", "replace"))
