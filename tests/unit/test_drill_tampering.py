"""What a drill does to a run: which cases it takes, and that it changes what it says it changes, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_workers import ScriptedWorkers

from pytest_kernelperf import Kernel, Launch
from pytest_kernelperf.baseline.format import decode, encode
from pytest_kernelperf.baseline.replay import plan_problem
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.case import CaseSpec, list_cases
from pytest_kernelperf.drill.choice import choose
from pytest_kernelperf.drill.command import OWN_CASES, OWN_FILES, OWN_KERNEL, settings_options
from pytest_kernelperf.drill.damage import RENAMED, cut_off, later_version, not_a_number, one_bit, rename_case
from pytest_kernelperf.drill.load import _CPU_LOAD, _GPU_LOAD, _VALUES, load_plan
from pytest_kernelperf.drill.tampering import TamperedWorkers, Tampering, flip_bit, kill_working
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.model import BufferSpec, CaseId, CodeObject, Plan, digest_of_bytes
from pytest_kernelperf.settings import CaseSettings, Settings, case_settings
from pytest_kernelperf.worker.array import InputSet

CASE = CaseId("k", "a", 8)


def kernel(name: str, tokens: tuple[int, ...] = (1, 8), starved: dict[int, str] | None = None) -> Kernel:
    """A kernel of two variants and a mutation of the first."""
    made = Kernel(name, source="k.hip", tokens=tokens)

    @made.variant(expect_starved=starved)
    def a(tokens: int, device: Any) -> list[Launch]:
        raise AssertionError

    @made.variant
    def b(tokens: int, device: Any) -> list[Launch]:
        raise AssertionError

    @made.mutation(of="a")
    def broken(tokens: int, device: Any) -> list[Launch]:
        raise AssertionError

    return made


def specs(*kernels: Kernel) -> list[CaseSpec]:
    """All cases, kernel by kernel."""
    return [spec for each in kernels for spec in list_cases(each)]


def names(found: list[CaseSpec]) -> list[str]:
    """``kernel variant-tokens``."""
    return [f"{spec.case.kernel} {spec.item_name}" for spec in found]


def test_the_cases_are_spread_over_kernels_each_at_its_largest_size() -> None:
    """Claim: of four kernels two are taken, and a single one gives several of its own."""
    four = specs(*(kernel(name) for name in "pqrs"))
    assert names(choose(four, Tampering("", choose=2))) == ["p a-8", "r a-8"]
    assert names(choose(four, Tampering("", choose=1))) == ["p a-8"]
    assert names(choose(specs(kernel("p")), Tampering("", choose=3))) == ["p a-1", "p a-8", "p b-8"]


def test_a_case_that_is_expected_to_be_starved_is_taken_last() -> None:
    """Claim: what is starved anyhow is no good to be broken."""
    starved = kernel("p", tokens=(8,), starved={8: "one row"})
    assert names(choose(specs(starved), Tampering("", choose=1))) == ["p b-8"]


def test_mutations_come_with_the_chosen_kernels_at_the_chosen_sizes() -> None:
    """Claim: only where they are asked for."""
    two = specs(kernel("p"), kernel("q"))
    assert names(choose(two, Tampering("", cases=("p a at 8 tokens",)))) == ["p a-8"]
    assert names(choose(two, Tampering("", cases=("p a at 8 tokens",), mutations=True))) == ["p a-8", "p broken-8"]


@given(
    st.sampled_from(["<f4", "<f8", "<f2", "<i4", "<u1", "<i8", "?"]).flatmap(
        lambda dtype: st.lists(st.integers(0, 1), min_size=1, max_size=9).map(lambda v: np.array(v, dtype))
    )
)
def test_one_bit_of_one_value_is_flipped(array: Any) -> None:
    """Claim: the last value, in whatever type, and the array that came is left alone."""
    before = array.tobytes()
    after = flip_bit(array).tobytes()
    assert array.tobytes() == before
    differing = [x ^ y for x, y in zip(before, after, strict=True) if x != y]
    assert differing == [0x40]
    assert before[: -array.itemsize] == after[: -array.itemsize]


def tampered(**what: Any) -> tuple[ScriptedWorkers, TamperedWorkers]:
    """Workers, and what stands before them."""
    workers = ScriptedWorkers()
    return workers, TamperedWorkers(workers, Tampering("", **what), lambda: (1, 2))


def request(case: CaseId = CASE) -> MeasureRequest:
    """Two arms."""
    data = b"[]"
    code = CodeObject(digest_of_bytes(data), data, {})
    return MeasureRequest(case, "graph", (Arm("head", code, Plan(())), Arm("baseline", code, Plan(()))), 5)


def test_the_arm_that_is_named_is_slowed_in_the_case_that_is_named() -> None:
    """Claim: nothing else of the request changes."""
    workers, slow = tampered(slow={"head": 1.1}, of=str(CASE))
    with InputSet.create({"y": np.zeros(1, np.float32)}) as inputs:
        slow.measure(0, request(), inputs)
        slow.measure(0, request(CaseId("k", "b", 8)), inputs)
    assert [[arm.rounds_ratio for arm in each.arms] for each in workers.requests] == [[1.1, 1.0], [1.0, 1.0]]
    assert workers.requests[1] == request(CaseId("k", "b", 8))


def test_results_are_changed_in_the_case_that_is_named() -> None:
    """Claim: the others' come back as they are."""
    _, flipping = tampered(flip=True, of=str(CASE))
    with InputSet.create({"x": np.ones(4, np.float32)}) as inputs:
        code = CodeObject("", b"", {})
        changed = flipping.run(CASE, Plan(()), code, inputs, ("y",))["y"]
        same = flipping.run(CaseId("k", "b", 8), Plan(()), code, inputs, ("y",))["y"]
    assert same.tolist() == [2.0] * 4
    assert changed.tolist()[:3] == [2.0] * 3
    assert changed[3] != 2.0


def test_only_a_process_that_works_is_killed() -> None:
    """Claim: it is killed after it has used CPU time; one that is gone is left alone."""
    program = "import sys; sys.stdin.readline()\nwhile True: pass"
    worker = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    assert worker.stdin is not None
    with worker.stdin:
        worker.stdin.write(b"go\n")
    try:
        kill_working(worker.pid)
        assert worker.wait(30) == -9
    finally:
        worker.kill()
    started_s = time.monotonic()
    kill_working(worker.pid)
    assert time.monotonic() - started_s < 30


GOLDEN = (Path(__file__).parent.parent / "golden" / "baseline.json").read_bytes()


@pytest.mark.parametrize("damage", [cut_off, not_a_number, later_version])
def test_each_damage_makes_a_file_that_cannot_be_read(damage: Any) -> None:
    """Claim: on the format as it stands today, so that no damage turns into none."""
    assert damage(GOLDEN) != GOLDEN
    with pytest.raises(BaselineError):
        decode(damage(GOLDEN), "golden")


def test_one_bit_is_one_bit() -> None:
    """Claim: length kept, one byte differs by one bit."""
    data = bytes(range(100))
    assert [x ^ y for x, y in zip(data, one_bit(data), strict=True) if x != y] == [0x10]


def test_a_renamed_case_is_a_baseline_that_can_be_read(tmp_path: Path) -> None:
    """Claim: its item must fail for the case that nobody has, not for a damaged file."""
    baseline = decode(GOLDEN, "golden")
    folder = tmp_path / baseline.device_key
    folder.mkdir()
    path = folder / f"{baseline.kernel}.json"
    path.write_bytes(encode(baseline))
    case = baseline.cases[0]
    store = RenamingStore(tmp_path)
    renamed = rename_case(store, baseline.device_key, CaseId(baseline.kernel, case.variant, case.tokens))
    assert renamed == case.variant + RENAMED
    assert [each.variant for each in decode(path.read_bytes(), "renamed").cases] == [renamed]


class RenamingStore(BaselineStore):
    """A store whose objects and sources are elsewhere."""

    def write(self, device_key: str, baseline: Any, objects: Any, sources: Any) -> None:
        """Write the file alone."""
        self.path(device_key, baseline.kernel).write_bytes(encode(baseline))


@pytest.mark.parametrize("load", [_CPU_LOAD, _GPU_LOAD])
def test_the_foreign_load_is_a_plan_that_can_be_run(load: tuple[int, int]) -> None:
    """Claim: its launches are right for the drill's kernel and its one buffer."""
    assert plan_problem(load_plan(*load), (BufferSpec("y", "<f4", (_VALUES,)),)) == ""


def test_the_drills_own_kernel_ships() -> None:
    """Claim: source and test lie in the package, and its cases are those that the drill names."""
    for name in OWN_FILES:
        assert (OWN_KERNEL / name).is_file()
    text = (OWN_KERNEL / "test_drill.py").read_text(encoding="utf-8")
    assert "VALUES = 65_536" in text
    for case in OWN_CASES:
        assert f"def {case.variant}(" in text


def test_the_projects_settings_are_passed_on() -> None:
    """Claim: as options that give the same settings again."""
    case = CaseSettings(tolerance=0.02, processes=7, alpha=1e-6)
    described = Settings(root=Path("."), baselines=Path("b"), out=Path("o"), case=case).described()
    options = settings_options(described)
    read = dict(text.removeprefix("kernelperf_").split("=") for text in options if text != "-o")
    assert case_settings(CaseSettings(), read) == case
    assert "tolerance" not in "".join(settings_options({**described, "tolerance": "None"}))
