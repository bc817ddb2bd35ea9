"""The files that the guard reads and writes, and the record that each of them is."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from types import ModuleType

from pytest_kernelperf import acceptance
from pytest_kernelperf.baseline import calibration, exported, format
from pytest_kernelperf.baseline.entry import Baseline
from pytest_kernelperf.model import Run, SourceBundle
from pytest_kernelperf.replay import case_file
from pytest_kernelperf.report import run_file


@dataclass(frozen=True)
class File:
    """One kind of file: its schema's name, what it is, its record, and the module that reads it (None: no version)."""

    name: str
    title: str
    record: type
    module: ModuleType | None

    @property
    def version(self) -> int | None:
        """The version that is read and written."""
        return None if self.module is None else int(vars(self.module)["VERSION"])

    @property
    def history(self) -> str:
        """What the comment above the module's version says of each version; empty where there is none."""
        source = "" if self.module is None else inspect.getsource(self.module)
        found = re.search(r"^# History of the file:\n((?:#.*\n)+)VERSION", source, re.MULTILINE)
        return " ".join(line.lstrip("# ") for line in found[1].splitlines()) if found else ""


FILES = (
    File("run", "`run.json`: one run of the guard", Run, run_file),
    File("baseline", "`<kernel>.json`: the accepted cases of one kernel on one device", Baseline, format),
    File("source", "`sources/<digest>.json`: a source that is compiled again", SourceBundle, None),
    File(
        "calibration",
        "`calibration.json`: identical code beside itself on one device",
        calibration.Calibration,
        calibration,
    ),
    File("plans", "what `kernelperf plans` writes: the code of a commit's cases", exported.Export, exported),
    File("case", "`CASE.json`: a traced case that can be run again", case_file.StoredCase, case_file),
    File("acceptance", "what `--kernelperf-accept` reads", acceptance.AcceptanceFile, acceptance),
)
