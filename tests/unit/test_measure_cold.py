"""Cold caches: how many copies there are, what is restored in them, and what nobody can promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.errors import DeviceError, UsageError
from pytest_kernelperf.measure.buffers import MOST_PADDING_STEPS, SharedBuffers, choose_padding
from pytest_kernelperf.measure.cold import ColdBuffers, Rotation, plan_rotation
from pytest_kernelperf.model import BufferArgument, CopyStep, FillStep, LaunchStep, Plan

MIB = 1 << 20


def a_plan(*buffers: str) -> Plan:
    """A plan of one launch that takes some buffers."""
    return Plan((LaunchStep("k", (1, 1, 1), (64, 1, 1), tuple(map(BufferArgument, buffers))),))


def test_the_copies_exceed_twice_the_caches() -> None:
    """32 MiB of cache and 3 MiB a round: 22 copies hold 66 MiB, and 64 MiB are written to empty the caches."""
    sizes = {"x": MIB, "y": 2 * MIB, "unused": 100 * MIB}
    rotation = plan_rotation([a_plan("x", "y")], sizes, 32 * MIB, 200, 1 << 40)
    assert rotation == Rotation(22, frozenset({"x", "y"}), 64 * MIB)


def test_no_more_copies_are_made_than_a_batch_has_rounds() -> None:
    """A kernel of 40 bytes would need millions; none of 200 copies is used twice in a sample of 200 rounds."""
    assert plan_rotation([a_plan("x")], {"x": 40}, 32 * MIB, 200, 1 << 40).copies == 200


def test_the_arm_that_takes_least_decides() -> None:
    """Its rounds must be cold too, and it takes the same copies as the other."""
    sizes = {"x": MIB, "y": 7 * MIB}
    rotation = plan_rotation([a_plan("x", "y"), a_plan("x")], sizes, 4 * MIB, 200, 1 << 40)
    assert (rotation.copies, rotation.names) == (8, frozenset({"x", "y"}))


def test_fills_and_copies_take_buffers_too() -> None:
    """Every kind of step counts."""
    plan = Plan((FillStep("x", 0, 0, 4), CopyStep("y", "z", 0, 0, 4)))
    assert plan_rotation([plan], {"x": 4, "y": 4, "z": 4}, 6, 200, 1 << 40).names == frozenset({"x", "y", "z"})


def test_a_plan_without_buffers_has_one_copy_of_none() -> None:
    """There is nothing to rotate; only what restoring leaves is pushed out."""
    assert plan_rotation([Plan(())], {"x": 4}, MIB, 200, 1 << 40) == Rotation(1, frozenset(), 2 * MIB)


def test_copies_that_do_not_fit_are_refused_with_the_figures() -> None:
    """The sentence says what is wanted, what is free, and what to do."""
    with pytest.raises(UsageError, match=r"take 64 copies of .* memory are free: end what else") as refused:
        plan_rotation([a_plan("x")], {"x": MIB}, 32 * MIB, 200, 130 * MIB)
    assert 'cache="warm"' in str(refused.value)
    assert "\n" not in str(refused.value)


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.none(), min_size=1), min_size=1, max_size=3),
    st.fixed_dictionaries({name: st.integers(1, 1 << 40) for name in "abc"}),
    st.integers(1, 1 << 40),
    st.integers(1, 2000),
)
def test_every_arm_is_cold_or_uses_no_copy_twice(
    arms: list[dict[str, None]], sizes: dict[str, int], cold_bytes: int, max_rounds: int
) -> None:
    """For any arms, sizes and caches; and never more copies than that takes."""
    copies = plan_rotation([a_plan(*arm) for arm in arms], sizes, cold_bytes, max_rounds, 1 << 100).copies
    takes = [sum(sizes[name] for name in arm) for arm in arms]
    assert 1 <= copies <= max_rounds
    assert copies == max_rounds or all(copies * taken >= 2 * cold_bytes for taken in takes)
    assert copies == 1 or (copies - 1) * min(takes) < 2 * cold_bytes


class Memory:
    """A buffer of a device that is only noted."""

    def __init__(self, device: Device, data: Any) -> None:
        self.device, self.data, self.size_bytes = device, data, len(data)
        device.held += 1

    def upload(self, array: Any) -> None:
        self.data[:] = array.tobytes()

    def download(self, dtype: Any, shape: Any) -> Any:
        return np.frombuffer(bytes(self.data), dtype).reshape(shape)

    def close(self) -> None:
        self.device.held -= 1


class Device:
    """A device, and its stream, that keeps count; it has room for ``room`` buffers."""

    def __init__(self, room: int = 1000) -> None:
        self.held, self.room = 0, room
        self.filled: list[tuple[int, int]] = []
        self.log: list[str] = []

    def allocate(self, size: int) -> Memory:
        if self.held >= self.room:
            raise DeviceError("hipMalloc failed")
        return Memory(self, bytearray(size))

    def upload(self, array: Any) -> Memory:
        memory = self.allocate(array.nbytes)
        memory.upload(array)
        return memory

    def copy(self, target: Memory, source: Memory) -> None:
        self.log.append("copy")
        target.data[:] = source.data

    def fill(self, target: Memory, byte: int, size: int, offset: int) -> None:
        self.log.append("fill")
        self.filled.append((offset, size))

    def synchronise(self) -> None:
        pass


def cold_buffers(device: Any, rotation: Rotation) -> tuple[SharedBuffers, ColdBuffers]:
    """Copies of ``x``, 0 to 3, and ``w``, which no plan takes."""
    shared = SharedBuffers(device, device, {"x": np.arange(4, dtype=np.uint8), "w": np.ones(2, np.uint8)})
    return shared, ColdBuffers(device, device, shared, rotation)


X_THREE_TIMES = Rotation(3, frozenset({"x"}), 600_000)


def test_only_what_is_taken_is_copied_and_every_copy_holds_the_input() -> None:
    """A buffer that no arm takes stays the one that it is."""
    device: Any = Device()
    _, cold = cold_buffers(device, X_THREE_TIMES)
    assert [bytes(copy["x"].data) for copy in cold.copies] == [bytes(range(4))] * 3  # type: ignore[attr-defined]
    assert len({id(copy["x"]) for copy in cold.copies}) == 3
    assert len({id(copy["w"]) for copy in cold.copies}) == 1


def test_restoring_reaches_every_copy_and_then_empties_the_caches() -> None:
    """What is restored last would be in the caches, so twice their size is written afterwards, every byte once."""
    device: Any = Device()
    _, cold = cold_buffers(device, X_THREE_TIMES)
    for copy in cold.copies:
        copy["x"].data[:] = b"????"  # type: ignore[attr-defined]
    assert cold.find_changed(frozenset({"x", "w"})) == {"x"}
    device.log.clear()
    cold.restore(frozenset({"x"}))
    assert [bytes(copy["x"].data) for copy in cold.copies] == [bytes(range(4))] * 3  # type: ignore[attr-defined]
    assert device.log == ["copy"] * 3 + ["fill"] * 3
    assert device.filled == [(0, 262_144), (262_144, 262_144), (524_288, 75_712)]


def test_caches_are_emptied_where_nothing_is_written() -> None:
    """A kernel that writes nothing is to be cold as well."""
    device: Any = Device()
    _, cold = cold_buffers(device, X_THREE_TIMES)
    device.log.clear()
    cold.restore(frozenset())
    assert set(device.log) == {"fill"}


@pytest.mark.parametrize("room", range(2, 5))
def test_copies_are_given_back_when_one_cannot_be_made(room: int) -> None:
    """And at the end, all but the first."""
    device: Any = Device(room)
    with pytest.raises(DeviceError):
        cold_buffers(device, X_THREE_TIMES)
    assert device.held == 2
    device.room = 5
    shared, cold = cold_buffers(Device(), X_THREE_TIMES)
    cold.close()
    shared.close()
    assert cold.copies == ({},)


def held_with(seed: int | None, names: tuple[str, ...] = tuple("abcdefgh")) -> int:
    """How many buffers a device holds for so many inputs; none once they are closed."""
    device: Any = Device()
    shared = SharedBuffers(device, device, {name: np.ones(4, np.uint8) for name in names}, seed)
    held: int = device.held
    shared.close()
    assert device.held == 0
    return held


def test_each_process_lays_its_buffers_out_differently_and_the_same_every_time() -> None:
    """Padding lies before some buffers; what the allocator does alone stays to be had."""
    assert held_with(None) == 8
    layouts = [tuple(choose_padding(seed, name) for name in "abcdefgh") for seed in range(5)]
    assert layouts == [tuple(choose_padding(seed, name) for name in "abcdefgh") for seed in range(5)]
    assert len(set(layouts)) == 5
    assert all(0 <= steps <= MOST_PADDING_STEPS for layout in layouts for steps in layout)
    assert held_with(3) == 8 + sum(steps > 0 for steps in layouts[3])
