"""``kernelperf doctor`` as it prints, compared with the texts beside this file."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from examinations import H200, STRIX, WITHOUT_COMPILER

from pytest_kernelperf import strict_json
from pytest_kernelperf.doctor.diagnosis import Diagnosis, diagnose
from pytest_kernelperf.doctor.examination import Examination
from pytest_kernelperf.doctor.text import headline, render_diagnosis

Golden = Callable[[str, "bytes | str"], None]


def written_out(found: Examination) -> Examination:
    """The same machine, read from files that were written out."""
    assert found.machine is not None
    machine = msgspec.structs.replace(found.machine, root="/trees/strix", runtimes=())
    return Examination(found.package, found.python, "", machine)


def test_a_gpu_that_others_use_reads_as_it_did(golden: Golden) -> None:
    """Claim: an H200 with somebody else at work: all figures, one warning, what to do."""
    golden("doctor_h200.txt", render_diagnosis(diagnose(H200)))


def test_a_laptop_without_a_compiler_reads_as_it_did(golden: Golden) -> None:
    """Claim: one problem with the command that brings it, and what was therefore not probed."""
    golden("doctor_no_compiler.txt", render_diagnosis(diagnose(WITHOUT_COMPILER)))


def test_a_written_out_tree_reads_as_it_did(golden: Golden) -> None:
    """Claim: a Strix Halo box's figures, and that nothing was probed."""
    golden("doctor_strix_halo.txt", render_diagnosis(diagnose(written_out(STRIX))))


def test_the_json_is_written_as_it_was(golden: Golden) -> None:
    """Claim: the format has not changed unnoticed, and is read back as what was written."""
    text = strict_json.layout(diagnose(H200))
    golden("doctor.json", text)
    assert msgspec.json.decode(text, type=Diagnosis) == diagnose(H200)


def test_text_from_files_cannot_paint_the_terminal() -> None:
    """Claim: a process may call itself anything; it stays one line without control characters."""
    assert H200.activity is not None
    found = msgspec.structs.replace(
        H200, activity=msgspec.structs.replace(H200.activity, contended_by="pid 1 (\x1b[31mred\nok)")
    )
    text = render_diagnosis(diagnose(found))
    assert "\x1b" not in text
    assert "pid 1 (?[31mred ok)" in " ".join(text.split())


def test_no_line_is_wider_than_a_terminal() -> None:
    """Claim: long sentences are wrapped under their topic."""
    for found in (H200, STRIX, WITHOUT_COMPILER):
        assert max(len(line) for line in render_diagnosis(diagnose(found)).splitlines()) <= 118


def test_the_headline_counts() -> None:
    """Claim: the last line alone says whether the guard can run."""
    assert headline(diagnose(STRIX)) == "the guard can run here"
    assert headline(diagnose(H200)) == "the guard can run here; 1 warning"
    assert headline(diagnose(WITHOUT_COMPILER)) == "the guard cannot run here; 1 problem"
    assert headline(diagnose(written_out(STRIX))) == "the files were read; no device was opened"
