"""A HIP file of many kernels, compiled once on the cpu runtime, for tests that give its kernels numpy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hip_cpu_calls import Array, HipCpu

KINDS: dict[type, Any] = {int: ctypes.c_int, float: ctypes.c_float, bool: ctypes.c_bool}


class HipSource:
    """The kernels of tests/device/hip/<name>."""

    def __init__(self, name: str, expressions: Sequence[str] = ()) -> None:
        self.hip = HipCpu()
        self.hip.problem()
        source = (Path(__file__).parent.parent / "device" / "hip" / name).read_text(encoding="utf-8")
        self.compiled = self.hip.compile(source, name=name, expressions=expressions)
        self.module = self.hip.load(self.compiled)

    def run(
        self, kernel: str, grid: Sequence[int], block: Sequence[int], *arguments: Any, shared: int = 0
    ) -> list[Array]:
        """Launch by C++ name; arrays are buffers, and come back in order; Python numbers are int, float or bool."""
        arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
        buffers = [self.hip.upload(array) for array in arrays]
        given = iter(buffers)
        passed = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                passed.append(next(given))
            else:
                passed.append(KINDS[type(argument)](argument) if type(argument) in KINDS else argument)
        function = self.hip.function(self.module, self.compiled.lowered.get(kernel, kernel))
        self.hip.launch(function, grid, block, *passed, shared=shared)
        assert self.hip.problem() == (0, "")
        found = [self.hip.download(buffer, array) for buffer, array in zip(buffers, arrays, strict=True)]
        for buffer in buffers:
            self.hip("hipFree", buffer)
        return found
