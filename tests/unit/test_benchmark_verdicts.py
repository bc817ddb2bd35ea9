"""The verdicts benchmark as it is called: on files, on damaged folders, live on the cpu runtime."""

from __future__ import annotations

import gzip
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verdict.builds import other_builds, pad, reverse_kernels
from verdict.checks import Plan, check_ours, check_peers, check_peers_interleaved
from verdict.contrasts import Pair, find_contrasts
from verdict.ours import NAME, follow, schedule_for, schedule_for_stored
from verdict.peers import PEERS
from verdict.rows import FileError, read_file, read_folder, read_folders, write_file
from verdict.score import equally_fast, put_in, score
from verdict.taking import How, NotMeasured, Taking
from verdicts import main, parse

from pytest_kernelperf.errors import WorkerCrashed
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.model import CaseId, CodeObject, Measurement, Sample, SourceBundle, Verdict
from pytest_kernelperf.model import Plan as LaunchPlan
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.comparison import compare_pairs
from pytest_kernelperf.stats.policy import Policy

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "h200"
LIVE = ROOT / "tests" / "data" / "h200_live"


def row(process: int, copy: int, us: list[float], **fields: Any) -> dict[str, Any]:
    """A line of a file."""
    return {"process": process, "mode": "graph", "variant": "v", "tokens": 1, "copy": copy, "us": us} | fields


def noise(seed: int, scale: float = 1.0, count: int = 30) -> list[float]:
    """Times round 2 us."""
    return [float(value) for value in scale * 2 * np.exp(np.random.default_rng(seed).normal(0, 0.001, count))]


def test_five_copies_give_four_contrasts(tmp_path: Path) -> None:
    """Each against the first, in every process that has both; lines alike in all are told apart by their order."""
    rows = [row(process, copy, noise(copy)) for process in range(3) for copy in range(5)]
    rows += [row(process, 0, noise(7), variant="twin") for process in range(3) for _ in range(2)]
    write_file(tmp_path / "x.jsonl.gz", rows)
    found = find_contrasts(read_folder(tmp_path))
    assert [(c.kind, c.what, str(c.case)) for c in found] == [
        *[("identical", f"copy {copy}", "v at 1") for copy in range(1, 5)],
        ("identical", "copy 1", "twin at 1"),
    ]
    assert all(len(c.pairs) == 3 for c in found)


def test_what_differs_between_lines_decides_what_is_compared(tmp_path: Path) -> None:
    """Spinning and added rounds are slowdowns, builds are other code, own buffers and unknown fields other cases."""
    rows = [
        row(0, 0, [1.0, 2.0]),
        row(0, 0, [1.0, 2.0], spin_cycles=50),
        row(0, 0, [1.0, 2.0], rounds=200, extra_rounds=3),
        row(0, 0, [1.0, 2.0], build="-O2"),
        row(0, 0, [1.0], buffers="own"),
        row(0, 0, [1.0], unheard_of="yes"),
    ]
    write_file(tmp_path / "contended_x.jsonl.gz", rows)
    found = find_contrasts(read_folder(tmp_path))
    assert [(c.kind, c.what, c.injected_ratio, c.suite.condition) for c in found] == [
        ("slowed", "3 rounds added", 1.015, "contended"),
        ("slowed", "50 cycles", None, "contended"),
        ("other code", "-O2", None, "contended"),
        ("alone", "", None, "contended, own buffers"),
        ("alone", "", None, "contended"),
    ]
    assert [c.suite.guarded for c in found] == [True, True, True, False, True]


def test_builds_of_the_same_instructions_are_known_to_be_as_fast(tmp_path: Path) -> None:
    """Other processes need not be asked; whoever blames one blames equally fast code."""
    build = "-O2 (same instructions)"
    rows = [
        row(p, 0, noise(p, 1.05 if fields else 1.0), **fields) for p in range(3) for fields in ({}, {"build": build})
    ]
    write_file(tmp_path / "x.jsonl.gz", rows)
    found = list(check_ours(find_contrasts(read_folder(tmp_path)), Plan(tolerance=0.01)))
    assert [(c.kind, c.alarmed, c.truth.ratio if c.truth else None) for c in found] == [("other code", True, 1.0)]
    assert equally_fast(found, 0.01)["pairs_blamed"] == 1


def test_samples_that_say_their_block_are_paired_by_it(tmp_path: Path) -> None:
    """An arm that took fewer blocks is compared with the same blocks of the other."""
    rows = [row(0, 0, [1.0, 2.0, 3.0], blocks=[0, 1, 2], rounds=9), row(0, 1, [9.0, 8.0], blocks=[2, 1], rounds=9)]
    write_file(tmp_path / "x.jsonl.gz", rows)
    (found,) = find_contrasts(read_folder(tmp_path))
    assert (found.pairs[0, 0].new.tolist(), found.pairs[0, 0].old.tolist()) == ([8.0, 9.0], [2.0, 3.0])


def test_turns_of_one_process_at_a_case_are_kept_apart(tmp_path: Path) -> None:
    """A generation decides each turn by itself; its processes stay what bounds are clustered by."""
    rows = [
        row(process, copy, noise(10 * turn + copy), generation=0, turn=turn)
        for turn in range(2)
        for process in range(3)
        for copy in range(2)
    ]
    write_file(tmp_path / "x.jsonl.gz", rows)
    (found,) = find_contrasts(read_folder(tmp_path))
    assert found.generations == (((0, 0), (1, 0), (2, 0)), ((0, 1), (1, 1), (2, 1)))
    checks = list(check_ours([found], Plan(tolerance=0.01)))
    assert len(checks) == 2
    assert {process for check in checks for process in check.processes} == {("x", 0), ("x", 1), ("x", 2)}


def test_our_rule_says_what_the_guard_says() -> None:
    """A clear slowdown stops at three processes; what cannot reject with so few blocks is never decided."""
    pairs = [pair_of(process, 1.03) for process in range(5)]
    policy = Policy(tolerance=0.01)
    assert follow(pairs, "graph", policy, schedule_for(policy, 5)).verdict is Verdict.REGRESSED
    open_ = follow([pair_of(1, 1.0), pair_of(2, 1.0), pair_of(3, 1.03)], "graph", policy, schedule_for(policy, 5))
    assert open_.verdict is Verdict.UNDECIDED
    assert open_.wanted is not None
    assert schedule_for_stored(policy, 5, 7) is None


def test_our_rule_asks_for_further_looks_and_takes_them_where_there_are_samples() -> None:
    """Slower by 1.5 times the tolerance in blocks that scatter by as much: open at 58 of them, regressed at more."""
    policy = Policy(tolerance=0.005)
    schedule = schedule_for(policy, 5)
    random = np.random.default_rng(2)
    ratios = np.exp(np.log(1.0075) + random.normal(0, 0.0048, (8, 300)))
    found = {
        blocks: follow([Pair(row[:blocks], np.ones(blocks)) for row in ratios], "graph", policy, schedule)
        for blocks in (58, 300)
    }
    assert found[58].verdict is Verdict.UNDECIDED
    assert found[58].wanted in schedule.further
    assert found[300] == (Verdict.REGRESSED, None)


def test_a_further_look_gets_the_error_that_was_set_aside_for_it() -> None:
    """58 blocks of these show nothing; 116 would at a usual look's alpha, and do not at the 1.7e-7 of a further one."""
    policy = Policy(tolerance=0.005)
    schedule = schedule_for(policy, 5)
    random = np.random.default_rng(6)
    pairs = [Pair(row, np.ones(116)) for row in np.exp(np.log(1.0075) + random.normal(0, 0.0052, (8, 116)))]
    taken = {process: (pair.new.tolist(), pair.old.tolist()) for process, pair in enumerate(pairs)}
    assert find(compare_pairs(taken, policy, schedule.further[0].agreement_alpha)) is Finding.SLOWER
    assert follow(pairs, "graph", policy, schedule) == (Verdict.UNDECIDED, schedule.further[1])


def pair_of(seed: int, slower: float) -> Any:
    """A process's pairs."""
    from verdict.contrasts import Pair

    return Pair(np.array(noise(seed, slower)), np.array(noise(100 + seed)))


def test_identical_code_of_the_given_files_is_never_blamed_and_slow_code_is() -> None:
    """What the guard makes: shared buffers, balanced order, contended or not; a share of all groups, as a test."""
    contrasts = find_contrasts([*read_folder(DATA)])
    plan = Plan(tolerance=0.0025, groups=4)
    chosen = [c for c in contrasts if c.suite.guarded and c.kind in ("identical", "slowed")]
    found = score(list(check_ours(chosen, plan)))
    alarms, checks = found["false_alarms"]["cases"]
    assert alarms == 0
    assert checks > 300
    assert found["caught"][">5"][0] == found["caught"][">5"][1] > 50
    for band, share in (("1-2", 0.75), ("2-5", 0.9)):
        hits, of = found["caught"][band]
        assert hits >= share * of > 10


def test_the_peers_blame_identical_code_of_separate_processes() -> None:
    """Which is how they are used; on interleaved pairs, which they never see, they hardly do."""
    contrasts = [c for c in find_contrasts(read_file(DATA / "aa_loop_twins.jsonl.gz")) if c.kind == "identical"]
    plan = Plan(groups=4)
    few = [peer for peer in PEERS if peer.name in ("google benchmark", "nvbench robust")]
    apart = score(list(check_peers(contrasts, plan, few)))["false_alarms"]["cases"]
    together = score(list(check_peers_interleaved(contrasts, plan, few)))["false_alarms"]["cases"]
    assert apart[0] / apart[1] > 0.2 > together[0] / together[1]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The benchmark as a program."""
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "verdicts.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_a_folder_nobody_has_seen_is_counted(tmp_path: Path) -> None:
    """Other numbers of processes, cases and samples, in one file: tables, JSON of the shape that is asked for."""
    rows = [
        row(process, copy, noise(process * 10 + copy, count=20 + copy), tokens=tokens)
        for process in range(7)
        for copy in range(2)
        for tokens in (3, 5)
    ]
    rows += [row(p, 0, noise(p + 500, 1.04, 19), tokens=t, spin_cycles=9) for p in range(7) for t in (3, 5)]
    write_file(tmp_path / "strange.jsonl.gz", rows)
    done = run("--data", tmp_path, "--json", tmp_path / "out.json", "--groups", 6, "--tolerance", 0.01)
    assert (done.returncode, done.stderr) == (0, "checking 4 comparisons by every rule\n")
    rules = json.loads((tmp_path / "out.json").read_text())["rules"]
    assert set(rules) == {NAME, *(peer.name for peer in PEERS)}
    assert rules[NAME]["false_alarms"] == {"cases": [0, 12], "runs": [0, 0]}
    assert rules[NAME]["caught"] == {"<0.5": [0, 0], "0.5-1": [0, 0], "1-2": [0, 0], "2-5": [12, 12], ">5": [0, 0]}
    assert done.stdout.count("pytest-benchmark median 5%") >= 2


@pytest.mark.parametrize(("processes", "size"), [(12, 5), (6, 5), (5, 4), (4, 3), (3, 0)])
def test_others_are_left_to_say_the_truth(tmp_path: Path, processes: int, size: int) -> None:
    """Of few processes a smaller group is tested; with three, nobody could say what is true."""
    rows = [row(p, 0, noise(p, 1 + spin / 1000), spin_cycles=spin) for p in range(processes) for spin in (0, 30)]
    write_file(tmp_path / "x.jsonl.gz", rows)
    found = list(check_ours(find_contrasts(read_folder(tmp_path)), Plan(tolerance=0.01, groups=3)))
    assert {len(check.processes) for check in found} == ({size} if size else set())
    assert all(check.truth is not None and check.alarmed for check in found)


def test_an_alarm_on_identical_code_is_the_exit_status(tmp_path: Path) -> None:
    """Two copies said to be the same, one of them slower."""
    rows = [row(process, copy, noise(process, 1 + 0.05 * copy)) for process in range(6) for copy in range(2)]
    write_file(tmp_path / "x.jsonl.gz", rows)
    done = run("--data", tmp_path, "--no-peers")
    assert (done.returncode, done.stderr) == (1, "checking 1 comparison by every rule\n")


def test_a_damaged_folder_is_one_sentence(tmp_path: Path) -> None:
    """And another exit status."""
    shutil.copy(DATA / "orders.jsonl.gz", tmp_path)
    (tmp_path / "broken.jsonl.gz").write_bytes(b"not gzip")
    done = run("--data", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"verdicts: {tmp_path / 'broken.jsonl.gz'} cannot be read after line 0: ")
    assert done.stderr.count("\n") == 1


def test_a_line_nested_without_end_is_one_sentence(tmp_path: Path) -> None:
    """The decoder gives up with an error of its own kind."""
    with gzip.open(tmp_path / "deep.jsonl.gz", "wb") as file:
        file.write(b"[" * 100_000 + b"\n")
    with pytest.raises(FileError, match=r"deep\.jsonl\.gz, line 1: "):
        read_folder(tmp_path)


@pytest.mark.parametrize("absurd", [0, -1.5, 5e-324, 1e308])
def test_absurd_times_are_no_times(tmp_path: Path, absurd: float) -> None:
    """One of them in a file neither decides nor ends the count."""
    rows = [row(p, 0, noise(p, 1 + spin / 100), spin_cycles=spin) for p in range(6) for spin in (0, 30)]
    for number in (0, 1, 6):
        rows[number]["us"][3] = absurd
    write_file(tmp_path / "x.jsonl.gz", rows)
    done = run("--data", tmp_path, "--json", tmp_path / "out.json")
    assert (done.returncode, done.stderr) == (0, "checking 1 comparison by every rule\n")
    caught = json.loads((tmp_path / "out.json").read_text())["rules"][NAME]["caught"]
    assert caught[">5"] == [6, 6]


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_where_nothing_can_be_counted_nothing_passes(tmp_path: Path, processes: int) -> None:
    """Too few processes for any verdict: no table of zeros, and not the exit status of a proof."""
    rows = [row(process, copy, noise(process)) for process in range(processes) for copy in range(2)]
    write_file(tmp_path / "x.jsonl.gz", rows)
    done = run("--data", tmp_path, "--no-peers")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("verdicts: there is nothing to count: no 3 processes took two arms")


def test_samples_too_short_to_show_anything_are_said_to_be(tmp_path: Path) -> None:
    """With 12 blocks no order of them is rare enough, so that nothing caught says nothing of the rule."""
    rows = [row(p, 0, noise(p, 1 + spin / 100, 12), spin_cycles=spin) for p in range(6) for spin in (0, 30)]
    write_file(tmp_path / "x.jsonl.gz", rows)
    done = run("--data", tmp_path, "--no-peers")
    assert done.returncode == 0
    assert "kernelperf leaves every case of such short samples undecided" in done.stderr
    assert "take at least 18 blocks" in done.stderr


def test_a_json_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    """After the tables, which were the work."""
    rows = [row(process, copy, noise(process)) for process in range(3) for copy in range(2)]
    write_file(tmp_path / "x.jsonl.gz", rows)
    done = run("--data", tmp_path, "--no-peers", "--json", tmp_path / "none" / "v.json")
    assert (done.returncode, done.stderr.count("\n")) == (2, 2)  # the line of progress, and that
    assert "kernelperf" in done.stdout
    assert "cannot be written: No such file or directory" in done.stderr


@pytest.mark.parametrize("arguments", [["--tolerance", "2"], ["--group", "2"], ["--designs", "x"], ["--sample-only"]])
def test_options_that_mean_nothing_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is read."""
    with pytest.raises(SystemExit):
        parse(arguments)
    assert "error" in capsys.readouterr().err


def test_live_samples_can_be_counted_again(tmp_path: Path) -> None:
    """Through real workers on the cpu runtime, nobody a stranger: lines of the format, and the same counts twice."""
    few = ["--kernels", "moe_add_inject", "--tokens", 1, "--per-generation", 2, "--checks", 2, "--seconds", 100]
    options = ["--tolerance", 0.5, "--no-peers", "--seed", 3]
    done = run(
        "--live", "--runtime", "cpu", "--believe-all", *few, *options, "--designs", "2+80%@20", "--keep", tmp_path
    )
    assert done.returncode == 0, done.stderr
    rows = read_file(tmp_path / "live.jsonl.gz")
    assert {(r.rounds, r.extra_rounds) for r in rows} == {(20, 0), (20, 16)}
    assert {r.generation for r in rows} == {0}
    assert all(len(r.us) == len(r.blocks) for r in rows)
    again = run("--data", tmp_path, *options)
    assert again.stdout.splitlines()[2:] == done.stdout.splitlines()[2:]


def test_the_kept_samples_of_the_h200_say_what_the_documentation_says() -> None:
    """No alarm on identical code; what is 1.5 times the tolerance slower is caught, but for one case of one generation.

    Its blocks scattered so much that the guard said that it would catch 0.85 % at the least; 0.75 % was undecided.
    """
    contrasts = find_contrasts(read_folder(LIVE))
    identical = list(check_ours([c for c in contrasts if c.kind == "identical"], Plan(tolerance=0.005)))
    assert len(identical) > 1900
    assert not any(check.alarmed for check in identical)
    for tolerance in (0.005, 0.01):
        slow = [c for c in contrasts if c.kind == "slowed" and (c.injected_ratio or 1) - 1 > 1.49 * tolerance]
        checks = list(check_ours(slow, Plan(tolerance)))
        assert len(checks) > 280
        missed = {(check.suite.file, str(check.case), check.verdict) for check in checks if not check.alarmed}
        assert missed == ({("near_320", "swiglu_bf16 fused at 1", "undecided")} if tolerance == 0.005 else set())
        assert put_in(checks, 1.49 * tolerance) == [sum(check.alarmed for check in checks), len(checks)]
        assert put_in(checks, 1.0) == [0, 0]


def test_folders_are_read_together_unless_two_files_have_one_name(tmp_path: Path) -> None:
    """Samples are told apart by their file's name."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_file(tmp_path / folder / f"{folder}.jsonl.gz", [row(0, 0, [1.0])])
    folders = [tmp_path / "one", tmp_path / "two"]
    assert [found.file for found in read_folders(folders)] == ["one", "two"]
    (tmp_path / "two" / "two.jsonl.gz").rename(tmp_path / "two" / "one.jsonl.gz")
    with pytest.raises(FileError, match=r"one\.jsonl\.gz and .*one\.jsonl\.gz have one name.*rename one"):
        read_folders(folders)


SOURCE = """// A kernel.
#include <hip/hip_runtime.h>

constexpr int kColumns = 4;

extern "C" __global__ void first(float* p) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kColumns) p[i] = 1;
}

extern "C" __global__ void second(float* p) {
    p[0] = 2;
}
"""


def test_other_builds_hold_the_same_kernels() -> None:
    """In another order, behind others, with index sums the other way round, or compiled otherwise."""
    bundle = SourceBundle("k.hip", {"k.hip": SOURCE})
    builds = other_builds(bundle, "cpu")
    assert list(builds) == [
        "7 functions before it",
        "21 functions before it",
        "functions in reverse order",
        "index sums the other way round",
        "-O2",
        "-fno-unroll-loops",
    ]
    for build in builds.values():
        assert all(f"void {name}(float* p)" in build.files["k.hip"] for name in ("first", "second"))
    reverse = builds["functions in reverse order"].files["k.hip"]
    assert reverse.index("second") < reverse.index("first")
    assert pad(SOURCE, 2).index("padding_1") < pad(SOURCE, 2).index("kColumns")
    assert reverse_kernels(SOURCE.replace("\n}\n\nextern", "\n}\n#if 1\nextern")).startswith("// A kernel.")
    conditional = SOURCE.replace("}\n\nextern", "}\n#ifdef X\n#endif\nextern")
    assert reverse_kernels(conditional) == conditional


class ScriptedPool:
    """Answers with times that each arm has by its name; some processes are disturbed at first, or for ever."""

    def __init__(self, slower: dict[str, float], disturbed: dict[int, int] | None = None) -> None:
        self.slower, self.disturbed = slower, dict(disturbed or {})
        self.asked: list[tuple[int, tuple[str, ...], int, int]] = []

    def measure(self, process: int, request: MeasureRequest, inputs: object) -> Measurement:
        """Blocks of every arm that is asked for."""
        names = tuple(arm.name for arm in request.arms)
        self.asked.append((process, names, request.first_block, request.blocks))
        if self.disturbed.get(process, 0):
            self.disturbed[process] -= 1
            return Measurement(process, "graph", 200, 0, (), contended_by="pid 9 (llama)")
        generator = np.random.default_rng([process, request.first_block])
        samples = tuple(
            Sample(name, block, 0, self.slower.get(name, 1.0) * math.exp(generator.normal(0, 0.001)), 0.0)
            for block in range(request.first_block, request.first_block + request.blocks)
            for name in names
        )
        return Measurement(process, "graph", 200, 0, samples)


def taking(pool: Any, *names: str) -> Taking:
    """A case of some arms, at 1 %."""
    policy = Policy(tolerance=0.01)
    arms = [Arm(name, CodeObject(name, b"", {}), LaunchPlan(())) for name in names]
    how = How(schedule_for(policy, 5), (policy,))
    return Taking(pool, CaseId("k", "v", 1), "graph", arms, None, (), how)  # type: ignore[arg-type]


def test_a_clear_case_takes_three_processes_and_one_look() -> None:
    """As the guard does; the same code and code that is much slower are clear."""
    pool = ScriptedPool({"slow": 1.05})
    taken = taking(pool, "base", "same", "slow")
    taken.run()
    assert [(process, begin) for process, _, begin, _ in pool.asked] == [(0, 0), (1, 0), (2, 0)]
    assert taken.samples(1, "slow")["blocks"] == list(range(29))


def test_only_what_is_open_goes_on() -> None:
    """Arms that are clear are not taken again; the first arm always is, in blocks of their own numbers."""
    pool = ScriptedPool({"border": 1.01, "slow": 1.05})
    taken = taking(pool, "base", "slow", "border")
    taken.run()
    later = pool.asked[3:]
    assert later
    assert {names for _, names, _, _ in later} == {("base", "border")}
    assert max(process for process, *_ in later) == 7
    blocks = taken.samples(0, "base")["blocks"]
    assert len(blocks) == len(set(blocks)) > len(taken.samples(0, "slow")["blocks"]) == 29


def test_who_is_disturbed_is_measured_again_and_not_for_ever() -> None:
    """Three times; then the case is not measured, with who it was."""
    pool = ScriptedPool({}, {1: 2})
    taking(pool, "base", "same").run()
    assert [process for process, *_ in pool.asked] == [0, 1, 1, 1, 2]
    with pytest.raises(NotMeasured, match="llama"):
        taking(ScriptedPool({}, {2: 3}), "base", "same").run()


def test_a_worker_that_dies_leaves_the_case_unmeasured() -> None:
    """With its sentence."""

    class Dying:
        def measure(self, *_: object) -> Measurement:
            raise WorkerCrashed("it died")

    with pytest.raises(NotMeasured, match="it died"):
        taking(Dying(), "base", "same").run()


def test_the_program_says_what_is_missing_on_a_machine_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, exit status 2."""
    if shutil.which("nvidia-smi"):
        pytest.skip("there is an NVIDIA GPU here")
    assert main(["--live", "--runtime", "cuda", "--seconds", "1", "--no-peers"]) == 2
    assert capsys.readouterr().err.startswith("verdicts: ")
