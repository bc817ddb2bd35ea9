"""The example of the documentation is a guard that works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-guard.md"

# `path`: then the file's text in the next fence.
FILE = re.compile(r"`([\w/.]+\.(?:hip|py))`:\n\n```\w+\n(.*?)```", re.DOTALL)


def test_the_example_is_guarded_as_the_page_says(child_project: Any) -> None:
    """Its two files, as printed, give a variant that is new and a mutation that is caught, at both sizes."""
    if not PAGE.exists():
        pytest.skip("docs/ is not beside these tests")
    files = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))
    assert sorted(files) == ["kernels/double_add/double_add.hip", "kernels/double_add/test_double_add.py"]
    for name, text in files.items():
        child_project.write(name, text)
    result = child_project.run("--kernelperf", "--kernelperf-runtime=cpu", "-v")
    result.assert_outcomes(passed=4)
