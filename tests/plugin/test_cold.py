"""Cold caches as a user meets them: asked for, stored, and never taken for warm ones."""

from __future__ import annotations

from typing import Any

import pytest

SMALL_CACHE = ("-o", "kernelperf_last_level_bytes=65536")
COLD = (*SMALL_CACHE, "-o", "kernelperf_cache=cold")


def test_a_cold_case_is_stored_and_judged_as_one(guarded: Any) -> None:
    """The marker asks for it; table and baseline say so; unchanged it is identical, warm it cannot be compared."""
    guarded.replace("test_scale.py", "kernelperf(kernel)", 'kernelperf(kernel, cache="cold")')
    result = guarded.guard(*SMALL_CACHE, "--update-baselines=first")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*plain*10.* graph cold*", "*new -> * graph cold*"])
    assert guarded.baseline().read_text().count('"cache": "cold"') == 4
    guarded.set_times()
    assert guarded.guard(*SMALL_CACHE).ret == 0
    assert set(guarded.verdicts().values()) == {"identical", "caught"}
    guarded.replace("test_scale.py", ', cache="cold")', ")")
    result = guarded.guard("-k", "plain-8")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*taken with cold caches, and cache states are never compared*"])


@pytest.mark.weekly
def test_a_cold_regression_is_one(guarded: Any) -> None:
    """Accepted and new code rotate through the same copies; the results are right and the times decide."""
    assert guarded.guard(*COLD, "--update-baselines=first").ret == 0
    guarded.replace("scale.hip", "y[i] = factor * x[i];\n}\n\n", "y[i] = x[i] * factor + 0.0f * i;\n}\n\n")
    guarded.set_times(
        {"match": {"arm": "head"}, "us": 13.3, "noise_ratio": 0.001},
        {"match": {}, "us": 10.0, "noise_ratio": 0.001},
    )
    result = guarded.guard(*COLD, "-k", "plain-8")
    assert result.ret == 1
    assert guarded.verdicts() == {"plain-8": "regressed"}
    result.stdout.fnmatch_lines(["*13.30 us in graph mode with cold caches*"])


def test_copies_that_do_not_fit_fail_the_case_in_a_sentence(guarded: Any) -> None:
    """A cache of a terabyte cannot be got past with the memory that is there."""
    result = guarded.guard(
        "-o", "kernelperf_last_level_bytes=1099511627776", "-o", "kernelperf_cache=cold", "-kplain-8"
    )
    assert result.ret == 1
    assert guarded.verdicts() == {"plain-8": "failed"}
    result.stdout.fnmatch_lines(["*cold caches take *of the device's memory are free*"])
