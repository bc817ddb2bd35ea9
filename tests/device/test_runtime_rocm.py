"""AMD's own library, where Debian's is installed: selected, asked for a device, and used to compile.

It is an old one (HIP 5.2) and there is no AMD GPU in CI, so nothing is launched.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5")

PROGRAM = """
import sys
from pathlib import Path
from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.errors import CompileError, RuntimeUnavailable
from pytest_kernelperf.model import SourceBundle
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.gate import gate_bundle
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import Chosen, select

library = Path(sys.argv[1])
device = Device(Chosen("rocm", library, library))
try:
    with device:
        print("a device is here")
except RuntimeUnavailable as error:
    print(error)
device._selected = select(device.chosen)
source = '''
#include "by.h"
extern "C" __global__ void scale(float* p, int n) { if (threadIdx.x < n) p[threadIdx.x] *= BY; }
template <class T> __global__ void twice(T* p) { p[threadIdx.x] += p[threadIdx.x]; }
'''
bundle = SourceBundle("k.hip", {"k.hip": source, "by.h": "#define BY 2.0f\\n"}, (), ("twice<float>",))
code = compile_bundle(device, bundle, "gfx90a", ("scale", "twice<float>"))
print(sorted(code.kernels), code.kernels["scale"].resources["wave_size"], len(code.kernels["scale"].parameters))
print(sorted(compile_bundle(device, gate_bundle(), "gfx90a").kernels))
try:
    compile_bundle(device, SourceBundle("k.hip", {"k.hip": "int x = y;"}), "gfx90a")
except CompileError as error:
    print(error)
"""


@pytest.mark.skipif(
    not LIBRARY.exists(),
    reason="no libamdhip64.so.5 here: apt-get install libamdhip64-5 libhiprtc-builtins5 libamd-comgr2",
)
def test_amds_library_answers_and_compiles_kernels_and_the_gate() -> None:
    """Selection is proved, no device is said to be there, and its code objects are read: names, sizes, errors."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(LIBRARY)], capture_output=True, text=True, timeout=300, check=False
    )
    lines = done.stdout.splitlines()

    assert done.returncode == 0, done.stderr
    assert "has no device 0 (hipErrorNoDevice" in lines[0] or lines[0] == "a device is here"
    assert lines[1] == "['_Z5twiceIfEvPT_', 'scale', 'twice<float>'] 64 2"
    assert lines[2] == "['kernelperf_gate']"
    assert lines[3] == "k.hip does not compile: k.hip:1: use of undeclared identifier 'y'"
