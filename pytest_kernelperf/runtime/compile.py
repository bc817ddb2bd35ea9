"""Source bundle to code object through hiprtc: headers, options, name expressions, and the compiler's words."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.errors import CompileError
from pytest_kernelperf.kernel_name import explain_missing, find_kernel
from pytest_kernelperf.model import CodeObject, SourceBundle, digest_of_bytes
from pytest_kernelperf.runtime.built_in import built_in_headers, header_folder
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.name import written_names

_INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">\n]+)[">]', re.MULTILINE)
# clang and gcc write ``file:7:9: error: …``, NVRTC ``file(7): error: …``.
_ERROR = re.compile(
    r"^(?P<file>[^\n:(]+)(?::|\()(?P<line>\d+)(?::(?:\d+:)?|\):)\s*(?:fatal |catastrophic )?error:\s*(?P<message>.+)$",
    re.MULTILINE,
)
_NONE: Mapping[str, str] = MappingProxyType({})
_ANY_ERROR = re.compile(r"^.*\berror\b.*$", re.MULTILINE | re.IGNORECASE)


def compile_bundle(
    device: Device, bundle: SourceBundle, architecture: str = "", kernels: tuple[str, ...] = ()
) -> CodeObject:
    """Compile a bundle for a device; nothing but the bundle's files and system headers is seen.

    ``architecture`` is hiprtc's target (``gfx1151``, ``sm_90``; by default the device's). ``kernels`` are names
    that must be in the result, as plans write them: ``extern "C"`` or C++ names, or name expressions.

    Raises:
        CompileError: the compiler refuses it, or a kernel is missing; one sentence, and ``log``.
    """
    headers = include_names(bundle)
    if device.chosen.name == "rocm":
        headers = built_in_headers(device.chosen.hiprtc) | headers
    elif device.chosen.name == "cpu":
        # It lays the files out by their paths, where "../" finds its way by itself.
        headers = {name: text for name, text in headers.items() if ".." not in name.split("/")}
    with _Program(device, bundle, headers) as program:
        for expression in bundle.name_expressions:
            program.must("hiprtcAddNameExpression", expression.encode())
        log = program.compile(compile_options(device, bundle, architecture))
        lowered = {name: program.lowered_name(name) for name in bundle.name_expressions}
        data = program.code()
    return describe_code(bundle, data, log, kernels, lowered)


def describe_code(
    bundle: SourceBundle, data: bytes, log: str, kernels: tuple[str, ...], lowered: Mapping[str, str] = _NONE
) -> CodeObject:
    """What a code object's bytes say of its kernels, by their symbols and by the names that people write.

    ``lowered``: symbols of the bundle's name expressions, where the compiler told them.

    Raises:
        CompileError: one of ``kernels`` is not in it.
        CodeObjectError: it cannot be read.
    """
    facts = dict(read_kernels(data))
    names = written_names(facts) | dict(lowered)
    facts |= {name: facts[symbol] for name, symbol in names.items() if symbol in facts}
    for name in kernels:
        if find_kernel(facts, name) is None:
            raise CompileError(
                f"{explain_missing(facts, name)}; a template that nobody launches needs its name expression", log
            )
    return CodeObject(digest_of_bytes(data), data, facts, log, names)


def include_names(bundle: SourceBundle) -> dict[str, str]:
    """Every name under which a file of the bundle is included, with its text.

    hiprtc's headers are looked up by the name that the source writes, while a bundle's names are relative to the
    main file's folder: ``sub/a.h`` that includes its neighbour ``"b.h"`` needs ``sub/b.h`` under both names, and
    relative ``-I`` folders exist in the bundle alone.
    """
    names = {path: text for path, text in bundle.files.items() if path != bundle.main}
    folders = [option[2:].strip() for option in _joined(bundle.options) if option.startswith("-I")]
    for path, text in bundle.files.items():
        for written in _INCLUDE.findall(text):
            for folder in (posixpath.dirname(path), *folders):
                target = posixpath.normpath(posixpath.join(folder, written))
                if target in bundle.files and target != bundle.main:
                    names.setdefault(written, bundle.files[target])
                    break
    return names


def first_error(log: str, main: str = "") -> str:
    """``file:line: message`` of the log's first error, or its first line that says error, or its last line.

    ``main``: what to call the file that AMD's hiprtc calls ``CompileSource`` whatever its name.
    """
    match = _ERROR.search(log)
    if match is not None:
        file = posixpath.basename(match["file"])
        if main and file.startswith("CompileSource"):
            file = main
        return f"{file}:{match['line']}: {match['message'].strip()}"
    loose = _ANY_ERROR.search(log)
    if loose is not None:
        return loose.group(0).strip()
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return lines[-1] if lines else "the compiler says nothing"


def compile_options(device: Device, bundle: SourceBundle, architecture: str = "") -> list[str]:
    """The user's options; relative ``-I`` folders are the bundle's, which go in by name."""
    options = [
        option for option in _joined(bundle.options) if not (option.startswith("-I") and not option[2:].startswith("/"))
    ]
    if device.chosen.name == "rocm":
        folder = header_folder(device.chosen.hiprtc)
        options += [f"-I{folder}"] if folder is not None else []
        options.append(f"--gpu-architecture={architecture or device.architecture}")
    elif architecture:  # the cuda runtime's library takes its device's unless the user's options name one
        options.append(f"--gpu-architecture={architecture}")
    return options


def _joined(options: tuple[str, ...]) -> list[str]:
    """``-I dir`` and ``-D NAME`` written as two options become one."""
    joined: list[str] = []
    for option in options:
        if joined and joined[-1] in ("-I", "-D", "-include"):
            joined[-1] += option
        else:
            joined.append(option)
    return joined


class _Program:
    """A hiprtc program, destroyed at the end of its ``with``."""

    def __init__(self, device: Device, bundle: SourceBundle, headers: dict[str, str]) -> None:
        self.bindings = device.selected.bindings
        self.main = bundle.main
        texts = [text.encode() for text in headers.values()]
        names = [name.encode() for name in headers]
        (self.handle,) = self._outputs(
            "hiprtcCreateProgram",
            bundle.files[bundle.main].encode(),
            bundle.main.encode(),
            len(headers),
            texts or None,
            names or None,
        )
        self._kept = (texts, names)  # hip-python passes their addresses on

    def __enter__(self) -> _Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.bindings.compile_call("hiprtcDestroyProgram", self.handle.createRef())

    def must(self, name: str, *arguments: object) -> tuple[Any, ...]:
        """A hiprtc call on this program that must succeed."""
        return self._outputs(name, self.handle, *arguments)

    def compile(self, options: list[str]) -> str:
        """Compile; the log (warnings too)."""
        encoded = [option.encode() for option in options]
        code, _ = self.bindings.compile_call("hiprtcCompileProgram", self.handle, len(encoded), encoded or None)
        log = self._log()
        if code != 0:
            reason = first_error(log, self.main) if log.strip() else self.bindings.compile_error_text(code)
            raise CompileError(f"{self.main} does not compile: {reason}", log)
        return log

    def lowered_name(self, expression: str) -> str:
        """The name in the code object of a name expression."""
        (name,) = self.must("hiprtcGetLoweredName", expression.encode())
        return bytes(name.decode()).decode() if isinstance(name.decode(), bytes) else str(name.decode())

    def code(self) -> bytes:
        """The compiled code object."""
        (size,) = self.must("hiprtcGetCodeSize")
        data = bytearray(int(size))
        self.must("hiprtcGetCode", data)
        return bytes(data)

    def _log(self) -> str:
        (size,) = self.must("hiprtcGetProgramLogSize")
        log = bytearray(max(int(size), 1))
        self.must("hiprtcGetProgramLog", log)
        return bytes(log).split(b"\0", 1)[0].decode(errors="replace")

    def _outputs(self, name: str, *arguments: object) -> tuple[Any, ...]:
        code, outputs = self.bindings.compile_call(name, *arguments)
        if code != 0:
            raise CompileError(f"{self.main}: {name} failed: {self.bindings.compile_error_text(code)}")
        return outputs
