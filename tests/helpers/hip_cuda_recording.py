"""Recordings of HIP on CUDA through the stand-in CUPTI: the interface for a child process, and two kernels' records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hip_cuda_stand_in import ask

TRACE = """
class Dispatch(ctypes.Structure):
    _fields_ = [(f, ctypes.c_uint64) for f in
        "start end kernel stream queue correlation thread graph node".split()] + [
        ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3)] + [
        (f, ctypes.c_uint32) for f in "static dynamic registers scratch".split()]
hip.kernelperfTraceProblem.restype = hip.kernelperfTraceKernelName.restype = c_char_p
hip.kernelperfTraceTake.restype = c_size_t
hip.kernelperfTraceLost.restype = ctypes.c_uint64
hip.kernelperfTraceStart.argtypes = [c_size_t]
hip.kernelperfTraceTake.argtypes = [c_void_p, c_size_t]
hip.kernelperfTraceKernelName.argtypes = [ctypes.c_uint64]
def start(capacity=0): return hip.kernelperfTraceStart(capacity), hip.kernelperfTraceProblem().decode()
def stop(): return hip.kernelperfTraceStop(), hip.kernelperfTraceProblem().decode()
def lost(): return hip.kernelperfTraceLost()
def kernel(number):
    found = hip.kernelperfTraceKernelName(number)
    return found.decode() if found is not None else None
def take(capacity=100):
    out = (Dispatch * capacity)()
    return [out[i] for i in range(hip.kernelperfTraceTake(out, capacity))]
def told(d):
    return (kernel(d.kernel), d.start, d.end, d.stream, d.queue, d.correlation, d.graph, d.node, *d.grid, *d.block,
        d.static, d.dynamic, d.registers, d.scratch)
def record():
    assert start() == (0, ""), start()
    return stop()
"""

# kind, name, start, end, stream, channel, correlation, graph, node, grid, block, static, dynamic, registers, local
ADD = "10,_Z3addPKfPfi,1000,2500,7,3,41,0,0,40,1,1,256,1,1,128,4096,32,16"
NODE = f"10,inject,2600,2900,13,5,42,6,{2**33 + 1},10,2,3,64,4,1,0,0,65535,0"
ADD_TOLD = ("_Z3addPKfPfi", 1000, 2500, 7, 3, 41, 0, 0, 40, 1, 1, 256, 1, 1, 128, 4096, 32, 16)
NODE_TOLD = ("inject", 2600, 2900, 13, 5, 42, 6, 2**33 + 1, 10, 2, 3, 64, 4, 1, 0, 0, 65535, 0)


def traced(program: str, driver: Path, cupti: Path, **environment: str) -> Any:
    """The value that a child prints which records through this CUPTI."""
    return ask(TRACE + program, driver, KERNELPERF_CUPTI=str(cupti), **environment)
