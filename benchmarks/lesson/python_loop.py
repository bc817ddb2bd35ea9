"""The lesson's cases by a plain launch loop in Python over hip-python: what most benchmark scripts do.

    python python_loop.py CASES_JSON RUNTIME

Prints JSON: the wall clock per round of each case in us (median of the samples), in the file's order.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_kernelperf.runtime.hip import Device, Module
from pytest_kernelperf.runtime.library import choose

WARM_UP_ROUNDS, SAMPLES = 20, 7


def main(cases_file: str, runtime: str) -> int:
    """Time every case of the file."""
    described = json.loads(Path(cases_file).read_text())
    with Device(choose(runtime)) as device:
        module = device.load(Path(described["code"]).read_bytes())
        print(json.dumps([time_case(device, module, case, described["rounds"]) for case in described["cases"]]))
    return 0


def time_case(device: Device, module: Module, case: dict[str, Any], rounds: int) -> float:
    """Microseconds per round, median of the samples."""
    buffers = {name: device.allocate(size) for name, size in case["buffers"].items()}
    stream, hip = device.stream(), device.selected.bindings.hip
    for buffer in buffers.values():
        stream.fill(buffer, 0)
    launches: list[Callable[[], object]] = []
    for step in case["steps"]:
        function = ctypes.c_void_p(module.function(step["kernel"]).handle)
        arguments = tuple(
            ctypes.c_int(value) if isinstance(value, int) else ctypes.c_void_p(buffers[value].address)
            for value in step["arguments"]
        )
        shape = (*step["grid"], *step["block"])

        def launch(function: object = function, shape: Any = shape, arguments: Any = arguments) -> object:
            return hip.hipModuleLaunchKernel(function, *shape, 0, stream.handle, None, arguments)

        launches.append(launch)

    def run(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            for launch in launches:
                launch()
        stream.synchronise()
        return (time.perf_counter_ns() - begin) / 1000 / count

    run(WARM_UP_ROUNDS)
    result = statistics.median(run(rounds) for _ in range(SAMPLES))
    for buffer in buffers.values():
        buffer.close()
    return result


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
