"""Settings are read once, checked, and refused in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.ini import INI
from pytest_kernelperf.settings import CaseSettings, Settings, Target, case_settings, read_settings


def read(options: dict[str, Any] | None = None, **ini: str) -> Settings:
    """Read settings as pytest would give them."""
    return read_settings(
        lambda name: (options or {}).get(name), lambda name: ini.get(name, INI[name][0]), Path("/project")
    )


def test_defaults_are_the_documented_ones() -> None:
    """What stands in the ini table is what one gets."""
    settings = read()
    assert settings.case == CaseSettings("graph", None, 0.02, 1e-5, 5)
    assert settings.baselines == Path("/project/baselines")
    assert settings.out == Path("/project/.kernelperf")
    assert (settings.runtime, settings.target, settings.update_reason) == ("auto", None, None)
    assert (settings.case.cache, settings.last_level_bytes) == ("warm", None)


def test_the_tolerance_follows_the_runtime_unless_stated() -> None:
    """1 % on a GPU; 5 % where other programs share the cores."""
    assert [CaseSettings().tolerance_ratio(name) for name in ("rocm", "cuda", "cpu")] == [0.01, 0.01, 0.05]
    assert read(kernelperf_tolerance="2%").case.tolerance_ratio("cpu") == pytest.approx(0.02)
    assert read(kernelperf_tolerance="0.003").case.tolerance_ratio("rocm") == 0.003


def test_a_target_is_a_known_device_or_states_its_compute_units() -> None:
    """gfx1151 has 40; any other may be spelled out."""
    assert read(kernelperf_target="gfx1151").target == Target("gfx1151", 40)
    assert read(kernelperf_target="gfx1100:84").target == Target("gfx1100", 84)


def test_the_option_for_traces_wins_over_the_ini_file() -> None:
    """Only regressions are traced unless the option, or else the ini file, says otherwise."""
    assert (read().trace, read().rocprofv3) == ("regression", None)
    assert read(kernelperf_trace="never").trace == "never"
    assert read({"kernelperf_trace": "always"}, kernelperf_trace="never").trace == "always"
    assert read(kernelperf_rocprofv3="/opt/x/bin/rocprofv3").rocprofv3 == Path("/opt/x/bin/rocprofv3")
    assert read(kernelperf_rocprofv3="tools/rocprofv3").rocprofv3 == Path("/project/tools/rocprofv3")
    with pytest.raises(UsageError, match=r"^--kernelperf-trace is one of regression, never, always, not 'yes'$"):
        read({"kernelperf_trace": "yes"})


def test_a_page_is_for_a_folder_that_was_named() -> None:
    """--kernelperf-out has a page in it, unless the ini file says false; without the option nobody looks there."""
    assert read({"kernelperf_out": "there"}).page is True
    assert read().page is False
    assert read({"kernelperf_out": "there"}, kernelperf_page="false").page is False
    with pytest.raises(UsageError, match=r"^kernelperf_page is true or false, not 'no'$"):
        read(kernelperf_page="no")


def test_an_update_without_reason_differs_from_none() -> None:
    """--update-baselines alone stores what needs no reason."""
    assert read({"kernelperf_update": ""}).update_reason == ""
    assert read({"kernelperf_update": "faster"}).update_reason == "faster"


@pytest.mark.parametrize(
    "other", [{"kernelperf_full": True}, {"kernelperf_extend": True}, {"kernelperf_update": ""}], ids=str
)
def test_what_needs_times_cannot_be_asked_of_a_run_that_takes_none(other: dict[str, Any]) -> None:
    """Rather than leave baselines as they are in silence."""
    with pytest.raises(UsageError, match="leave one of them out"):
        read({"kernelperf_untimed": True} | other)
    assert read({"kernelperf_untimed": True}).untimed


@pytest.mark.parametrize(
    ("ini", "sentence"),
    [
        ({"kernelperf_target": "gfx9999"}, "kernelperf_target is one of gfx1151"),
        ({"kernelperf_target": "gfx1100:0"}, "kernelperf_target is one of"),
        ({"kernelperf_trace": "on"}, "kernelperf_trace is one of regression, never, always, not 'on'"),
        ({"kernelperf_mode": "fast"}, "kernelperf_mode is one of graph, queued, loop, not 'fast'"),
        ({"kernelperf_tolerance": "much"}, "kernelperf_tolerance is a number, not 'much'"),
        ({"kernelperf_tolerance": "nan"}, "lies between"),
        ({"kernelperf_tolerance": "200%"}, "kernelperf_tolerance lies between 0 and 0.99, or 0% and 99%, not 200%"),
        ({"kernelperf_tolerance": "1"}, "lies between"),
        ({"kernelperf_floor_us": "-1"}, "kernelperf_floor_us lies between"),
        ({"kernelperf_alpha": "0"}, "kernelperf_alpha lies between"),
        ({"kernelperf_processes": "2"}, "kernelperf_processes is a whole number from 3 to 64"),
        ({"kernelperf_processes": "five"}, "kernelperf_processes is a whole number"),
        ({"kernelperf_cache": "hot"}, "kernelperf_cache is one of warm, cold, not 'hot'"),
        ({"kernelperf_last_level_bytes": "32MB"}, "kernelperf_last_level_bytes is a whole number"),
        ({"kernelperf_case_timeout_s": "inf"}, "kernelperf_case_timeout_s lies between"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_sentence(ini: dict[str, str], sentence: str) -> None:
    """What was expected and what came."""
    with pytest.raises(UsageError, match=sentence):
        read(**ini)


def test_an_update_reason_that_is_a_path_is_refused(tmp_path: Path) -> None:
    """pytest's parser gives an option the next word: a test's path would become the reason to accept a slowdown."""
    for path in (str(tmp_path), "tests/test_x.py::test_y"):
        with pytest.raises(UsageError, match="behind an equals sign"):
            read({"kernelperf_update": path})


def test_an_unknown_runtime_is_refused() -> None:
    """The choices are named."""
    with pytest.raises(UsageError, match="auto, rocm, cuda, cpu, not 'metal'"):
        read({"kernelperf_runtime": "metal"})


def test_marker_keywords_lie_over_the_settings() -> None:
    """Only what is stated changes."""
    assert case_settings(CaseSettings(), {"tolerance": 0.02, "mode": "queued"}) == CaseSettings("queued", 0.02)
    assert case_settings(CaseSettings(processes=7), {"cache": "cold"}) == CaseSettings(processes=7, cache="cold")


def test_cold_caches_and_their_size_can_be_set() -> None:
    """For all tests, and for a device that does not say how large its caches are."""
    settings = read(kernelperf_cache="cold", kernelperf_last_level_bytes="33554432")
    assert (settings.case.cache, settings.last_level_bytes) == ("cold", 33554432)
    assert settings.described()["cache"] == "cold"


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"tolerence": 0.02}, "no keyword 'tolerence'; it takes mode, tolerance, floor_us, alpha, processes, cache"),
        ({"mode": "fast"}, "marker keyword mode is one of"),
        ({"cache": "hot"}, "marker keyword cache is one of warm, cold"),
        ({"processes": 1}, "marker keyword processes is a whole number"),
    ],
)
def test_unknown_marker_keywords_are_refused(keywords: dict[str, Any], sentence: str) -> None:
    """A misspelt tolerance would guard with the default."""
    with pytest.raises(UsageError, match=sentence):
        case_settings(CaseSettings(), keywords)


def test_the_selection_is_recorded_as_it_is_typed() -> None:
    """Claim: paths, -k and -m, quoted where a shell needs it."""
    options = {"file_or_dir": ["my kernels"], "keyword": "moe and not 512", "markexpr": "slow"}
    settings = read(options)
    assert settings.described()["selection"] == "'my kernels' -k 'moe and not 512' -m slow"
    assert read().described()["selection"] == ""
