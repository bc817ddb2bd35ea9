"""Every kernel of the repository, compiled for AMD GPUs by real AMD compilers; nothing is launched.

AMD's own hiprtc, as Debian has it (HIP 5.2), compiles for gfx1030 through the rocm runtime's path; clang-19 with the
small device header compiles for gfx1151, which that hiprtc does not know.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5")
BUILTINS = Path("/usr/lib/x86_64-linux-gnu/libhiprtc-builtins.so.5")
KERNELS = Path(__file__).parents[2] / "kernels"
TESTS = sorted(KERNELS.glob("*/test_*.py"))

# In a child: the old compiler aborts its process where it does not know what to do.
PROGRAM = """
import importlib.util, json, sys
from pathlib import Path
import msgspec
from pytest_kernelperf.kernel import Kernel
from pytest_kernelperf.model import CaseId, DeviceFacts
from pytest_kernelperf.plan import buffer_specs, build_plan, check_signature
from pytest_kernelperf.source import collect_bundle

compiler, architecture, module_file = sys.argv[1:]
sys.path[:0] = [str(Path(module_file).parent), str(Path(module_file).parent.parent)]
spec = importlib.util.spec_from_file_location("guarded", module_file)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
(kernel,) = [value for value in vars(module).values() if isinstance(value, Kernel)]

def compile_it(bundle):
    if compiler == "clang":
        from pytest_kernelperf.runtime.compile import describe_code
        from pytest_kernelperf.runtime.device_build import build_device
        from pytest_kernelperf.runtime.toolchain import find_toolchain
        data, log = build_device(find_toolchain("cpu"), bundle, architecture)
        return describe_code(bundle, data, log, ())
    from pytest_kernelperf.runtime.compile import compile_bundle
    from pytest_kernelperf.runtime.hip import Device
    from pytest_kernelperf.runtime.library import Chosen, select
    device = Device(Chosen("rocm", Path(compiler), Path(compiler)))
    device._selected = select(device.chosen)
    return compile_bundle(device, bundle, architecture)

facts = DeviceFacts("rocm", "", "test", "test", architecture, 40, 20, 32, 1024, 65536, 2**30)
tokens = min(kernel.tokens)
inputs = kernel.compute_inputs(tokens)
found = {}
for doing in [*kernel.variants.values(), *kernel.mutations.values()]:
    code = compile_it(collect_bundle(kernel, getattr(doing, "options", ())))
    case = CaseId(kernel.name, doing.name, tokens)
    plan = build_plan(case, doing.function, facts, inputs)
    check_signature(case, plan, buffer_specs(inputs), code)
    found |= {step.kernel: code.kernels[step.kernel].resources for step in plan.launches}
print(json.dumps(found))
"""


def compiled(compiler: str, architecture: str, module: Path) -> dict[str, dict[str, int]]:
    """Compile all that a test module's variants and mutations launch; each kernel's resources."""
    command = [sys.executable, "-c", PROGRAM, compiler, architecture, str(module)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    resources: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return resources


def check(resources: dict[str, dict[str, int]]) -> None:
    """Registers are counted, waves have 32 lanes, and nothing spills or needs scratch memory."""
    assert resources
    for name, used in resources.items():
        assert used["vgprs"] > 0 < used["sgprs"], name
        assert (used["wave_size"], used["spills"], used["scratch_bytes"]) == (32, 0, 0), name


def name_of(module: Path) -> str:
    return module.parent.name


def test_there_are_kernels_to_compile() -> None:
    """The tests below would pass on an empty folder."""
    assert "moe_add_inject" in [name_of(module) for module in TESTS]


@pytest.mark.parametrize("module", TESTS, ids=name_of)
def test_amds_hiprtc_compiles_every_kernel(module: Path) -> None:
    """For gfx1030, through the path that the rocm runtime takes; arguments are checked and registers counted."""
    for library, package in ((LIBRARY, "libamdhip64-5"), (BUILTINS, "libhiprtc-builtins5")):
        if not library.exists():
            pytest.skip(f"no {library.name} here: apt-get install {package}")
    check(compiled(str(LIBRARY), "gfx1030", module))


@pytest.mark.parametrize("module", TESTS, ids=name_of)
def test_clang_compiles_every_kernel(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For gfx1151, the target, without ROCm."""
    for program, package in (("clang++-19", "clang-19"), ("ld.lld-19", "lld-19")):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here: apt-get install {package}")
    monkeypatch.delenv("HIPCXX", raising=False)
    monkeypatch.setenv("ROCM_PATH", "/nonexistent")
    resources = compiled("clang", "gfx1151", module)
    check(resources)
    assert all(used["wgp_mode"] == 1 for used in resources.values())
