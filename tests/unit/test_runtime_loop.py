"""Arguments packed as HIP lays them out, blocking environments, and the gate's source."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import BufferArgument, ScalarArgument
from pytest_kernelperf.runtime import gate
from pytest_kernelperf.runtime.argument import pack_arguments
from pytest_kernelperf.runtime.hip import Buffer
from pytest_kernelperf.runtime.loop_native import Step
from pytest_kernelperf.runtime.rounds import Rounds

BUFFERS = cast(dict[str, Buffer], {"x": SimpleNamespace(address=0x1000, size_bytes=64)})


def scalar(layout: str, value: float, alignment: int) -> ScalarArgument:
    return ScalarArgument(layout, struct.pack(layout, value), alignment)


def test_each_argument_lies_at_its_own_alignment() -> None:
    """int, pointer, float, double: padding before the pointer and before the double, none at the end."""
    packed = pack_arguments(
        (scalar("<i", 7, 4), BufferArgument("x", 8), scalar("<f", 0.5, 4), scalar("<d", 2.5, 8), scalar("<b", 3, 1)),
        BUFFERS,
    )

    assert packed == struct.pack("<i4xQf4xdb", 7, 0x1008, 0.5, 2.5, 3)


def test_vectors_lie_at_sixteen_bytes() -> None:
    """A float4 after an int starts at 16, not at 8."""
    packed = pack_arguments((scalar("<i", 7, 4), ScalarArgument("float4", bytes(range(16)), 16)), BUFFERS)

    assert packed == struct.pack("<i12x", 7) + bytes(range(16))


@given(st.lists(st.tuples(st.integers(1, 40), st.sampled_from([1, 2, 4, 8, 16])), max_size=12))
def test_any_arguments_keep_order_alignment_and_bytes(shapes: list[tuple[int, int]]) -> None:
    """Each value starts at the first multiple of its alignment after the one before."""
    arguments = tuple(
        ScalarArgument("V", bytes([place + 1]) * size, align) for place, (size, align) in enumerate(shapes)
    )

    packed, at = pack_arguments(arguments, BUFFERS), 0

    for argument in arguments:
        at += -at % argument.alignment
        assert packed[at : at + len(argument.data)] == argument.data
        at += len(argument.data)
    assert at == len(packed)


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (BufferArgument("y"), "buffer 'y', which is not among x"),
        (BufferArgument("x", 65), "65 bytes into buffer 'x', which has 64"),
        (BufferArgument("x", -1), "buffer 'x'"),
    ],
)
def test_an_argument_outside_its_buffer_is_refused(argument: BufferArgument, words: str) -> None:
    """Nothing that HIP would take without a word is let through."""
    with pytest.raises(UsageError, match=words):
        pack_arguments((argument,), BUFFERS)


@given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 20))
def test_a_batch_is_its_rounds_in_order_one_copy_after_the_other(steps: int, copies: int, count: int) -> None:
    """For any number of steps, copies and rounds; and a step that fails is named, whichever copy it takes."""
    numbered = (Step * (steps * copies))(*(Step(bytes=place) for place in range(steps * copies)))
    rounds = Rounds(numbered, (), tuple(f"step {place}" for place in range(steps)), copies)
    batch, size, times = rounds.batch(count)
    called = [batch[place].bytes for _ in range(times) for place in range(size)]
    assert called == [copy % copies * steps + place for copy in range(count) for place in range(steps)]
    assert [rounds.name_of(place) for place in range(size)] == [f"step {place % steps}" for place in range(size)]
    assert rounds.name_of(-1) == ""


@pytest.mark.parametrize("name", ["HIP_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL"])
def test_blocking_launches_are_noticed(name: str) -> None:
    """A variable that makes launches wait is named; switched off, it is not."""
    assert gate.blocking_variable({name: "1"}) == f"{name}=1"
    assert gate.blocking_variable({name: "3"}) == f"{name}=3"
    assert gate.blocking_variable({name: "0"}) == ""
    assert gate.blocking_variable({}) == ""


def test_the_gates_source_is_in_the_package() -> None:
    """The bundle holds the kernel that the loop asks for."""
    bundle = gate.gate_bundle()

    assert f"{gate.KERNEL}(" in bundle.files[bundle.main]
