"""The end of a run: its run file, and the baselines that it accepts. Runs once, in the process that saw all records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from pytest_kernelperf import __version__
from pytest_kernelperf.atomic_write import write_atomically
from pytest_kernelperf.baseline.check import KnownCases, drop_stale, problems
from pytest_kernelperf.baseline.entry import Baseline, BaselineCase
from pytest_kernelperf.baseline.extend import extend
from pytest_kernelperf.baseline.rename import moved
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.baseline.update import Acceptance, Update, update
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import (
    Blame,
    CaseId,
    CodeObject,
    CurveRecord,
    DeviceFacts,
    Drift,
    Record,
    Run,
    SourceBundle,
    Verdict,
)
from pytest_kernelperf.report.html.file import try_page
from pytest_kernelperf.report.run_file import VERSION as RUN_VERSION
from pytest_kernelperf.report.run_file import write_run
from pytest_kernelperf.report.timeline_file import write_beside_traces
from pytest_kernelperf.session.out_folder import make_out_folder
from pytest_kernelperf.session.tracing import remove_stale
from pytest_kernelperf.settings import Settings


@dataclass(frozen=True)
class Ending:
    """What is said at the end: lines about baselines, and sentences about what could not be written."""

    lines: tuple[str, ...]
    failures: tuple[str, ...]


class Shelf:
    """Code objects and sources of this run by digest, in the output folder.

    xdist workers put them there and the process that ends the run takes them, so no message carries a binary.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, code: CodeObject, bundle: SourceBundle) -> None:
        """Keep a code object and its source."""
        for name, data in ((code.digest, code.data), (f"{bundle.digest}.json", msgspec.json.encode(bundle))):
            path = self._folder / "objects" / name
            make_out_folder(self._folder)
            path.parent.mkdir(exist_ok=True)
            if not path.exists() or path.read_bytes() != data:
                write_atomically(path, data)

    def objects(self, digests: Iterable[str]) -> dict[str, bytes]:
        """Return the kept code objects among ``digests``."""
        paths = {digest: self._folder / "objects" / digest for digest in digests if digest}
        return {digest: path.read_bytes() for digest, path in paths.items() if path.exists()}

    def sources(self, digests: Iterable[str]) -> dict[str, SourceBundle]:
        """Return the kept sources among ``digests``."""
        paths = {digest: self._folder / "objects" / f"{digest}.json" for digest in digests if digest}
        return {d: msgspec.json.decode(p.read_bytes(), type=SourceBundle) for d, p in paths.items() if p.exists()}


def build_run(
    settings: Settings,
    device: DeviceFacts,
    environment: dict[str, str],
    records: Iterable[Record],
    started: datetime,
    drift: Drift | None = None,
    curves: Iterable[CurveRecord] = (),
    commit: str = "",
    blame: Blame | None = None,
) -> Run:
    """Put a run together; the records are in their order. ``commit``: what CI says that it measured."""
    return Run(
        version=RUN_VERSION,
        tool_version=__version__,
        started_at=started.astimezone(timezone.utc).isoformat(timespec="seconds"),
        device=device,
        environment=environment,
        settings=settings.described(),
        records=tuple(records),
        scripted_clock=settings.clock_script is not None,
        drift=drift,
        curves=tuple(curves),
        commit=commit,
        blame=blame,
    )


def end_run(run: Run, settings: Settings, store: BaselineStore, known_cases: KnownCases) -> Ending:
    """Write the run file, its page, and, when asked to, the baselines."""
    lines: list[str] = []
    failures: list[str] = []
    try:
        make_out_folder(settings.out)
        write_run(settings.out / "run.json", run)
        write_beside_traces(run, settings.out)
        remove_stale(settings.out, run.records, datetime.fromisoformat(run.started_at).timestamp())
        if settings.page:
            lines.append(try_page(run, settings.out))
    except (KernelperfError, OSError) as error:
        failures.append(f"the run file was not written: {error}; name another folder with --kernelperf-out=DIR")
    if (settings.update_reason is not None or settings.extend) and run.device.key:
        _store(run, settings, store, known_cases, lines, failures)
    return Ending(tuple(lines), tuple(failures))


def _store(
    run: Run,
    settings: Settings,
    store: BaselineStore,
    known_cases: KnownCases,
    lines: list[str],
    failures: list[str],
) -> None:
    """Store kernel by kernel; one that cannot be stored leaves the others alone."""
    by_kernel: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in run.records:
        by_kernel[record.case.kernel, record.test].append(record)
    shelf = Shelf(settings.out)
    for (kernel, test), records in by_kernel.items():
        acceptance = Acceptance(
            kernel=kernel,
            test_module=test,
            device=run.device,
            reason=settings.update_reason or "",
            day=run.started_at[:10],
            tool_version=run.tool_version,
            environment=run.environment,
            curves=accepted_curves(run, kernel, test),
        )
        try:
            with store.hold(run.device.key):
                renamed = _renamed(store, run.device.key, records)
                old = store.read(run.device.key, kernel)
                baseline, said = _next_baseline(old, records, acceptance, settings, renamed)
                if baseline is not None:
                    objects = shelf.objects({r.object_digest for r in records})
                    sources = shelf.sources({r.source_digest for r in records})
                    store.write(run.device.key, baseline, objects, sources)
            lines.extend(said)
        except (KernelperfError, OSError) as error:
            failures.append(f"baselines of {kernel} were not stored: {error}")
    if settings.update_reason is not None:
        try:
            lines.extend(drop_stale(store, known_cases, settings.root))
            for file in store.files():
                failures.extend(problems(file, known_cases, settings.root))
        except (KernelperfError, OSError) as error:
            failures.append(str(error))
    if not any(line.startswith(("stored", "extended")) for line in lines):
        lines.append("no baseline changed")


def _renamed(store: BaselineStore, device_key: str, records: list[Record]) -> dict[CaseId, BaselineCase]:
    """Return the entries that cases of these records had under their former names, under the new ones."""
    found: dict[CaseId, BaselineCase] = {}
    for record in records:
        former = record.renamed_from
        if former is None or (baseline := store.read(device_key, former.kernel)) is None:
            continue
        entry = baseline.case(former.variant, former.tokens)
        if entry is not None:
            found[record.case] = moved(entry, former, record.case)
    return found


def accepted_curves(run: Run, kernel: str, test: str) -> frozenset[str]:
    """Return the variants whose sizes are slower together and were accepted so."""
    return frozenset(
        curve.variant
        for curve in run.curves
        if (curve.kernel, curve.test) == (kernel, test) and curve.decision.verdict is Verdict.ACCEPTED
    )


def _next_baseline(
    old: Baseline | None,
    records: list[Record],
    acceptance: Acceptance,
    settings: Settings,
    renamed: dict[CaseId, BaselineCase],
) -> tuple[Baseline | None, list[str]]:
    """Return a kernel's next baseline (None: nothing changes) and a line for each case that was asked for."""
    result = Update(None, (), ())
    if settings.update_reason is not None:
        result = update(old, records, acceptance, renamed)
    said = [*(f"stored   {line}" for line in result.accepted), *(f"refused  {line}" for line in result.refused)]
    if not settings.extend:
        return result.baseline, said
    found = extend(result.baseline or old, records, acceptance.day, acceptance.environment)
    said += [*(f"extended {line}" for line in found.extended), *(f"left     {line}" for line in found.left)]
    return found.baseline or result.baseline, said
