"""The whole way, as a user meets it: collected, compiled, run, judged, stored, compared."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelperf.measure.lock import MachineLock

PLAIN = '"x", "y"]\n    return [Launch("scale",'
SLOWER_PLAIN = "if (i < n) y[i] = factor * x[i];", "if (i < n) y[i] = x[i] * factor + 0.0f * i;"


def regress(stored: Any) -> None:
    """Change the kernel ``scale``, and let the clock say that it got a third slower."""
    stored.replace("scale.hip", *SLOWER_PLAIN)
    stored.set_times(
        {"match": {"arm": "head"}, "us": 13.3, "noise_ratio": 0.001},
        {"match": {}, "us": 10.0, "noise_ratio": 0.001},
    )


def test_a_first_run_finds_everything_new_and_says_how_to_store_it(guarded: Any) -> None:
    """Exit 0, a table, and the command."""
    result = guarded.guard()
    assert result.ret == 0
    assert guarded.verdicts() == {
        "plain-1": "new",
        "strided-1": "new",
        "factor_two-1": "caught",
        "plain-8": "new",
        "strided-8": "new",
        "factor_two-8": "caught",
    }
    result.stdout.fnmatch_lines(["*tokens*variant*us/launch*", "*--update-baselines=*"])


def test_a_stored_run_is_identical_and_times_nothing(guarded: Any) -> None:
    """Then, with a clock that knows no times at all, a second run is identical."""
    assert guarded.guard("--update-baselines=first").ret == 0
    guarded.set_times()
    result = guarded.guard()
    assert result.ret == 0
    assert set(guarded.verdicts().values()) == {"identical", "caught"}


def test_a_comment_or_a_renamed_local_is_identical(stored: Any) -> None:
    """The instructions decide."""
    stored.set_times()
    stored.replace("scale.hip", "const int threads =", "// how many there are\n\n    const int all_threads =")
    stored.replace("scale.hip", "i += threads", "i += all_threads")
    assert stored.guard().ret == 0
    assert set(stored.verdicts().values()) == {"identical", "caught"}


@pytest.mark.parametrize("arguments", [(), ("-n2",), ("-p", "no:terminal"), ("-x",), ("-k", "plain")])
def test_a_regression_fails_whatever_else_is_asked(stored: Any, arguments: tuple[str, ...]) -> None:
    """The changed kernel's cases are regressed, all others identical, under every option that changes the run."""
    if "-n2" in arguments:
        pytest.importorskip("xdist", reason="needs pytest-xdist")
    regress(stored)
    assert stored.guard(*arguments).ret == 1
    verdicts = stored.verdicts()
    assert verdicts["plain-1"] == "regressed"
    assert {name: v for name, v in verdicts.items() if "strided" in name} in (
        {"strided-1": "identical", "strided-8": "identical"},
        {},
    )
    if arguments != ("-x",):
        assert verdicts["plain-8"] == "regressed"


def test_junit_tells_the_same_failures_with_messages_that_stand_alone(stored: Any) -> None:
    """Case, verdict, change, interval and agreement are in the message."""
    regress(stored)
    assert stored.guard("--junitxml=junit.xml").ret == 1
    failures = {
        case.get("name"): case.find("failure")
        for case in ET.parse(stored.path / "junit.xml").iter("testcase")
        if case.find("failure") is not None
    }
    assert set(failures) == {"test_scale[plain-1]", "test_scale[plain-8]"}
    message = str(failures["test_scale[plain-8]"].get("message"))  # type: ignore[union-attr]
    for part in ("scale", "plain", "8 tokens", "regressed", "33", "3 of 3"):
        assert part in message


def test_a_changed_slower_kernel_is_accepted_with_a_reason_and_is_identical_after_it(stored: Any) -> None:
    """The reason is stored where a reviewer reads it."""
    regress(stored)
    assert stored.guard("--update-baselines=rounds as the engine does").ret == 0
    assert stored.verdicts()["plain-8"] == "accepted"
    assert "rounds as the engine does" in stored.baseline().read_text()
    assert stored.guard().ret == 0
    assert stored.verdicts()["plain-8"] == "identical"


def test_xdist_workers_store_baselines_together(guarded: Any) -> None:
    """Records and binaries reach the process that writes."""
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    assert guarded.guard("-n2", "--update-baselines=first").ret == 0
    assert guarded.guard().ret == 0
    assert set(guarded.verdicts().values()) == {"identical", "caught"}


def test_a_wrong_kernel_says_where_it_differs(guarded: Any) -> None:
    """How many values, and the first."""
    guarded.replace("scale.hip", "if (i < n) y[i] = factor * x[i];", "if (i + 1 < n) y[i] = factor * x[i];")
    result = guarded.guard("-k", "plain-8")
    assert result.ret == 1
    assert guarded.verdicts() == {"plain-8": "wrong"}
    result.stdout.fnmatch_lines(["*1 of 2,048 values*2047*got 0, want 6141*"])


def test_a_mutation_that_goes_unnoticed_fails(guarded: Any) -> None:
    """A mutation that computes the right thing is no mutation."""
    guarded.replace("test_scale.py", "np.float32(2), ", "np.float32(3), ")
    assert guarded.guard("-k", "factor_two").ret == 1
    assert set(guarded.verdicts().values()) == {"unnoticed"}


def test_faults_are_one_sentence_each_and_the_others_are_judged(guarded: Any) -> None:
    """Out of bounds, endless, not compiling: the case fails, the rest goes on, no process stays."""
    guarded.replace("scale.hip", "const int threads =", "if (n > 300) x += 1ll << 40;\n    const int threads =")
    result = guarded.guard("-k", "not factor_two")
    assert result.ret == 1
    assert guarded.verdicts() == {"plain-1": "new", "strided-1": "new", "plain-8": "new", "strided-8": "failed"}
    record = next(r for r in guarded.run_file()["records"] if r["decision"]["verdict"] == "failed")
    for part in ("hipErrorIllegalAddress", "kernel scale_strided: ", "scale strided at 8 tokens"):
        assert part in record["decision"]["reason"]


def test_an_endless_kernel_is_stopped(guarded: Any) -> None:
    """By its time limit; the next case runs in a fresh worker."""
    guarded.replace(
        "scale.hip", "if (i < n) y[i] = factor", "volatile int go = 1;\n    while (go) {}\n    y[i] = factor"
    )
    result = guarded.guard("-o", "kernelperf_case_timeout_s=5", "-k", "8 and not factor_two")
    assert result.ret == 1
    assert guarded.verdicts() == {"plain-8": "hung", "strided-8": "new"}


def test_a_source_that_does_not_compile_is_said_with_its_line(guarded: Any) -> None:
    """The compiler's own first error, by the user's file and line."""
    guarded.replace("scale.hip", "const int threads", "const int threads here")
    result = guarded.guard("-k", "strided-8")
    assert result.ret == 1
    assert guarded.verdicts() == {"strided-8": "failed"}
    result.stdout.fnmatch_lines(["*scale.hip:8:*"])


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("np.float32(3), " + PLAIN, "3.0, " + PLAIN, "bare Python"),
        ("np.float32(3), " + PLAIN, PLAIN, "takes 4 arguments"),
        ("np.int32(256 * tokens), np.float32(3), " + PLAIN,
         "np.int64(256 * tokens), np.float32(3), " + PLAIN, "np.int64 is given"),
        ('Launch("scale",', 'Launch("scaled",', "no kernel is called 'scaled'; near it are scale and scale_strided"),
        ("dtype=np.float32)", "dtype=np.int32)", "holds int32"),
        ('{"y": (np', '{"z": (np', "returns 'z'"),
        ("grid=tokens", "grid=0", "grid=0 has a zero"),
    ],
)  # fmt: skip
def test_a_wrong_plan_is_refused_before_anything_runs(guarded: Any, old: str, new: str, sentence: str) -> None:
    """One sentence that names kernel, variant, size and argument."""
    guarded.replace("test_scale.py", old, new)
    result = guarded.guard("-k", "plain-8")
    assert result.ret == 1
    (record,) = guarded.run_file()["records"]
    assert sentence in record["decision"]["reason"]
    assert "8 tokens" in record["decision"]["reason"]
    assert "Traceback" not in result.stdout.str()


def test_a_profiler_in_the_environment_is_named(guarded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is timed beside it."""
    monkeypatch.setenv("ROCP_TOOL_LIBRARIES", "/opt/rocm/lib/librocprofiler-sdk-tool.so")
    assert guarded.guard("-k", "plain-8").ret == 1
    (record,) = guarded.run_file()["records"]
    assert record["decision"]["verdict"] == "invalid"
    assert "ROCP_TOOL_LIBRARIES" in record["decision"]["reason"]


def test_a_run_of_a_scripted_clock_says_so(guarded: Any) -> None:
    """In the run file and in the device key that baselines are stored by."""
    guarded.guard("-k", "plain-8")
    run = guarded.run_file()
    assert run["scripted_clock"] is True
    assert run["device"]["key"].startswith("scripted-cpu-")


def damage_nan(text: str) -> str:
    """Put NaN in place of the first sample."""
    record = json.loads(text)
    first = record["cases"][0]["processes"][0]["times_us"][0]
    return text.replace(str(first), "NaN", 1)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (damage_nan, "scale.json"),
        (lambda text: text.replace('"version": 1', '"version": 99'), "version 99"),
        (lambda text: text[: len(text) // 2], "scale.json"),
        (lambda text: text.replace('"device_key": "scripted-cpu', '"device_key": "gfx1151'), "gfx1151"),
    ],
)
def test_a_damaged_baseline_is_one_sentence_and_fails(stored: Any, damage: Any, sentence: str) -> None:
    """NaN, an unknown version, a cut-off file, another device's file: the file's own item fails."""
    path = stored.baseline()
    damaged = damage(path.read_text())
    assert damaged != path.read_text()
    path.write_text(damaged)
    result = stored.guard("-k", "baselines")
    assert result.ret == 1
    assert sentence in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_a_baselines_unplayable_plan_is_blamed_on_the_baseline(stored: Any) -> None:
    """By the file's own item, and by its case, which is not run."""
    path = stored.baseline()
    path.write_text(path.read_text().replace('"grid": [8, 1, 1]', '"grid": [0, 1, 1]'))
    result = stored.guard("-k", "baselines or plain-8")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*scale.json, case plain at 8 tokens: its plan cannot be run*"])
    assert stored.verdicts() == {"plain-8": "failed"}


def test_a_swapped_code_object_is_noticed(stored: Any) -> None:
    """A sound object of other code, with the file pointing at it, is not what was accepted."""
    path = stored.baseline()
    (object_path,) = (path.parent / "objects").glob("*.gz")
    stored.replace("scale.hip", *SLOWER_PLAIN)
    assert stored.guard("--update-baselines=other", "-o", "kernelperf_baselines=others").ret == 0
    (other_path,) = (stored.path / "others").glob("*/objects/*.gz")
    shutil.copy(other_path, path.parent / "objects")
    path.write_text(path.read_text().replace(object_path.stem, other_path.stem))
    result = stored.guard("-k", "baselines")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*has other instructions than case plain at 1 token*"])


def test_a_deleted_case_fails_until_it_is_dropped(stored: Any) -> None:
    """Another variant in its place would otherwise lose its guard in silence."""
    stored.replace("test_scale.py", "def strided(", "def grid_stride(")
    stored.replace("test_scale.py", "grid=64, block=4", "grid=32, block=8")
    result = stored.guard()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*scale.json has case strided at 1 token*no test has any more*"])
    assert stored.guard("--update-baselines=renamed").ret == 0
    assert stored.guard().ret == 0
    assert '"variant": "strided"' not in stored.baseline().read_text()


def test_a_renamed_variant_keeps_its_baseline_and_takes_it_along(stored: Any) -> None:
    """It runs what it ran, so that it is identical under any name, and an update moves its entry."""
    stored.set_times()
    stored.replace("test_scale.py", "def strided(", "def grid_stride(")
    assert stored.guard().ret == 0
    assert stored.verdicts()["grid_stride-8"] == "identical"
    assert "renamed: held against the baseline of scale strided at 8 tokens" in stored.notes()["grid_stride-8"]
    assert stored.guard("--update-baselines=renamed").ret == 0
    text = stored.baseline().read_text()
    assert '"variant": "strided"' not in text
    assert '"variant": "grid_stride"' in text
    assert "renamed" not in text  # its reason is the one that it was accepted with


def test_a_deleted_module_fails_until_its_baseline_is_dropped(stored: Any) -> None:
    """Also when nothing else is stored any more."""
    (stored.path / "test_scale.py").unlink()
    stored.child.write("test_other.py", "def test_nothing():\n    pass\n")
    result = stored.guard()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*scale.json has 4 cases of scale, but its test module test_scale.py is gone*"])


def test_a_second_guard_waits_and_says_for_whom(guarded: Any) -> None:
    """Also where the output is no terminal; and it goes on when the machine is free."""
    holder = MachineLock(guarded.path / "machine.lock", command="pytest of somebody else")
    with holder.exclusive():
        result = guarded.guard("-k", "plain-8", "-o", "kernelperf_wait_s=3")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"kernelperf: *pid {os.getpid()}*pytest of somebody else*"])
    (record,) = guarded.run_file()["records"]
    assert f"{os.getpid()}" in record["decision"]["reason"]
    assert guarded.guard("-k", "plain-8").ret == 0


def test_a_killed_guard_leaves_no_process_behind(guarded: Any) -> None:
    """kill -9 while a kernel runs for ever: its worker, its compiler and all their children go too."""
    guarded.replace(
        "scale.hip", "if (i < n) y[i] = factor", "volatile int go = 1;\n    while (go) {}\n    y[i] = factor"
    )
    mark = {"KERNELPERF_TEST_MARK": str(guarded.path)}
    command = [sys.executable, "-m", "pytest", *guarded.child.plugin_arguments, "--kernelperf", "-k", "plain-8"]
    pytest_process = subprocess.Popen(
        [*command, "--kernelperf-runtime=cpu"],
        cwd=guarded.path,
        env={**os.environ, **mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: any("worker.program" in command for command in marked_processes(mark).values()))
    pytest_process.kill()
    pytest_process.wait()
    wait_until(lambda: not marked_processes(mark))


def marked_processes(mark: dict[str, str]) -> dict[int, str]:
    """Return pid -> command of all processes whose environment holds the mark."""
    needle = "".join(f"{name}={value}" for name, value in mark.items()).encode()
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if needle in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that must come about; the limit is only there to end a broken test."""
    limit = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < limit, "it never came about"
        time.sleep(0.1)


CLASSED = """

class TestAgain:
    @pytest.mark.kernelperf(again)
    def test_again(self, kernelperf):
        kernelperf.check()
"""


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        (CLASSED, ("test_scale.py::test_scale",)),
        (CLASSED.replace("(again)", "(again, tolerence=1)"), ("--continue-on-collection-errors",)),
    ],
)
def test_a_module_that_was_not_collected_whole_loses_no_baseline(
    stored: Any, extra: str, arguments: tuple[str, ...]
) -> None:
    """A node id leaves classes out and an error what it hit: nothing is called stale then, and nothing dropped."""
    again = "\nagain = Kernel('again', source='scale.hip', tokens=(1,))\nagain.inputs(inputs)\n"
    again += "again.reference(reference)\nagain.variant(strided)\n"
    text = (stored.path / "test_scale.py").read_text()
    (stored.path / "test_scale.py").write_text(text + again + CLASSED)
    assert stored.guard("--update-baselines=both", "-k", "again").ret == 0
    (stored.path / "test_scale.py").write_text(text + again + extra)
    before = {path.name: path.read_bytes() for path in stored.baseline().parent.glob("*.json")}
    assert set(before) == {"scale.json", "again.json"}
    for options in (("--update-baselines=x",), ()):
        result = stored.guard(*options, *arguments)
        assert "no test has any more" not in result.stdout.str()
        assert "any more" not in result.stdout.str()
    assert {path.name: path.read_bytes() for path in stored.baseline().parent.glob("*.json")} == before
