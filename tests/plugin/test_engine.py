"""The engine of the documentation: a CMake project whose kernel file holds host code, guarded without a GPU."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"

# `path`, some words, then the file's text in the next fence.
FILE = re.compile(r"`([\w/]+\.(?:hip|py|h|ini|json|txt))`[^`]*:[^`]*\n\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture
def engine(guarded: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The page's files in a child project, configured as the page says, on a machine without ROCm."""
    if not PAGE.exists():
        pytest.skip("docs/ is not beside these tests")
    monkeypatch.delenv("HIPCXX", raising=False)
    monkeypatch.setenv("ROCM_PATH", "/nonexistent")
    files = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))
    assert sorted(files) == [
        "CMakeLists.txt", "CMakePresets.json", "build/strix/compile_commands.json", "include/engine/model.h",
        "pytest.ini", "src/inject.hip", "tests/kernels/test_inject.py",
    ]  # fmt: skip
    for name, text in files.items():
        guarded.child.write(name, text.replace("/home/me/engine", str(guarded.path)))
    return guarded


def skips(output: str) -> str:
    """pytest's own list of what was skipped and why, in one line."""
    return " ".join(output.split("short test summary info", 1)[1].split())


def test_the_pages_preset_is_one_that_cmake_reads(engine: Any) -> None:
    """It has compile commands written, into the folder where they are looked for."""
    (preset,) = json.loads((engine.path / "CMakePresets.json").read_text())["configurePresets"]
    assert preset["cacheVariables"]["CMAKE_EXPORT_COMPILE_COMMANDS"] == "ON"
    assert preset["binaryDir"] == "${sourceDir}/build/strix"


def test_without_a_gpu_its_cases_are_skipped_with_the_reason(engine: Any) -> None:
    """They do not fail, are not timed, and pytest, the run file and the table say why."""
    result = engine.guard("tests/kernels", "-rs")
    result.assert_outcomes(skipped=4)
    reason = "inject.hip needs a GPU, since the cpu runtime cannot compile it (it launches kernels with <<<>>>)"
    assert reason in skips(result.stdout.str())
    assert set(engine.verdicts().values()) == {"skipped"}
    result.stdout.fnmatch_lines([f"*skipped: src/{reason}*", "2 cases: 2 skipped; mutations: 2 skipped"])


def test_its_flags_are_the_projects_and_its_template_is_found(engine: Any) -> None:
    """ENGINE_STREAMS and the include folder stand in compile_commands.json alone; registers are in the record."""
    for program in ("clang++-19", "ld.lld-19"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here: apt-get install clang-19 lld-19")
    engine.guard("tests/kernels")
    for record in engine.run_file()["records"]:
        assert "checked against its code by" in record["decision"]["reason"]
        assert record["resources"]["inject<256>"]["vgprs"] > 0
    engine.replace("tests/kernels/test_inject.py", '[np.int32(tokens), "y"', '[np.int64(tokens), "y"')
    engine.guard("tests/kernels", "-k", "thread_a_value").assert_outcomes(failed=2)
    assert "argument 1: np.int64 is given where the kernel takes" in json.dumps(engine.run_file()["records"])


def test_without_a_gpu_a_starved_launch_fails_all_the_same(engine: Any) -> None:
    """Four times the values a thread: ten workgroups for the target's forty compute units."""
    engine.replace("tests/kernels/test_inject.py", "workgroups = cdiv(", "workgroups = cdiv(cdiv(")
    engine.replace("tests/kernels/test_inject.py", "COLUMNS, THREADS)\n    args", "COLUMNS, 4), THREADS)\n    args")
    result = engine.guard("tests/kernels", "-k", "thread_a_value")
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*inject<256>: 10 workgroups, 40 compute units (gfx1151)*"])


def test_compile_commands_that_miss_the_file_are_said_when_they_were_named(engine: Any) -> None:
    """A stale build must not pass for one without flags."""
    engine.replace(
        "tests/kernels/test_inject.py", 'build="device"', 'build="device", compile_commands="../../build/strix"'
    )
    engine.replace("build/strix/compile_commands.json", '"file": "', '"file": "/old')
    engine.guard("tests/kernels", "-k", "thread_a_value").assert_outcomes(failed=2)
    assert "does not compile" in json.dumps(engine.run_file()["records"])
