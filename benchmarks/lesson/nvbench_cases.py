"""The lesson's cases by nvbench's Python package (``cuda-bench``), launched through ``cuda-bindings``.

    python nvbench_cases.py CASES_JSON RESULT_JSON [nvbench's options]

nvbench writes its results to RESULT_JSON; axis ``case`` is the place in CASES_JSON. Buffers are zeroed.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import sys
from pathlib import Path
from typing import Any


def main(cases_file: str, result_file: str, *options: str) -> int:
    """Let nvbench time every case of the file."""
    bench: Any = importlib.import_module("cuda.bench")
    driver: Any = importlib.import_module("cuda.bindings.driver")
    described = json.loads(Path(cases_file).read_text())
    image = Path(described["code"]).read_bytes()

    def must(result: tuple[Any, ...]) -> Any:
        if int(result[0]) != 0:
            raise SystemExit(f"a driver call failed: {result[0]}")
        return result[1] if len(result) == 2 else result[1:]

    must(driver.cuInit(0))
    must(driver.cuCtxSetCurrent(must(driver.cuDevicePrimaryCtxRetain(must(driver.cuDeviceGet(0))))))
    module = must(driver.cuModuleLoadData(image))

    def lesson(state: Any) -> None:
        case = described["cases"][state.get_int64("case")]
        buffers = {}
        for name, size in case["buffers"].items():
            buffers[name] = must(driver.cuMemAlloc(size))
            must(driver.cuMemsetD8(buffers[name], 0, size))
        steps = []
        for step in case["steps"]:
            function = must(driver.cuModuleGetFunction(module, step["kernel"].encode()))
            values = tuple(value if isinstance(value, int) else int(buffers[value]) for value in step["arguments"])
            types = tuple(ctypes.c_int if isinstance(value, int) else ctypes.c_void_p for value in step["arguments"])
            steps.append((function, (*step["grid"], *step["block"]), (values, types)))

        def launch(to: Any) -> None:
            stream = driver.CUstream(to.get_stream().addressof())
            for function, shape, arguments in steps:
                must(driver.cuLaunchKernel(function, *shape, 0, stream, arguments, 0))

        state.exec(launch, batched=True)
        for memory in buffers.values():
            must(driver.cuMemFree(memory))

    bench.register(lesson).add_int64_axis("case", range(len(described["cases"])))
    bench.run_all_benchmarks([sys.argv[0], "--devices", "0", "--json", result_file, *options])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
