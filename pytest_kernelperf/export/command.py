"""The command: runs pytest in the commit's checkout with the exporting plugin, and reads what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from pytest_kernelperf.baseline.exported import Export, read_export, sentence, write_export
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.export.exporter import empty
from pytest_kernelperf.export.wish import Outcome, Wish
from pytest_kernelperf.pytest_process import AS_INSTALLED, Finished, run_pytest

PLUGIN = "pytest_kernelperf.plugin.exporting"
_USAGE_ERROR = 4
_CONFTEST = "while loading conftest"


def export_plans(
    arguments: Sequence[str],
    output: Path,
    commit: str,
    *,
    runtime: str = "auto",
    say: Callable[[str], None] = lambda line: None,
) -> tuple[Export, Outcome]:
    """Export what pytest collects with ``arguments`` in the current folder.

    A commit that cannot be collected is exported too, with nothing but the reason: the change that repairs it has to
    be measured all the same.

    Args:
        arguments: paths and options as for ``pytest --kernelperf``.
        output: the file to write.
        commit: the commit's full SHA; empty where it is not known.
        runtime: as ``--kernelperf-runtime`` has it.
        say: told where the run is, a line at a time.

    Raises:
        UsageError: no file was written: the arguments are wrong, or there is no device.
        ReplayError: the file cannot be written.
    """
    with TemporaryDirectory(prefix="kernelperf-plans-") as name:
        scratch = Path(name)
        wished, outcome = scratch / "wish.json", scratch / "outcome.json"
        wished.write_bytes(msgspec.json.encode(Wish(str(output.absolute()), str(outcome), commit)))
        finished = run_pytest(
            [
                *("--kernelperf", f"--kernelperf-runtime={runtime}", f"--kernelperf-out={scratch / 'out'}"),
                *("-o", "kernelperf_page=false"),
                *("-p", PLUGIN, f"--kernelperf-plans={wished}"),
                *arguments,
            ],
            scratch=scratch,
            on_line=say,
            program=AS_INSTALLED,
        )
        if outcome.exists():
            found = msgspec.json.decode(outcome.read_bytes(), type=Outcome)
            if found.problem:
                raise UsageError(found.problem)
            return read_export(output), found
    if finished.code == _USAGE_ERROR and _CONFTEST not in finished.output:
        raise UsageError(f"pytest refused its arguments; the end of what it said:\n{finished.last_lines}")
    export = empty(commit, _failed(finished))
    write_export(output, export)
    return export, Outcome()


def _failed(finished: Finished) -> str:
    how = f"exit code {finished.code}" if finished.code >= 0 else f"it died of signal {-finished.code}"
    return f"pytest could not collect this commit ({how}): {sentence(finished.last_lines[-1500:])}"
