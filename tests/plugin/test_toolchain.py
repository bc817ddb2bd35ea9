"""What a new toolchain did, told from what the change under test did, with real compilers and workers.

No second compiler is needed: an accepted entry that names another one, and other instructions than it has, is what
such a toolchain leaves behind.
"""

from __future__ import annotations

import json
from typing import Any

OTHER = "0" * 64


def age(stored: Any, *, instructions: bool) -> str:
    """Let the accepted entries be those of an older compiler; return today's name of it."""
    path = stored.baseline()
    baseline = json.loads(path.read_text())
    today = baseline["cases"][0]["compiler"]
    for case in baseline["cases"]:
        case["compiler"] = "clang 3.0"
        if instructions:
            case["instruction_digests"] = dict.fromkeys(case["instruction_digests"], OTHER)
    path.write_text(json.dumps(baseline))
    return str(today)


def record_of(stored: Any, name: str) -> dict[str, Any]:
    """The record of ``plain-8``."""
    variant, tokens = name.split("-")
    found = stored.run_file()["records"]
    return next(r for r in found if r["case"]["variant"] == variant and r["case"]["tokens"] == int(tokens))


def test_a_new_toolchain_is_timed_beside_the_accepted_binary_and_told_from_the_change(stored: Any) -> None:
    """Three arms in the same blocks: the head is a third slower, of which the toolchain did 3 %."""
    today = age(stored, instructions=True)
    stored.replace("scale.hip", "if (i < n) y[i] = factor * x[i];", "if (i < n) y[i] = x[i] * factor + 0.0f * i;")
    stored.set_times(
        {"match": {"arm": "head"}, "us": 13.3, "noise_ratio": 0.001},
        {"match": {"arm": "toolchain"}, "us": 10.31, "noise_ratio": 0.0001},
        {"match": {}, "us": 10.0, "noise_ratio": 0.0001},
    )
    result = stored.guard("-k", "plain-8")
    assert result.ret == 1
    record = record_of(stored, "plain-8")
    assert (record["decision"]["verdict"], record["decision"]["code"]) == ("regressed", "slower")
    assert {sample["arm"] for m in record["measurements"] for sample in m["samples"]} == {
        "head",
        "baseline",
        "toolchain",
    }
    expected = f"the toolchain (compiler clang 3.0 -> {today}): the accepted source, compiled today, is 3.1 % slower"
    assert any(note.startswith(expected) for note in record["notes"])
    result.stdout.fnmatch_lines(["*toolchain / baseline*"])


def test_a_slowdown_without_a_change_of_source_is_the_toolchains(stored: Any) -> None:
    """The accepted source, compiled today, gives the very instructions under test."""
    age(stored, instructions=True)
    stored.set_times({"match": {"arm": "head"}, "us": 13.3}, {"match": {}, "us": 10.0})
    assert stored.guard("-k", "plain-8").ret == 1
    record = record_of(stored, "plain-8")
    assert (record["decision"]["verdict"], record["decision"]["code"]) == ("regressed", "slower_by_toolchain")
    assert "the toolchain, not the source" in record["decision"]["reason"]


def test_a_toolchain_that_makes_the_same_instructions_is_said_to_have_done_nothing(stored: Any) -> None:
    """Then the change alone is slower."""
    today = age(stored, instructions=False)
    stored.replace("scale.hip", "if (i < n) y[i] = factor * x[i];", "if (i < n) y[i] = x[i] * factor + 0.0f * i;")
    stored.set_times({"match": {"arm": "head"}, "us": 13.3}, {"match": {}, "us": 10.0})
    assert stored.guard("-k", "plain-8").ret == 1
    record = record_of(stored, "plain-8")
    assert record["decision"]["code"] == "slower"
    expected = f"the toolchain changed (compiler clang 3.0 -> {today}) and makes the same instructions"
    assert any(note.startswith(expected) for note in record["notes"])
