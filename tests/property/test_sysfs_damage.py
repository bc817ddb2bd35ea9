"""Written-out trees with damaged files: whatever they hold, they are read, judged and printed."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strix_halo import FILES, write_strix_halo

from pytest_kernelperf.doctor.diagnosis import diagnose
from pytest_kernelperf.doctor.examination import Examination
from pytest_kernelperf.doctor.text import render_diagnosis
from pytest_kernelperf.machine import Machine
from pytest_kernelperf.runtime.survey import read_machine

CONTENT = st.one_of(
    st.binary(max_size=200),
    st.integers(-(10**20), 10**20).map(lambda number: f"{number}\n".encode()),
    st.text(alphabet="0123456789: Mhz*\n\x1b", max_size=80).map(str.encode),
    st.none(),  # missing
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that each example writes anew."""
    return tmp_path_factory.mktemp("tree")


@given(damage=st.dictionaries(st.sampled_from(sorted(FILES)), CONTENT, max_size=6))
def test_any_damage_is_read_judged_and_printed(tree: Path, damage: dict[str, bytes | None]) -> None:
    """Claim: never an exception, a number that is not finite, or a control character on the terminal."""
    write_strix_halo(tree)
    for name, content in damage.items():
        if content is None:
            (tree / name).unlink()
        else:
            (tree / name).write_bytes(content)

    machine = read_machine(tree)

    assert msgspec.json.decode(msgspec.json.encode(machine), type=Machine) == machine
    for gpu in machine.gpus:
        figures = msgspec.structs.asdict(gpu.state).values() if gpu.state else ()
        assert all(math.isfinite(figure) and figure >= 0 for figure in figures if isinstance(figure, (int, float)))
        assert gpu.compute_units is None or gpu.compute_units > 0
    text = render_diagnosis(diagnose(Examination("0.1.0", "3.12.3", "", machine)))
    assert all(letter.isprintable() or letter == "\n" for letter in text)
