"""The package as its users meet it: names, version, files, and what it costs those who do not use it."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_kernelperf
from pytest_kernelperf.native import native_path

HEAVY = {"numpy", "scipy", "msgspec", "hip", "rocm", "tabulate", "click", "elftools", "filelock"}


def test_the_public_surface_is_what_it_says() -> None:
    """Exactly these names can be relied on; a new one is added here on purpose."""
    assert pytest_kernelperf.__all__ == ["At", "Copy", "Fill", "Floor", "Kernel", "Launch", "Tolerance", "cdiv", "fmaf"]
    for name in pytest_kernelperf.__all__:
        assert getattr(pytest_kernelperf, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Fetching names on first use must not hide a typing mistake."""
    with pytest.raises(AttributeError, match="no attribute 'Kernal'"):
        _ = pytest_kernelperf.Kernal


def test_the_installed_version_is_the_packages_own() -> None:
    """One place states the version; the metadata is made from it."""
    try:
        installed = importlib.metadata.version("pytest-kernelperf")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("pytest-kernelperf is not installed here")
    assert installed == pytest_kernelperf.__version__


def test_the_changelog_knows_this_version() -> None:
    """Each version has its entry."""
    changelog = Path(__file__).parents[2] / "CHANGELOG.md"
    if not changelog.exists():
        pytest.skip("the changelog is not beside these tests")
    assert f"## {pytest_kernelperf.__version__}" in changelog.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "libkernelperf_loop.so",
        "hip_cpu/lib/libamdhip64.so",
        "hip_cpu/lib/libhiprtc.so",
        "hip_cpu/include",
        "hip_cuda/lib/libamdhip64.so",
        "hip_cuda/lib/libhiprtc.so",
        "hip_cuda/include",
    ],
)
def test_what_native_builds_is_installed(name: str) -> None:
    """Loop, cpu runtime and its device headers are found in an installation, editable or from a wheel."""
    path = native_path(name)
    assert path.is_absolute()
    assert path.is_file() or any(path.iterdir())


def imported_modules(folder: Path, *arguments: str) -> set[str]:
    """Run Python with ``arguments`` in ``folder``; return the names of all modules it imported."""
    finished = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert finished.returncode in (0, 5), finished.stdout + finished.stderr[-2000:]  # 5: no tests collected
    return set(re.findall(r"^import time:.*\| +(\S+)$", finished.stderr, flags=re.MULTILINE))


def test_a_project_that_does_not_use_the_plugin_imports_nothing_heavy(
    tmp_path: Path, plugin_arguments: tuple[str, ...]
) -> None:
    """The plugin is loaded wherever it is installed, and must cost those who do not ask for it next to nothing."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n", encoding="utf-8")
    without = imported_modules(tmp_path, "-m", "pytest", "--co", "-q", "-p", "no:kernelperf")
    with_plugin = imported_modules(tmp_path, "-m", "pytest", "--co", "-q", *plugin_arguments)

    # The plugin's own line is missing in the listing, as pytest imports it through importlib; what it imports is not.
    assert "pytest_kernelperf.ini" in with_plugin - without
    added = {name.partition(".")[0] for name in with_plugin - without}
    assert added & HEAVY == set()


def test_importing_the_package_imports_nothing_heavy(tmp_path: Path) -> None:
    """``import pytest_kernelperf`` alone fetches none of its names' homes."""
    modules = imported_modules(tmp_path, "-c", "import pytest_kernelperf")
    assert "pytest_kernelperf" in modules
    assert {name.partition(".")[0] for name in modules} & HEAVY == set()
