"""What a marked test becomes, and what is said of one that is marked wrongly. No device is needed."""

from __future__ import annotations

from typing import Any

import pytest

import pytest_kernelperf.plugin.active  # noqa: F401  # numpy cannot be loaded twice, so the runs below must find it loaded

HEAD = """
import numpy as np
import pytest
from pytest_kernelperf import Kernel, Launch

kernel = Kernel("k", source="k.hip", tokens=(1, 8))

@kernel.variant
def plain(tokens, device):
    return [Launch("k", grid=1, block=1)]
"""

MARKED = HEAD + "\n@pytest.mark.kernelperf(kernel{keywords})\ndef test_k({argument}):\n    {body}\n"


def marked(keywords: str = "", argument: str = "kernelperf", body: str = "kernelperf.check()") -> str:
    """Return a test module with one marked test."""
    return MARKED.format(keywords=keywords, argument=argument, body=body)


def test_without_the_option_the_items_are_skipped_with_the_reason(child_project: Any) -> None:
    """One item per variant and size, none of them run."""
    child_project.write("test_k.py", marked())
    result = child_project.run_here("-rs", "-v")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*test_k[[]plain-1[]] SKIPPED*", "*only with --kernelperf*"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (marked(keywords=", tolerence=1"), "no keyword 'tolerence'"),
        (marked(keywords=", processes=1"), "processes is a whole number from 3 to 64"),
        (
            marked(keywords=", blocks=7"),
            "7 blocks at alpha 1e-05 cannot reject: the smallest p is 0.0078, and each of 2 looks needs 4.8e-06",
        ),
        (marked(argument=""), "takes the argument kernelperf"),
        (marked().replace("kernelperf(kernel)", "kernelperf()"), "takes one Kernel"),
        (marked().replace("kernelperf(kernel)", "kernelperf('k')"), "takes one Kernel"),
        (marked().replace("@kernel.variant", ""), "has no variants"),
        (marked() + marked().replace(HEAD, "").replace("test_k", "test_again"), "two tests guard a kernel named k"),
    ],
)
def test_a_wrong_marker_is_a_collection_error_of_one_sentence(child_project: Any, text: str, sentence: str) -> None:
    """Found before anything runs, with or without the option."""
    child_project.write("test_k.py", text)
    for arguments in ((), ("--kernelperf",)):
        result = child_project.run_here(*arguments)
        assert result.ret == pytest.ExitCode.INTERRUPTED
        assert sentence in result.stdout.str()
        assert "Traceback" not in result.stdout.str()


def test_a_test_that_never_checks_fails(child_project: Any) -> None:
    """It would pass for guarded."""
    child_project.write("test_k.py", marked(body="pass"))
    result = child_project.run_here("--kernelperf")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*without calling kernelperf.check()*"])


def test_a_test_that_swallows_the_failure_fails(child_project: Any) -> None:
    """A verdict is not the test's to take back."""
    child_project.write(
        "test_k.py",
        marked(body="import contextlib\n    with contextlib.suppress(BaseException):\n        kernelperf.check()"),
    )
    result = child_project.run_here("--kernelperf")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*caught the failure that kernelperf.check() raised*"])


def test_an_error_in_a_kernels_declaration_shows_the_users_line_and_the_sentence(child_project: Any) -> None:
    """None of the package's own frames."""
    child_project.write("test_k.py", marked().replace("tokens=(1, 8)", "tokens=8"))
    result = child_project.run_here("--kernelperf")
    assert "tokens are a list of whole numbers" in result.stdout.str()
    assert "pytest_kernelperf/kernel.py" not in result.stdout.str()


def test_a_setting_that_cannot_be_used_is_a_usage_error(child_project: Any) -> None:
    """One sentence, exit 4."""
    child_project.write("test_k.py", marked())
    result = child_project.run_here("--kernelperf", "-o", "kernelperf_target=gfx9")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "kernelperf_target is one of" in result.stderr.str()


def test_an_unmarked_test_that_asks_for_the_guard_is_told_so(child_project: Any) -> None:
    """Not an internal error about a missing parameter."""
    child_project.write("test_k.py", "def test_k(kernelperf):\n    kernelperf.check()\n")
    result = child_project.run_here("--kernelperf")
    assert result.ret == 1
    assert "kernelperf is for tests marked" in result.stdout.str()


def test_ordinary_tests_run_beside_the_guard_as_always(child_project: Any) -> None:
    """The option changes nothing for them."""
    child_project.write("test_plain.py", "def test_one():\n    assert True\n")
    child_project.run_here("--kernelperf").assert_outcomes(passed=1)


def test_a_folder_that_several_processes_cannot_share_is_refused(child_project: Any) -> None:
    """They tell each other there what they measured: refused before any of them starts, and only with -n."""
    pytest.importorskip("xdist")
    child_project.write("test_k.py", marked())
    child_project.write("file", "")
    result = child_project.run_here("--kernelperf", "--kernelperf-out=file/out", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*file/out cannot be written to, *: name another folder with --kernelperf-out=DIR*"])
    assert child_project.run_here("--kernelperf", "--kernelperf-out=file/out", "--co").ret == pytest.ExitCode.OK
