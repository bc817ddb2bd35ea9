"""pytest-kernelperf: guard the speed of GPU kernels the way tests guard their results."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_kernelperf.arithmetic import fmaf
    from pytest_kernelperf.kernel import At, Copy, Fill, Floor, Kernel, Launch, Tolerance, cdiv

__version__ = "0.1.0"

__all__ = ["At", "Copy", "Fill", "Floor", "Kernel", "Launch", "Tolerance", "cdiv", "fmaf"]

# Names are fetched on first use: pytest imports this package wherever the plugin is installed,
# and a project that does not use it must not pay for numpy.
_HOMES = dict.fromkeys(__all__, "pytest_kernelperf.kernel") | {"fmaf": "pytest_kernelperf.arithmetic"}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
