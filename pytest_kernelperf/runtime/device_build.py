"""Device code of a file that also holds host code, by a real compiler: the bundle is laid out, compiled and read."""

from __future__ import annotations

import functools
import posixpath
import re
import subprocess
import tempfile
from pathlib import Path

from pytest_kernelperf.code_object.bundle import is_bundle, unbundle
from pytest_kernelperf.errors import CompileError, RuntimeUnavailable
from pytest_kernelperf.model import SourceBundle
from pytest_kernelperf.runtime.compile import first_error
from pytest_kernelperf.runtime.toolchain import Toolchain, cuda_headers

MOST_LOG_CHARACTERS = 1_000_000
_UNDEFINED = re.compile(r"^.*\berror: undefined (?:\w+ )?symbol: (.+)$", re.MULTILINE)
_UNKNOWN_TARGET = re.compile(r"unsupported|unknown target|invalid target|not a valid|unrecognized", re.IGNORECASE)
_NO_LINKER = re.compile(r"\blld\b.*(?:doesn't exist|not found|No such file)")
_NO_ROCM = re.compile(r"cannot find (?:ROCm|HIP)")
_COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def build_device(toolchain: Toolchain, bundle: SourceBundle, architecture: str) -> tuple[bytes, str]:
    """Compile a bundle's device code; the code object's bytes and the compiler's words, its command first.

    Nothing but the bundle's files and the system's headers is seen, and no path of this machine gets into the object.

    Raises:
        CompileError: the compiler refuses it; one sentence, and ``log``.
        RuntimeUnavailable: the compiler does not start.
    """
    with tempfile.TemporaryDirectory(prefix="kernelperf-") as name:
        folder, output = Path(name, "source"), Path(name, "code")
        main = _lay_out(bundle, folder)
        own = cuda_headers(Path(name, "hip")) if toolchain.kind == "nvcc" else []
        command = [*toolchain.command(bundle.options, architecture, main, str(output)), *own]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except OSError as error:
            raise RuntimeUnavailable(f"the compiler {toolchain.program} does not start ({error})") from error
        words = done.stdout.decode(errors="replace")[:MOST_LOG_CHARACTERS].replace(f"{name}/", "")
        log = f"{' '.join(command)}\n{words}".replace(f"{name}/", "")
        if done.returncode != 0 or not output.is_file():
            raise CompileError(f"{bundle.main} does not compile: {_refusal(words, bundle.main)}", log)
        data = output.read_bytes()
    return (unbundle(data, architecture) if is_bundle(data) else data), log


def _refusal(words: str, main: str) -> str:
    """The compiler's first error; where the linker misses something, what to do about that."""
    missing = _UNDEFINED.search(words)
    if missing is None:
        said = first_error(words, main)
        return (
            f"{said}: install lld (Debian: lld-19), which links code for AMD GPUs" if _NO_LINKER.search(said) else said
        )
    return (
        f"{missing[1].strip()} is not in it, so it is another file's, as -fgpu-rdc allows: include what it needs, or "
        "guard the linked code object (hipcc -fgpu-rdc --hip-link --cuda-device-only)"
    )


@functools.cache
def can_compile(toolchain: Toolchain, architecture: str) -> bool:
    """Whether a compiler makes code for an architecture, by having it compile nothing.

    False only where it says that it does not know the architecture, or misses its ROCm.
    """
    with tempfile.TemporaryDirectory(prefix="kernelperf-") as name:
        Path(name, "nothing.hip").write_text("", encoding="utf-8")
        command = toolchain.command((), architecture, "nothing.hip", "code")
        try:
            done = subprocess.run(
                command,
                cwd=name,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except OSError:
            return True
    words = done.stdout.decode(errors="replace")
    unknown = architecture in words and _UNKNOWN_TARGET.search(words)
    return done.returncode == 0 or not (unknown or _NO_ROCM.search(words))


def launches_kernels(bundle: SourceBundle) -> bool:
    """Whether a file of the bundle holds ``<<<``, outside of comments and texts."""
    return any("<<<" in _COMMENT_OR_TEXT.sub("", text) for text in bundle.files.values())


def _lay_out(bundle: SourceBundle, folder: Path) -> str:
    """Write the bundle's files; the file to compile, which names the templates that are to be instantiated."""
    for path, text in bundle.files.items():
        target = folder / path
        if not target.resolve().is_relative_to(folder.resolve()):
            raise CompileError(f"the source bundle names a file outside of itself: {path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    if not bundle.name_expressions:
        return bundle.main
    # A host function that takes a kernel's address has it instantiated, whatever its parameters are.
    addresses = "\n".join(
        f"__attribute__((unused)) static auto kernelperf_instance_{at}() {{ return &{expression.lstrip('&')}; }}"
        for at, expression in enumerate(bundle.name_expressions)
    )
    unit = posixpath.join(posixpath.dirname(bundle.main), "kernelperf_unit.hip")
    (folder / unit).write_text(f'#include "{posixpath.basename(bundle.main)}"\n{addresses}\n', encoding="utf-8")
    return unit
