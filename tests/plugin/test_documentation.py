"""The example of the documentation is a guard that works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-guard.md"

# `path`: then the file's text in the next fence.
FILE = re.compile(r"`([\w/.]+\.(?:hip|py))`:\n\n```\w+\n(.*?)```", re.DOTALL)


def test_the_example_is_guarded_as_the_page_says(guarded: Any) -> None:
    """Its two files, as printed, give a variant that is new and a mutation that is caught, at both sizes."""
    if not PAGE.exists():
        pytest.skip("docs/ is not beside these tests")
    files = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))
    assert sorted(files) == ["kernels/double_add/double_add.hip", "kernels/double_add/test_double_add.py"]
    for name, text in files.items():
        guarded.child.write(name, text)
    guarded.guard("kernels").assert_outcomes(passed=4)
    assert guarded.verdicts() == {
        "one_thread_a_value-1": "new",
        "one_thread_a_value-64": "new",
        "last_workgroup_missing-1": "caught",
        "last_workgroup_missing-64": "caught",
    }
