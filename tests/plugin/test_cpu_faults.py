"""What goes wrong while a kernel runs on the cpu runtime fails its case in one sentence, and the next case runs."""

from __future__ import annotations

from typing import Any

import pytest

# Put before the work of the variant `plain` at 8 tokens, which runs before `strided` does.
FAULTS = {
    "a half-reached barrier": (
        "if (n > 300 && threadIdx.x < 10) __syncthreads();",
        "a barrier was reached by 10 threads of wave 0 only, and the others have ended",
    ),
    "a write past a buffer": (
        "if (n > 300 && i == 0) y[n] = 1;",
        "something was written 1 byte past the end of a buffer of 8192 bytes",
    ),
    "past a shared variable": (
        "__shared__ float all[4]; if (n > 300) all[4 + threadIdx.x % 2] = x[0]; __syncthreads();",
        "something was written just past the end of the shared variable all of 16 bytes",
    ),
    "a division by zero": (
        "if (n > 300 && 7 / (n - 2048) > 3) return;",
        "a whole number was divided by zero, or the quotient does not fit",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_sentence_and_the_next_case_runs(guarded: Any, fault: str) -> None:
    """By kernel and step; cases of the same kernel before and behind it are judged as ever."""
    line, sentence = FAULTS[fault]
    guarded.replace("scale.hip", "if (i < n) y[i] = factor * x[i];", f"{line}\n    if (i < n) y[i] = factor * x[i];")
    assert guarded.guard("-k", "not factor_two").ret == 1
    assert guarded.verdicts() == {"plain-1": "new", "strided-1": "new", "plain-8": "failed", "strided-8": "new"}
    (failed,) = (r for r in guarded.run_file()["records"] if r["decision"]["verdict"] == "failed")
    reason = failed["decision"]["reason"]
    assert sentence in reason
    assert "step 1 of 1, scale" in reason
    assert "\n" not in reason
