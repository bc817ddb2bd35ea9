"""What a kernel uses of a device, asked of the runtime where the code object itself does not say.

An AMD code object's notes say it all. A cubin and the cpu runtime's code object say little, so the runtime is asked,
which loads the module. The cpu runtime has no registers to count.
"""

from __future__ import annotations

import msgspec

from pytest_kernelperf.errors import DeviceError
from pytest_kernelperf.model import CodeObject
from pytest_kernelperf.runtime.hip import Device, Module

_EVERYWHERE = {"SHARED_SIZE_BYTES": "lds_bytes", "MAX_THREADS_PER_BLOCK": "max_threads"}
_ATTRIBUTES = {
    "cuda": {"NUM_REGS": "registers", "LOCAL_SIZE_BYTES": "scratch_bytes"} | _EVERYWHERE,
    "cpu": _EVERYWHERE,
}


def with_resources(device: Device, code: CodeObject) -> CodeObject:
    """The code object with each kernel's resources, where the runtime knows more of them than the file."""
    if device.chosen.name not in _ATTRIBUTES:
        return code
    symbols = [name for name in code.kernels if name not in code.lowered_names]
    try:
        with device.load(code.data) as module:
            asked = {symbol: _ask(device, module, symbol) for symbol in symbols}
    except DeviceError:
        return code  # what is wrong with it is said where it is launched
    kernels = {
        name: msgspec.structs.replace(facts, resources=facts.resources | asked[code.lowered_names.get(name, name)])
        for name, facts in code.kernels.items()
    }
    return msgspec.structs.replace(code, kernels=kernels)


def _ask(device: Device, module: Module, symbol: str) -> dict[str, int]:
    function = module.function(symbol)
    attributes = device.selected.bindings.hip.hipFunction_attribute
    found = {}
    for theirs, ours in _ATTRIBUTES[device.chosen.name].items():
        member = getattr(attributes, f"HIP_FUNC_ATTRIBUTE_{theirs}")
        (value,) = device.call("hipFuncGetAttribute", member, function.handle)
        found[ours] = int(value)
    return found
