"""The accepted source compiled today: what the toolchain did, told apart from what the change under test did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from guard_bench import SOURCE, Bench

from pytest_kernelperf.errors import CompileError
from pytest_kernelperf.model import Verdict


class NewToolchain:
    """A bench with an accepted case, whose compiler was replaced since by one that makes other instructions."""

    def __init__(self, folder: Path, *accepted: str) -> None:
        self.bench = Bench(folder)
        self.set_compiler("19.1")
        self.bench.accept(*(accepted or ("plain",)))
        self.bench.workers.requests.clear()
        self.bench.workers.compiled.clear()
        self.set_compiler("20.0")

    def set_compiler(self, version: str) -> None:
        """Let the workers say, and use, another compiler: it marks the instructions with its version."""
        workers = self.bench.workers
        facts = msgspec.structs.replace(type(workers).facts(workers), compiler=version)
        workers.facts = lambda: facts  # type: ignore[method-assign]

        def compile_marked(bundle: Any, *arguments: Any, **more: Any) -> Any:
            files = {name: text.replace(" v", f" by {version} v") for name, text in bundle.files.items()}
            return type(workers).compile(workers, msgspec.structs.replace(bundle, files=files), *arguments, **more)

        workers.compile = compile_marked  # type: ignore[method-assign]

    def edit(self) -> None:
        """Change the kernel under test."""
        self.bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))

    def arms(self) -> list[list[str]]:
        """The arms of every request."""
        return [[arm.name for arm in request.arms] for request in self.bench.workers.requests]


def set_driver(bench: Bench, version: str) -> None:
    """Let the workers say another driver; the compiler is the same."""
    facts = msgspec.structs.replace(bench.workers.facts(), driver=version)
    bench.workers.facts = lambda: facts  # type: ignore[method-assign]


@pytest.fixture
def new(tmp_path: Path) -> NewToolchain:
    """A bench whose compiler was replaced since."""
    return NewToolchain(tmp_path)


def test_a_toolchain_that_makes_the_head_is_blamed_for_its_slowdown(new: NewToolchain) -> None:
    """Nobody touched the source: no third arm is timed, since the head is what it would be."""
    new.bench.workers.time_us = lambda arm, process: 11.0 if arm == "head" else 10.0
    record = new.bench.check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.REGRESSED, "slower_by_toolchain")
    assert "the toolchain, not the source" in record.decision.reason
    assert "compiler 19.1 -> 20.0" in record.decision.reason
    assert new.arms() == [["head", "baseline"]] * 3


def test_a_change_beside_a_new_toolchain_is_told_from_it(new: NewToolchain) -> None:
    """A third arm in the same blocks says what the toolchain did alone."""
    new.edit()
    new.bench.workers.time_us = lambda arm, process: {"head": 11.0, "baseline": 10.0, "toolchain": 10.31}[arm]
    record = new.bench.check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.REGRESSED, "slower")
    assert new.arms() == [["head", "baseline", "toolchain"]] * 3
    assert [(c.arm, c.against) for c in record.comparisons] == [("head", "baseline")]
    assert record.toolchain is not None
    assert (record.toolchain.arm, record.toolchain.against) == ("toolchain", "baseline")
    assert record.toolchain.change_ratio == pytest.approx(1.031, rel=1e-3)
    (note,) = [note for note in record.notes if "toolchain" in note]
    assert note.startswith(
        "the toolchain (compiler 19.1 -> 20.0): the accepted source, compiled today, is 3.1 % slower"
    )


def test_a_toolchain_that_makes_the_same_of_the_accepted_source_is_cleared(tmp_path: Path) -> None:
    """No third arm; the note says that it did nothing."""
    bench = Bench(tmp_path)
    set_driver(bench, "560.9")
    bench.accept("plain")
    bench.workers.requests.clear()
    set_driver(bench, "570.1")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    record = bench.check()
    assert [[arm.name for arm in request.arms] for request in bench.workers.requests] == [["head", "baseline"]] * 3
    assert any("the toolchain changed (driver 560.9 -> 570.1) and makes the same" in note for note in record.notes)


def test_an_accepted_source_is_compiled_once_for_all_its_cases(tmp_path: Path) -> None:
    """Beside the source under test."""
    new = NewToolchain(tmp_path, "plain", "fused")
    new.bench.source.write_text(SOURCE.replace(" v1", " v2"))
    guard = new.bench.guard()
    for name in ("plain", "fused"):
        guard.check(new.bench.spec(name), new.bench.settings.case, "test_k.py")
    assert len(new.bench.workers.compiled) == 2


def test_an_accepted_source_that_no_longer_compiles_is_said(new: NewToolchain) -> None:
    """The comparison with the accepted binary stands all the same."""
    new.edit()
    compile_new = new.bench.workers.compile

    def refuse_old(bundle: Any, *arguments: Any, **more: Any) -> Any:
        if "double_kernel v1" in bundle.files["k.hip"]:
            raise CompileError("k.hip:1: unknown attribute")
        return compile_new(bundle, *arguments, **more)

    new.bench.workers.compile = refuse_old  # type: ignore[method-assign]
    record = new.bench.check()
    assert record.decision.verdict is Verdict.UNCHANGED
    assert any("the accepted source does not compile today: k.hip:1: unknown attribute" in n for n in record.notes)


def test_a_missing_source_is_said(new: NewToolchain) -> None:
    """It may have been lost with a careless commit."""
    new.edit()
    for path in (new.bench.folder / "baselines" / new.bench.workers.facts().key / "sources").iterdir():
        path.unlink()
    assert any("the accepted source cannot be read" in note for note in new.bench.check().notes)


def test_the_same_toolchain_compiles_no_accepted_source(tmp_path: Path) -> None:
    """Nor does a fact that one side does not know count as a change."""
    bench = Bench(tmp_path)
    bench.accept("plain")
    bench.workers.compiled.clear()
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    record = bench.check()
    assert len(bench.workers.compiled) == 1
    assert not any("toolchain" in note for note in record.notes)
    set_driver(bench, "570.1")
    assert not any("toolchain" in note for note in bench.check().notes)
