"""How fast the cpu runtime runs the lesson's kernels, beside the same loops written by hand in C++.

Both sides work on the same buffers and are compiled by the same compiler with the same flags. Ours is a captured
graph, replayed; by hand is the quicker of a plain loop and the same loop on as many threads as the runtime has
(``cpu_runtime.cpp``). The sides take turns in random order; times are medians.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from tabulate import tabulate

from pytest_kernelperf.native import native_path

COLUMNS, STREAMS, THREADS = 2560, 4, 256
TOKENS = (1, 7, 64, 512)
VARIANTS = ("separate", "fused_one_block_per_token", "fused_column_tiles")
SOURCE = Path(__file__).parent.parent / "kernels" / "moe_add_inject" / "moe_add_inject.hip"
SAMPLE_US = 10_000.0
WARM_UP = 10
DEVICE_TO_DEVICE, MULTIPROCESSORS = 3, 63


class Hip:
    """The HIP calls this benchmark needs, straight from the cpu runtime's libraries."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(native_path("hip_cpu/lib/libamdhip64.so")))
        self.compiler = ctypes.CDLL(str(native_path("hip_cpu/lib/libhiprtc.so")))
        for name in ("kernelperf_cpu_compiler", "kernelperf_cpu_compiler_path", "kernelperf_cpu_flags"):
            getattr(self.compiler, name).restype = ctypes.c_char_p

    def __call__(self, name: str, *arguments: object) -> None:
        """Call a hip or hiprtc function; anything but success ends the benchmark."""
        library = self.compiler if name.startswith("hiprtc") else self.library
        code = getattr(library, name)(*arguments)
        if code != 0:
            raise SystemExit(f"{name} returned error {code}")

    def text(self, name: str) -> str:
        """What a function of ours without arguments says."""
        return str(getattr(self.compiler, name)().decode())

    def compile(self, source: Path) -> ctypes.c_void_p:
        """The loaded module of a source file."""
        program, size, module = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p()
        self("hiprtcCreateProgram", ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None)
        self("hiprtcCompileProgram", program, 0, None)
        self("hiprtcGetCodeSize", program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        self("hiprtcGetCode", program, code)
        self("hipModuleLoadData", ctypes.byref(module), code)
        return module

    def cores(self) -> int:
        """Physical cores that the runtime uses."""
        value = ctypes.c_int()
        self("hipDeviceGetAttribute", ctypes.byref(value), MULTIPROCESSORS, 0)
        return value.value


class Case:
    """One variant at one size: buffers, the captured graph, and both ways to run it."""

    def __init__(self, hip: Hip, module: ctypes.c_void_p, hand: ctypes.CDLL, variant: str, tokens: int) -> None:
        self.hip, self.hand, self.variant, self.tokens = hip, hand, variant, tokens
        self.stream = ctypes.c_void_p()
        hip("hipStreamCreateWithFlags", ctypes.byref(self.stream), 1)
        sizes = {"moe": COLUMNS, "shared": COLUMNS, "weights": STREAMS, "x": STREAMS * COLUMNS, "y": COLUMNS}
        self.sizes = {name: tokens * size for name, size in sizes.items()}
        generator = np.random.default_rng(1)
        self.buffers: dict[str, ctypes.c_void_p] = {}
        for name, size in self.sizes.items():
            buffer = ctypes.c_void_p()
            hip("hipMalloc", ctypes.byref(buffer), ctypes.c_size_t(size * 4))
            # Small weights and zero-mean values: thousands of rounds must not overflow.
            values = (generator.random(size, dtype=np.float32) - np.float32(0.5)) * np.float32(1e-3)
            hip("hipMemcpy", buffer, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(size * 4), 1)
            self.buffers[name] = buffer
        self.repeats = 200 if tokens < 64 else 20
        self.graph = self._capture(module)

    def _capture(self, module: ctypes.c_void_p) -> ctypes.c_void_p:
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self.hip("hipStreamBeginCapture", self.stream, 0)
        for _ in range(self.repeats):
            for name, grid, arguments in self._launches():
                self._launch(module, name, grid, arguments)
        self.hip("hipStreamEndCapture", self.stream, ctypes.byref(graph))
        self.hip("hipGraphInstantiate", ctypes.byref(executable), graph, None, None, ctypes.c_size_t(0))
        self.hip("hipGraphDestroy", graph)
        return executable

    def _launches(self) -> list[tuple[str, tuple[int, int], list[object]]]:
        b, tokens = self.buffers, self.tokens
        fused: list[object] = [b["moe"], b["shared"], b["weights"], b["x"]]
        if self.variant == "separate":
            count = ctypes.c_int(tokens)
            return [
                ("add_kernel", (tokens * COLUMNS // THREADS, 1), [count, b["moe"], b["shared"], b["y"]]),
                ("inject_kernel", (tokens * STREAMS * COLUMNS // THREADS, 1), [count, b["y"], b["weights"], b["x"]]),
            ]
        grid = (tokens, 1) if self.variant == "fused_one_block_per_token" else (COLUMNS // THREADS, tokens)
        return [(self.variant, grid, fused)]

    def _launch(self, module: ctypes.c_void_p, name: str, grid: tuple[int, int], arguments: list[object]) -> None:
        function = ctypes.c_void_p()
        self.hip("hipModuleGetFunction", ctypes.byref(function), module, name.encode())
        pointers = (ctypes.c_void_p * len(arguments))(
            *(ctypes.addressof(argument) for argument in arguments)  # type: ignore[arg-type]
        )
        self.hip(
            "hipModuleLaunchKernel", function, grid[0], grid[1], 1, THREADS, 1, 1, 0, self.stream, pointers, None
        )  # fmt: skip

    def ours(self, rounds: int) -> float:
        """Microseconds per round on the cpu runtime."""
        launches = max(1, rounds // self.repeats)
        begin = time.perf_counter_ns()
        for _ in range(launches):
            self.hip("hipGraphLaunch", self.graph, self.stream)
        self.hip("hipStreamSynchronize", self.stream)
        return (time.perf_counter_ns() - begin) / 1e3 / (launches * self.repeats)

    def by_hand(self, threads: int, rounds: int) -> float:
        """Microseconds per round of the loop written by hand."""
        b = self.buffers
        arguments = (b["moe"], b["shared"], b["weights"], b["x"], b["y"], threads, ctypes.c_long(rounds))
        begin = time.perf_counter_ns()
        self.hand.by_hand(VARIANTS.index(self.variant), self.tokens, *arguments)
        return (time.perf_counter_ns() - begin) / 1e3 / rounds

    def close(self) -> None:
        """Give the buffers back."""
        self.hip("hipStreamSynchronize", self.stream)
        self.hip("hipGraphExecDestroy", self.graph)
        self.hip("hipStreamDestroy", self.stream)
        for buffer in self.buffers.values():
            self.hip("hipFree", buffer)


def measure(case: Case, cores: int, blocks: int, order: random.Random) -> dict[str, float]:
    """Median microseconds per round of each side."""
    sides: dict[str, Callable[[int], float]] = {
        "ours": case.ours,
        "plain loop": lambda rounds: case.by_hand(1, rounds),
        "threads": lambda rounds: case.by_hand(cores, rounds),
    }
    for _ in range(WARM_UP):  # the first launches learn whether sharing pays
        case.ours(case.repeats)
    rounds = {}
    for name, run in sides.items():
        estimate = min(run(case.repeats) for _ in range(5))
        rounds[name] = max(case.repeats, int(SAMPLE_US / max(estimate, 0.01)) // case.repeats * case.repeats)
    samples: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(blocks):
        for name in order.sample(sorted(sides), len(sides)):
            samples[name].append(sides[name](rounds[name]))
    return {name: statistics.median(values) for name, values in samples.items()}


def build_by_hand(hip: Hip, folder: str) -> ctypes.CDLL:
    """The hand-written loops, compiled as kernels are."""
    library = Path(folder) / "by_hand.so"
    source = Path(__file__).with_suffix(".cpp")
    flags = hip.text("kernelperf_cpu_flags").split()
    compiler = hip.text("kernelperf_cpu_compiler_path")
    subprocess.run([compiler, "-std=gnu++17", *flags, "-shared", "-pthread", source, "-o", library], check=True)
    return ctypes.CDLL(str(library))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, write JSON if asked. Returns 1 if a ratio is above 1.5."""
    parser = argparse.ArgumentParser(prog="cpu-runtime", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    parser.add_argument("--blocks", type=int, default=31, help="samples of each side and case (default 31)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order of the sides (default 1)")
    options = parser.parse_args(argv)
    hip = Hip()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        hand, module, cores = build_by_hand(hip, folder), hip.compile(SOURCE), hip.cores()
        order = random.Random(options.seed)
        for tokens in TOKENS:
            for variant in VARIANTS:
                case = Case(hip, module, hand, variant, tokens)
                times = measure(case, cores, options.blocks, order)
                case.close()
                best = min(times["plain loop"], times["threads"])
                rows.append({"tokens": tokens, "variant": variant, **times, "ratio": times["ours"] / best})
    compiler = hip.text("kernelperf_cpu_compiler")
    headers = ["tokens", "variant", "ours us", "plain loop us", f"{cores} threads us", "ours / best by hand"]
    print(tabulate([list(row.values()) for row in rows], headers=headers, floatfmt=".2f"))
    print(f"\n{compiler}, {cores} physical cores; medians of {options.blocks} samples, sides in random order")
    if options.json:
        record = {"version": 1, "compiler": compiler, "cores": cores, "blocks": options.blocks, "rows": rows}
        options.json.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    return int(any(float(str(row["ratio"])) > 1.5 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
