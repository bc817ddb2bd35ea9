"""The pictures of ``report.html`` in these pages: a page of real samples of an H200, as Chromium shows it.

PYTHONPATH=docs:tests/helpers python -m made.report     # writes docs/report_*.png, with Chromium and Playwright

Cases are those of ``baselines/sm90-132sm``, with their stored times. Those that ``tests/data/h200_live/inject_100`` has
beside itself are decided by the guard's own functions from these samples: one copy of the code against another, or, in
the cases of ``SLOWED``, with three rounds more for each 133, put in on purpose.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from made.decision import LIVE, Pairs, decide, rows_of
from pytest_kernelperf import reason
from pytest_kernelperf.baseline.entry import BaselineCase
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.judge import verdict_of
from pytest_kernelperf.model import CaseId, Decision, DeviceFacts, Record, Run, Verdict
from pytest_kernelperf.report.html.file import write_page

DOCS = Path(__file__).parents[1]
KEY = "sm90-132sm"
SLOWED = {CaseId("rmsnorm_residual", "two_launches", 32), CaseId("decode_attention", "eight_splits", 64)}
EXTRA_ROUNDS = 3
H200 = DeviceFacts("cuda", "", KEY, "NVIDIA H200", "sm_90", 132, 132, 32, 1024, 0, 0, hip_version="7.0.0",
                   compiler="nvrtc 13.0", driver="nvidia 580.159.04")  # fmt: skip
SHOTS = {"light": ("light", 1060, 800), "dark": ("dark", 1060, 800), "phone": ("light", 390, 844)}


def h200_run() -> Run:
    """Return the run: every stored case, with samples and a decision where there are any."""
    samples = live_pairs()
    store = BaselineStore(DOCS.parent / "baselines")
    records = []
    for path in sorted((DOCS.parent / "baselines" / KEY).glob("*.json")):
        baseline = store.read(KEY, path.stem)
        assert baseline is not None
        for entry in baseline.cases:
            case = CaseId(baseline.kernel, entry.variant, entry.tokens)
            records.append(record_of(case, entry, baseline.test_module, samples.get(case)))
    return Run(1, "0.1.0", "2026-11-30T00:00:00+00:00", H200, {}, {"mode": "graph"}, tuple(records))


def record_of(case: CaseId, entry: BaselineCase, test: str, pairs: list[Pairs] | None) -> Record:
    """Return a case as the guard has it; without samples its code is the stored one."""
    stored_us = statistics.median(statistics.median(process.times_us) for process in entry.processes)
    record = Record(
        case, test, Decision(Verdict.IDENTICAL, False, "identical", reason.IDENTICAL), plan=entry.plan,
        resources=entry.resources, moved_bytes=entry.moved_bytes, mode=entry.mode, time_us=stored_us,
        time_is_stored=True, source=test.replace("test_", "").replace(".py", ".hip"),
    )  # fmt: skip
    if pairs is None:
        return record
    measurements, comparison = decide("graph", pairs)
    verdict = verdict_of(comparison)
    fails = verdict is Verdict.REGRESSED
    said = reason.slower(comparison, "the baseline") if fails else reason.unchanged(comparison)
    return msgspec.structs.replace(
        record, decision=Decision(verdict, fails, "slower" if fails else "unchanged", said), mode="graph",
        measurements=measurements, comparisons=(comparison,), time_us=comparison.time_us, time_is_stored=False,
    )  # fmt: skip


def live_pairs() -> dict[CaseId, list[Pairs]]:
    """Times of head and baseline in each process, by case."""
    times: dict[CaseId, dict[int, dict[tuple[int, int], list[float]]]] = {}
    for row in rows_of(LIVE):
        case = CaseId(row["kernel"], row["variant"], row["tokens"])
        times.setdefault(case, {}).setdefault(row["process"], {})[row["copy"], row["extra_rounds"]] = row["us"]
    return {
        case: [(of[head], of[0, 0]) for _, of in sorted(processes.items()) if head in of and (0, 0) in of]
        for case, processes in times.items()
        for head in [(0, EXTRA_ROUNDS) if case in SLOWED else (1, 0)]
    }


if __name__ == "__main__":
    from page_browser import Reader, chromium

    run = h200_run()
    with TemporaryDirectory() as folder, chromium() as browser:
        page = Path(folder) / "report.html"
        write_page(run, page)
        for name, (scheme, width, height) in SHOTS.items():
            reader = Reader(browser, (width, height), scheme).open(page)
            reader.page.screenshot(path=DOCS / f"report_{name}.png")
            reader.close()
            print(f"docs/report_{name}.png")
        reader = Reader(browser, (1060, 900)).open(page, "case=rmsnorm_residual/two_launches/32")
        reader.page.locator("details.case[open] .picture svg").first.wait_for()
        reader.page.wait_for_timeout(1000)
        reader.page.screenshot(path=DOCS / "report_case.png")
        print("docs/report_case.png")
