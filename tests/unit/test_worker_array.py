"""Arrays in shared memory."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from pytest_kernelperf.errors import KernelperfError, UsageError
from pytest_kernelperf.model import BufferSpec
from pytest_kernelperf.worker.array import ALIGNMENT_BYTES, InputSet, Layout, Region, lay_out, map_arrays


def some_arrays() -> dict[str, np.ndarray]:
    """Arrays of several dtypes, shapes and layouts in memory."""
    return {
        "x": np.arange(7, dtype=np.float32),
        "turned": np.arange(12, dtype=np.int16).reshape(3, 4).T,
        "empty": np.zeros((0, 3), np.float64),
        "scalar": np.array(2.5),
        "half": np.array([[1.5]], np.float16),
    }


def test_arrays_come_back_as_they_were_put_in() -> None:
    """Values, dtypes and shapes survive, whatever the layout in memory was."""
    arrays = some_arrays()
    with InputSet.create(arrays) as inputs:
        assert list(inputs) == list(arrays)
        for name, array in arrays.items():
            assert inputs[name].dtype == array.dtype
            assert inputs[name].shape == array.shape
            np.testing.assert_array_equal(inputs[name], array)


def test_another_mapping_of_the_same_file_sees_the_same_arrays() -> None:
    """What a worker maps is what the parent wrote."""
    with InputSet.create(some_arrays()) as inputs:
        mapped = map_arrays(inputs.layout, inputs.fd)
        for name in inputs:
            np.testing.assert_array_equal(mapped[name], inputs[name])


def test_nobody_can_change_or_shorten_the_arrays() -> None:
    """The memory is sealed and the arrays are read-only: a wild store faults, a truncation is refused."""
    with InputSet.create(some_arrays()) as inputs:
        with pytest.raises(ValueError, match="read-only"):
            inputs["x"][0] = 1
        with pytest.raises(PermissionError):
            os.pwrite(inputs.fd, b"x", 0)
        with pytest.raises(PermissionError):
            os.ftruncate(inputs.fd, 0)


def test_the_digest_tells_values_dtypes_shapes_and_names_apart_and_nothing_else() -> None:
    """Equal inputs have equal digests, so that a worker keeps what it has; any difference shows."""
    digest = InputSet.create({"x": np.zeros(4, np.float32)}).digest
    assert InputSet.create({"x": np.zeros(8, np.float32)[::2]}).digest == digest
    others: list[dict[str, np.ndarray]] = [
        {"x": np.array([0, 0, 0, 1], np.float32)},
        {"x": np.zeros(4, np.int32)},
        {"x": np.zeros((2, 2), np.float32)},
        {"y": np.zeros(4, np.float32)},
    ]
    assert digest not in {InputSet.create(other).digest for other in others}


def test_every_array_is_aligned() -> None:
    """64 bytes suit every vector load that a kernel may make."""
    layout = lay_out({"a": (np.dtype(np.int8), (3,)), "b": (np.dtype(np.int8), (65,)), "c": (np.dtype(np.int8), (1,))})
    assert [region.offset_bytes for region in layout.regions] == [0, 64, 192]
    assert layout.total_bytes % ALIGNMENT_BYTES == 0


@pytest.mark.parametrize("value", [np.array([None, 1]), np.zeros(3, ">f4")], ids=["objects", "foreign byte order"])
def test_arrays_that_no_device_buffer_can_hold_are_refused(value: np.ndarray) -> None:
    """Python objects and foreign byte order are refused by name."""
    with pytest.raises(UsageError, match="input 'x' has dtype"):
        InputSet.create({"x": value})


def test_a_layout_that_reaches_beyond_its_memory_is_refused() -> None:
    """Reading past a mapped file would kill the process, so it never comes to that."""
    region = Region(BufferSpec("x", "<f4", (1000,)), 0, 4000)
    with InputSet.create({"x": np.zeros(16, np.float32)}) as inputs:
        with pytest.raises(KernelperfError, match="holds 64 bytes where 4000"):
            map_arrays(Layout((region,), 4000), inputs.fd)
        with pytest.raises(KernelperfError, match="'x' does not lie within"):
            map_arrays(Layout((region,), 64), inputs.fd)
        negative = Region(BufferSpec("x", "<f4", (4,)), -16, 16)
        with pytest.raises(KernelperfError, match="'x' does not lie within"):
            map_arrays(Layout((negative,), 64), inputs.fd)


def test_arrays_outlive_the_descriptor_and_leave_no_file_behind() -> None:
    """Closing drops the descriptor alone; shared memory has no name."""
    before = set(Path("/dev/shm").iterdir())
    inputs = InputSet.create({"x": np.arange(5)})
    array = inputs["x"]
    inputs.close()
    inputs.close()
    assert array.tolist() == [0, 1, 2, 3, 4]
    assert not {path for path in set(Path("/dev/shm").iterdir()) - before if "kernelperf" in path.name}
