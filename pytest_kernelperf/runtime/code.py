"""A bundle's code object, whichever way it is made: hiprtc, a device-only compile, or a file that is there already.

The cpu runtime cannot run code for a GPU. What can be said of it is said all the same: its kernels, their arguments
and registers, from a code object for the architecture that plans are judged for, which ``cannot_run`` marks.
"""

from __future__ import annotations

import posixpath

import msgspec

from pytest_kernelperf.code_object.bundle import bundle_within, choose, is_bundle, read_bundle
from pytest_kernelperf.code_object.read import architecture_of
from pytest_kernelperf.code_object.target import best_target, runs_on
from pytest_kernelperf.errors import CodeObjectError, CompileError, RuntimeUnavailable
from pytest_kernelperf.model import CodeObject, DeviceBuild, ReadyObject, RuntimeName, SourceBundle
from pytest_kernelperf.runtime.compile import compile_bundle, describe_code
from pytest_kernelperf.runtime.device_build import build_device, can_compile, launches_kernels
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.resource import with_resources
from pytest_kernelperf.runtime.toolchain import Toolchain, find_toolchains

NO_COMMANDS = (
    "no compile_commands.json names the file, so where its headers lie is not known: configure the project with "
    "CMAKE_EXPORT_COMPILE_COMMANDS=ON, or state options=['-I…']"
)

# What code is checked for where neither the project nor its compile commands name an AMD GPU.
USUAL_TARGET = "gfx1151"


def make_code(
    device: Device, bundle: SourceBundle, kernels: tuple[str, ...] = (), data: bytes = b"", target: str = ""
) -> CodeObject:
    """Make or take a bundle's code object. ``data``: a ready object's bytes; ``target``: the judged architecture.

    Raises:
        CompileError: it does not compile, is for another device, or lacks one of ``kernels``.
        RuntimeUnavailable: no compiler for it is here.
    """
    build = bundle.build
    if isinstance(build, DeviceBuild):
        return _device_code(device, bundle, build, kernels, target)
    if isinstance(build, ReadyObject):
        return _ready_code(device, bundle, kernels, data, target)
    return with_resources(device, compile_bundle(device, bundle, kernels=kernels))


def _device_code(
    device: Device, bundle: SourceBundle, build: DeviceBuild, kernels: tuple[str, ...], target: str
) -> CodeObject:
    runtime = device.chosen.name
    if runtime == "cpu":
        return _device_code_on_cpu(device, bundle, build, kernels, target)
    toolchain = _toolchain_for(runtime, build, device.architecture)
    data, log = build_device(toolchain, bundle, device.architecture)
    return with_resources(device, describe_code(bundle, data, log, kernels))


def _device_code_on_cpu(
    device: Device, bundle: SourceBundle, build: DeviceBuild, kernels: tuple[str, ...], target: str
) -> CodeObject:
    """Run it if the cpu runtime can compile it; else compile it for the target, to be checked and not run."""
    if launches_kernels(bundle):
        why = "it launches kernels with <<<>>>"
    else:
        try:
            return compile_bundle(device, _plain(bundle), kernels=kernels)
        except CompileError as error:
            why = str(error)
    needs = f"{bundle.main} needs a GPU, since the cpu runtime cannot compile it ({why})"
    architecture = next((name for name in (target, build.architecture) if name.startswith("gfx")), USUAL_TARGET)
    unchecked = f"{needs}; its launches were counted, its arguments not checked"
    try:
        toolchain = _toolchain_for("cpu", build, architecture)
    except RuntimeUnavailable as error:
        return _unread(f"{unchecked}: {error}")
    by = f"{toolchain.program.rpartition('/')[2]} for {architecture}"
    try:
        data, log = build_device(toolchain, bundle, architecture)
    except CompileError as error:
        if not toolchain.bare:
            raise
        unknown = f"; {NO_COMMANDS}" if not build.compiler and "file not found" in str(error) else ""
        return _unread(f"{unchecked}, since {by} alone: {error}{unknown}")
    said = f"{needs}; its launches were counted and checked against its code by {by}"
    return _unrun(describe_code(bundle, data, log, kernels), said)


def _toolchain_for(runtime: RuntimeName, build: DeviceBuild, architecture: str) -> Toolchain:
    """The first compiler that can make code for the architecture at all; the first of all where none can, to say why.

    A clang that compile commands name may be without ROCm here, and a ROCm of years ago does not know today's GPUs.
    """
    found = find_toolchains(runtime, build.compiler)
    return next((toolchain for toolchain in found if can_compile(toolchain, architecture)), found[0])


def _plain(bundle: SourceBundle) -> SourceBundle:
    """The bundle with what every compiler takes: a GPU compiler's own options and headers are not the cpu runtime's.

    Headers that are included first become the source's own first lines.
    """
    kept = tuple(option for option in bundle.options if option.startswith(("-D", "-U", "-I", "-std=")))
    first = [option[len("-include") :] for option in bundle.options if option.startswith("-include")]
    if not first:
        return msgspec.structs.replace(bundle, options=kept)
    folder = posixpath.dirname(bundle.main) or "."
    lines = "".join(
        f'#include "{posixpath.relpath(path, folder)}"\n' if path in bundle.files else f"#include <{path}>\n"
        for path in first
        if not path.startswith("/")
    )
    files = bundle.files | {bundle.main: f"{lines}#line 1\n{bundle.files[bundle.main]}"}
    return msgspec.structs.replace(bundle, options=kept, files=files)


def _ready_code(device: Device, bundle: SourceBundle, kernels: tuple[str, ...], data: bytes, target: str) -> CodeObject:
    """Take a code object as it is: of an offload bundle, the part for this device."""
    runtime = device.chosen.name
    own = device.target_id if runtime == "rocm" else ""
    try:
        data = _part_for(data, own, target)
        made_for = architecture_of(data)
        code = describe_code(bundle, data, "", kernels)
    except CodeObjectError as error:
        raise CompileError(f"{bundle.main}: {error}") from error
    if made_for == runtime or (runtime == "rocm" and (not made_for or runs_on(made_for, own))):
        return with_resources(device, code)
    if runtime == "cpu":
        said = f"{bundle.main} is code for {_named(made_for)}, which the cpu runtime cannot run"
        return _unrun(code, f"{said}; its launches were counted and checked against it")
    raise CompileError(
        f"{bundle.main} is code for {_named(made_for)}, and this device is {own or device.architecture}: "
        "build it for that"
    )


def _part_for(data: bytes, own: str, target: str) -> bytes:
    """Of an offload bundle the part for this device; elsewhere, to be checked and not run, the judged one's or any."""
    data = bundle_within(data)
    if not is_bundle(data):
        return data
    parts = read_bundle(data)
    if own or target.startswith("gfx"):
        return choose(parts, own or target)
    return choose(parts, USUAL_TARGET if best_target(parts, USUAL_TARGET) else next(iter(sorted(parts)), ""))


def _named(architecture: str) -> str:
    return {"cuda": "an NVIDIA GPU", "cpu": "the cpu runtime", "": "an AMD GPU"}.get(architecture, architecture)


def _unread(cannot_run: str) -> CodeObject:
    return CodeObject("", b"", {}, cannot_run=cannot_run)


def _unrun(code: CodeObject, cannot_run: str) -> CodeObject:
    return CodeObject(code.digest, b"", code.kernels, code.log, code.lowered_names, cannot_run)
