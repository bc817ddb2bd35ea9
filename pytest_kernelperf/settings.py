"""All configuration, read once into frozen records and checked here; nothing below asks pytest for an option."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from pytest_kernelperf.acceptance import Acceptance, read_acceptance
from pytest_kernelperf.commit import commit_at_hand
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.ini import INI
from pytest_kernelperf.model import Cache, Mode, RuntimeName

Trace = Literal["regression", "never", "always"]

MODES = ("graph", "queued", "loop")
CACHES = ("warm", "cold")
TRACES = ("regression", "never", "always")
RUNTIMES = ("auto", "rocm", "cuda", "cpu")
# Smallest slowdown that counts. On the cpu runtime other programs share cores and caches with the kernel, so that
# equal code measures further apart than on a GPU.
DEFAULT_TOLERANCE = {"rocm": 0.01, "cuda": 0.01, "cpu": 0.05}
# Compute units of targets whose launch plans are judged on another machine (facts: KFD simd_count / simd_per_cu).
TARGET_COMPUTE_UNITS = {"gfx1151": 40, "gfx1100": 96, "gfx1201": 64, "gfx942": 304, "gfx90a": 104}


@dataclass(frozen=True)
class CaseSettings:
    """What may differ from case to case: the marker's keywords have these names."""

    mode: Mode = "graph"
    tolerance: float | None = None
    floor_us: float = 0.02
    alpha: float = 1e-5
    processes: int = 5
    cache: Cache = "warm"
    dwell_s: float = 0.0
    blocks: int | None = None
    creep: float = 0.05
    curve_tolerance: float | None = None

    def tolerance_ratio(self, runtime: RuntimeName) -> float:
        """Smallest relative slowdown that counts on a runtime (0.01 is 1 %)."""
        return self.tolerance if self.tolerance is not None else DEFAULT_TOLERANCE[runtime]


@dataclass(frozen=True)
class Target:
    """The device that starvation is judged for: its architecture and compute units."""

    architecture: str
    compute_units: int


@dataclass(frozen=True)
class Settings:
    """All settings of one run.

    ``full``: time cases too whose instructions did not change. ``extend``: and add today's processes of the accepted
    binaries to their baselines.
    ``untimed``: time nothing: only results and workgroups are judged.
    ``sparing``: time what ``full`` asks for as a changed case is timed, from the fewest processes on; calibrations do.
    ``selection``: what the user chose cases with, as it is typed: ``kernels -k moe``.
    ``own_baselines``: the project's own, where ``baselines`` are those of the commit that it is measured against.
    ``new_limit_days``: a case that is declared for longer fails without a baseline; None: it may stay new.
    ``parent``: the exported code of the commit that the change is merged into.
    ``acceptance``: a maintainer's, of this commit's slowdowns.
    ``trace``: which cases' arms are replayed under a profiler. ``rocprofv3``: the one to use; None: it is looked for.
    ``page``: write ``report.html`` beside ``run.json``, since somebody named the folder that they look into.
    ``last_level_bytes`` is what is stated of the device's caches; None: what the device says of itself counts.
    """

    root: Path
    baselines: Path
    out: Path
    runtime: str = "auto"
    target: Target | None = None
    case: CaseSettings = CaseSettings()
    full: bool = False
    sparing: bool = False
    untimed: bool = False
    extend: bool = False
    update_reason: str | None = None
    case_timeout_s: float = 120.0
    wait_s: float = 1800.0
    last_level_bytes: int | None = None
    clock_script: Path | None = None
    command: str = "pytest --kernelperf"
    selection: str = ""
    trace: Trace = "regression"
    rocprofv3: Path | None = None
    acceptance: Acceptance | None = None
    own_baselines: Path | None = None
    new_limit_days: int | None = None
    parent: Path | None = None
    page: bool = False

    def described(self) -> dict[str, str]:
        """Return the settings that a run file records, as text."""
        target = f"{self.target.architecture}:{self.target.compute_units}" if self.target else ""
        return {
            "runtime": self.runtime,
            "target": target,
            "full": str(self.full).lower(),
            "untimed": str(self.untimed).lower(),
            "extending": str(self.extend).lower(),
            "updating": str(self.update_reason is not None).lower(),
            "update_reason": self.update_reason or "",
            "command": self.command,
            "selection": self.selection,
            **{field.name: str(getattr(self.case, field.name)) for field in dataclasses.fields(self.case)},
        }


def _untimed(option: Callable[[str], Any]) -> bool:
    """Whether nothing is to be timed, which contradicts whatever needs times."""
    if not option("kernelperf_untimed"):
        return False
    for name, given in (
        ("--kernelperf-full", option("kernelperf_full")),
        ("--extend-baselines", option("kernelperf_extend")),
        ("--update-baselines", option("kernelperf_update") is not None),
    ):
        if given:
            raise UsageError(f"--kernelperf-untimed times nothing, and {name} needs times: leave one of them out")
    return True


def _selection(option: Callable[[str], Any]) -> str:
    """The paths, -k and -m that pytest was given, so that what is suggested next concerns the same cases."""
    chosen = [shlex.quote(str(path)) for path in option("file_or_dir") or ()]
    for flag, name in (("-k", "keyword"), ("-m", "markexpr")):
        chosen += [flag, shlex.quote(str(option(name)))] if option(name) else []
    return " ".join(chosen)


def read_settings(option: Callable[[str], Any], ini: Callable[[str], Any], root: Path) -> Settings:
    """Read options and ini settings into one record.

    Args:
        option: returns a command-line option by its destination name.
        ini: returns an ini setting by name, as text.
        root: the project's root folder.

    Raises:
        UsageError: a value that cannot be used: what was expected, what came.
    """
    text = {name: str(ini(name)).strip() or default for name, (default, _) in INI.items()}
    case = CaseSettings(
        mode=_mode(text["kernelperf_mode"], "kernelperf_mode"),
        tolerance=_tolerance(text["kernelperf_tolerance"], "kernelperf_tolerance"),
        floor_us=_number(text["kernelperf_floor_us"], "kernelperf_floor_us", 0.0, 1e9),
        alpha=_number(text["kernelperf_alpha"], "kernelperf_alpha", 1e-12, 0.1),
        processes=_whole(text["kernelperf_processes"], "kernelperf_processes", 3, 64),
        cache=_cache(text["kernelperf_cache"], "kernelperf_cache"),
        blocks=_blocks(text["kernelperf_blocks"], "kernelperf_blocks"),
        dwell_s=_number(text["kernelperf_dwell_s"], "kernelperf_dwell_s", 0.0, 60.0),
        creep=_share(text["kernelperf_creep"], "kernelperf_creep"),
        curve_tolerance=_tolerance(text["kernelperf_curve_tolerance"], "kernelperf_curve_tolerance"),
    )
    script = os.environ.get("KERNELPERF_CLOCK_SCRIPT")
    last_level = text["kernelperf_last_level_bytes"]
    reason = option("kernelperf_update")
    own, foreign = root / text["kernelperf_baselines"], _foreign_baselines(option)
    return Settings(
        root=root,
        baselines=foreign if foreign is not None else own,
        own_baselines=own if foreign is not None else None,
        out=Path(option("kernelperf_out") or root / ".kernelperf"),
        runtime=_runtime(str(option("kernelperf_runtime") or "auto")),
        target=_target(text["kernelperf_target"]),
        case=case,
        full=bool(option("kernelperf_full") or option("kernelperf_extend")),
        extend=bool(option("kernelperf_extend")),
        untimed=_untimed(option),
        selection=_selection(option),
        update_reason=None if reason is None else _reason(str(reason)),
        case_timeout_s=_number(text["kernelperf_case_timeout_s"], "kernelperf_case_timeout_s", 1.0, 86400.0),
        wait_s=_number(text["kernelperf_wait_s"], "kernelperf_wait_s", 0.0, 86400.0),
        last_level_bytes=_whole(last_level, "kernelperf_last_level_bytes", 1, 2**40) if last_level else None,
        clock_script=Path(script) if script else None,
        # A script that wraps pytest says how it is called, so that what we tell to type next can be typed.
        command=os.environ.get("KERNELPERF_COMMAND") or "pytest --kernelperf",
        trace=_trace(option("kernelperf_trace"), text["kernelperf_trace"]),
        rocprofv3=root / text["kernelperf_rocprofv3"] if text["kernelperf_rocprofv3"] else None,
        new_limit_days=_new_limit(option("kernelperf_new_limit_days"), text["kernelperf_new_limit_days"]),
        acceptance=_acceptance(option("kernelperf_accept"), root),
        parent=_parent(option),
        page=_switch(text["kernelperf_page"], "kernelperf_page") and bool(option("kernelperf_out")),
    )


def _switch(text: str, name: str) -> bool:
    if text not in ("true", "false"):
        raise UsageError(f"{name} is true or false, not {text!r}")
    return text == "true"


def case_settings(base: CaseSettings, keywords: Mapping[str, Any]) -> CaseSettings:
    """Return ``base`` with a marker's keywords laid over it.

    Raises:
        UsageError: an unknown keyword or a value that cannot be used.
    """
    known = [field.name for field in dataclasses.fields(CaseSettings)]
    unknown = sorted(set(keywords) - set(known))
    if unknown:
        raise UsageError(f"the kernelperf marker has no keyword {unknown[0]!r}; it takes {', '.join(known)}")
    readers: dict[str, Callable[[str, str], Any]] = {
        "mode": _mode,
        "tolerance": _tolerance,
        "floor_us": lambda text, name: _number(text, name, 0.0, 1e9),
        "alpha": lambda text, name: _number(text, name, 1e-12, 0.1),
        "processes": lambda text, name: _whole(text, name, 3, 64),
        "cache": _cache,
        "blocks": _blocks,
        "dwell_s": lambda text, name: _number(text, name, 0.0, 60.0),
        "creep": _share,
        "curve_tolerance": _tolerance,
    }
    changes = {name: readers[name](str(value), f"marker keyword {name}") for name, value in keywords.items()}
    return dataclasses.replace(base, **changes)


def _reason(text: str) -> str:
    """Return the reason of an update, unless it is a test that pytest's option parser took for one."""
    if text and ("::" in text or Path(text).exists()):
        raise UsageError(
            f"--update-baselines takes its reason behind an equals sign, and {text!r} is a path: "
            f"write --update-baselines=REASON {text}, or put {text} first"
        )
    return text


def _new_limit(option: object, ini: str) -> int | None:
    name, given = "kernelperf_new_limit_days", ini
    if option is not None:
        name, given = "--kernelperf-new-limit-days", str(option)
    return _whole(given, name, 0, 10_000) if given else None


def _foreign_baselines(option: Callable[[str], Any]) -> Path | None:
    """The baselines of the commit that is measured against, which are read and never written."""
    given = option("kernelperf_baselines")
    if given is None:
        return None
    if option("kernelperf_update") is not None or option("kernelperf_extend"):
        raise UsageError(
            "--kernelperf-baselines names the baselines of another commit, which are not to be changed: leave it out "
            "where baselines are updated"
        )
    folder = Path(str(given)).absolute()
    if not folder.is_dir():
        raise UsageError(
            f"--kernelperf-baselines: there is no folder {folder}: name one, an empty one for no baselines"
        )
    return folder


def _parent(option: Callable[[str], Any]) -> Path | None:
    """The plans of the parent commit, which decide nothing where baselines are updated."""
    given = option("kernelperf_parent")
    if given is None:
        return None
    if option("kernelperf_update") is not None or option("kernelperf_extend"):
        raise UsageError(
            "--kernelperf-parent names code that a change is judged by: leave it out where baselines are updated"
        )
    return Path(str(given)).absolute()


def _acceptance(option: object, root: Path) -> Acceptance | None:
    return None if option is None else read_acceptance(Path(str(option)), commit_at_hand(root, os.environ))


def _mode(text: str, name: str) -> Mode:
    if text not in MODES:
        raise UsageError(f"{name} is one of {', '.join(MODES)}, not {text!r}")
    return cast(Mode, text)


def _trace(option: object, ini: str) -> Trace:
    name, text = ("kernelperf_trace", ini) if option is None else ("--kernelperf-trace", str(option))
    if text not in TRACES:
        raise UsageError(f"{name} is one of {', '.join(TRACES)}, not {text!r}")
    return cast(Trace, text)


def _cache(text: str, name: str) -> Cache:
    if text not in CACHES:
        raise UsageError(f"{name} is one of {', '.join(CACHES)}, not {text!r}")
    return cast(Cache, text)


def _runtime(text: str) -> str:
    if text not in RUNTIMES:
        raise UsageError(f"--kernelperf-runtime is one of {', '.join(RUNTIMES)}, not {text!r}")
    return text


def _tolerance(text: str, name: str) -> float | None:
    return None if text in ("", "None") else _share(text, name)


def _share(text: str, name: str) -> float:
    """Return a share of a time: ``0.01`` or ``1%``."""
    value = _parsed(text.rstrip("% "), name) / (100 if text.endswith("%") else 1)
    if not 0.0 <= value <= 0.99:
        raise UsageError(f"{name} lies between 0 and 0.99, or 0% and 99%, not {text}")
    return value


def _blocks(text: str, name: str) -> int | None:
    return None if text in ("", "None") else _whole(text, name, 1, 150)


def _number(text: str, name: str, least: float, most: float) -> float:
    value = _parsed(text, name)
    if not least <= value <= most:
        raise UsageError(f"{name} lies between {least:g} and {most:g}, not {text}")
    return value


def _parsed(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{name} is a number, not {text!r}") from None


def _whole(text: str, name: str, least: int, most: int) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise UsageError(f"{name} is a whole number from {least} to {most}, not {text!r}")
    return int(text)


def _target(text: str) -> Target | None:
    if not text:
        return None
    match = re.fullmatch(r"([A-Za-z0-9_-]+?)(?::([0-9]+))?", text)
    units = int(match[2]) if match and match[2] else TARGET_COMPUTE_UNITS.get(match[1] if match else "", 0)
    if not match or units < 1:
        known = ", ".join(TARGET_COMPUTE_UNITS)
        raise UsageError(f"kernelperf_target is one of {known}, or NAME:COMPUTE_UNITS (gfx1100:84), not {text!r}")
    return Target(match[1], units)
