"""Pictures in characters, compared with the texts beside this file."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from figures import rich_run

from pytest_kernelperf.model import Run
from pytest_kernelperf.report.figure.text_pictures import text_pictures

Golden = Callable[[str, "bytes | str"], None]


@pytest.fixture(scope="module")
def run() -> Run:
    """A kernel of four variants, two of its cases slower."""
    return rich_run()


def test_a_terminals_pictures_look_as_they_did(run: Run, golden: Golden) -> None:
    """Claim: the kernel's curve, then the blocks of the failing cases, the worst first."""
    golden("pictures.txt", "\n".join(text_pictures(run, 90)))


def test_a_summarys_pictures_look_as_they_did(run: Run, golden: Golden) -> None:
    """Claim: the same without Braille, which is not in every font of a web page."""
    text = "\n".join(text_pictures(run, 100, braille=False, told=False))
    golden("pictures_coarse.txt", text)
    assert not [letter for letter in text if "\u2800" <= letter <= "\u28ff"]
