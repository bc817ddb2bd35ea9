"""What to do about each HIP error, in a few words."""

from __future__ import annotations

_ADVICE = {
    "hipErrorInvalidValue": "check the launch's dimensions, sizes and buffers",
    "hipErrorOutOfMemory": "use smaller sizes, or free the device's memory for the guard",
    "hipErrorNotInitialized": "start the worker anew: the HIP library was shut down",
    "hipErrorDeinitialized": "start the worker anew: the HIP library was shut down",
    "hipErrorInvalidConfiguration": "check grid, block and dynamic shared memory against the device's limits",
    "hipErrorInvalidDeviceFunction": "compile the kernel for this device's architecture",
    "hipErrorNoDevice": "check that the driver is loaded and that this user may open the device (/dev/kfd, /dev/dri)",
    "hipErrorInvalidDevice": "choose a device that exists (HIP_VISIBLE_DEVICES)",
    "hipErrorInvalidImage": "compile the kernel again: this is no code object that the runtime can load",
    "hipErrorInvalidContext": "start the worker anew: its context is gone",
    "hipErrorNoBinaryForGpu": "compile the kernel for this device's architecture",
    "hipErrorSharedObjectSymbolNotFound": "check the names that the kernel's source leaves undefined",
    "hipErrorSharedObjectInitFailed": "check the names that the kernel's source leaves undefined",
    "hipErrorInvalidHandle": "start the worker anew: a handle was used after its owner closed it",
    "hipErrorNotFound": 'check the kernel\'s name: extern "C", or its name expression',
    "hipErrorNotReady": "synchronise first",
    "hipErrorIllegalAddress": "check the kernel's indices: it touched memory outside its buffers",
    "hipErrorLaunchOutOfResources": "use fewer threads per workgroup, or less shared memory",
    "hipErrorLaunchTimeOut": "check the kernel's loops: it ran longer than the driver allows",
    "hipErrorAssert": "see which condition does not hold, and why",
    "hipErrorLaunchFailure": "check the kernel's indices and barriers: it failed while running",
    "hipErrorNotSupported": "this runtime does not support the call; choose another with --kernelperf-runtime",
    "hipErrorStreamCaptureUnsupported": "measure this plan in queued mode: it cannot be captured",
    "hipErrorStreamCaptureInvalidated": "measure this plan in queued mode: it cannot be captured",
}


def advice(error_name: str) -> str:
    """What to do about a HIP error, by its name (``hipErrorOutOfMemory``)."""
    return _ADVICE.get(error_name, "see the HIP documentation of this error code")
