"""What a project's ``compile_commands.json`` says of one source file, cut down to what matters for device code.

CMake, Meson and others write the file: one entry per source, with the command that compiles it. Kept are macros,
include folders, the language standard, optimisation, and options that change device code; warnings, debug
information, outputs, host options and architectures are dropped (the guard compiles for its own device).
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pytest_kernelperf.errors import UsageError

NAME = "compile_commands.json"
MOST_BYTES = 256 * 1024 * 1024
MOST_NESTED = 8

# Options whose value may follow as the next word.
_WITH_VALUE = ("-D", "-U", "-I", "-isystem", "-iquote", "-idirafter", "-include", "-mllvm", "-Xptxas", "-maxrregcount")
_DROPPED_WITH_VALUE = {
    "-o", "-x", "-MF", "-MT", "-MQ", "-MJ", "-arch", "-gencode", "-Xcompiler", "-Xlinker", "-Xarch_host", "-target",
    "--generate-code", "--gpu-architecture", "--gpu-code", "-code", "-ccbin", "--compiler-bindir", "-t", "--threads",
    "--offload-arch", "-aux-info", "--param", "-Xclang", "-G", "-u", "-L", "-l", "-T", "-z", "-current_version",
}  # fmt: skip
_KEPT = (
    "-std=", "--std=", "-O", "-f", "-munsafe-fp-atomics", "-mno-unsafe-fp-atomics", "-mcumode", "-mno-cumode",
    "-mwavefrontsize64", "-mno-wavefrontsize64", "-amdgpu-", "--gpu-max-threads-per-block=",
    "--rocm-path=", "--hip-path=", "--rocm-device-lib-path=", "--hip-device-lib-path=", "--use_fast_math",
    "-use_fast_math", "--fmad=", "-fmad=", "--ftz=", "-ftz=", "--prec-div=", "-prec-div=", "--prec-sqrt=",
    "-prec-sqrt=", "--expt-", "-expt-", "--extended-lambda", "-extended-lambda", "--maxrregcount=", "-maxrregcount=",
    "-mllvm=",
)  # fmt: skip
# Of -f: what shapes the host's code or the compiler's words alone, or would make the device's part no whole object.
_HOST_ONLY = (
    "-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-pic", "-fno-PIC", "-fno-pie", "-fno-PIE", "-flto", "-fno-lto",
    "-fprofile", "-fcoverage", "-ftest-coverage", "-fsanitize", "-fno-sanitize", "-fcolor", "-fno-color",
    "-fdiagnostics", "-fmodule", "-fmodules", "-fdeps", "-fgpu-rdc", "-fno-gpu-rdc", "-fvisibility", "-fstack",
    "-fcf-protection", "-fdebug", "-fopenmp", "-fuse-ld", "-fansi", "-fplt", "-fno-plt", "-fno-semantic", "-fsplit",
    "-fpch", "-ffile-prefix", "-fmacro-prefix", "-fdata-sections", "-ffunction-sections", "-fatbin",
    "-forward-unknown", "-frecord", "-ftime",
)  # fmt: skip


@dataclass(frozen=True)
class CompileCommand:
    """How a project compiles one file.

    ``compiler`` is the program as written; ``folders`` are ``-I`` and ``system_folders`` ``-isystem`` folders in their
    order, ``includes`` files that are included first: all absolute. ``options`` is the rest that is kept, one option a
    word; ``architecture`` is the first GPU that the command names, or empty.
    """

    compiler: str = ""
    folders: tuple[Path, ...] = ()
    system_folders: tuple[Path, ...] = ()
    includes: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()
    architecture: str = ""


class _Entry(msgspec.Struct):
    """One entry of the file; fields that do not matter here are skipped."""

    directory: str
    file: str
    command: str = ""
    arguments: list[str] = []


def find_command(source: Path, given: Path | None = None) -> CompileCommand | None:
    """How the project compiles ``source``; None where no compile commands name it.

    ``given`` is the file, or the folder that holds it. Without it the file is looked for in the source's folder and
    each one above it up to the project's (where ``.git`` is), and there in ``build`` and ``build/*``, where presets put
    their builds; of several the newest that names the source counts.

    Raises:
        UsageError: the file given is not there, cannot be read, or does not name the source.
    """
    if given is not None:
        path = given / NAME if given.is_dir() else given
        if not path.is_file():
            raise UsageError(
                f"there is no {path}: configure the project with CMAKE_EXPORT_COMPILE_COMMANDS=ON, or name another"
            )
        command = read_command(path, source)
        if command is None:
            raise UsageError(f"{path} does not compile {source}: configure the project again, or name another")
        return command
    for folder in source.parents:
        for path in _newest_first([folder / NAME, folder / "build" / NAME, *folder.glob(f"build/*/{NAME}")]):
            command = read_command(path, source)
            if command is not None:
                return command
        if (folder / ".git").exists():
            break
    return None


def read_command(path: Path, source: Path) -> CompileCommand | None:
    """What one ``compile_commands.json`` says of a source; None: nothing.

    Raises:
        UsageError: the file cannot be read.
    """
    for entry in _entries(path, path.stat().st_mtime_ns):
        directory = path.parent / entry.directory
        if Path(entry.file).name == source.name and (directory / entry.file).resolve() == source:
            try:
                words = entry.arguments or shlex.split(entry.command)
            except ValueError as error:
                raise UsageError(f"{path}: the command of {entry.file} cannot be read: {error}") from None
            return parse_command(words, directory)
    return None


def parse_command(words: list[str], directory: Path) -> CompileCommand:
    """Cut a command down to what matters; relative paths are relative to ``directory``."""
    folders: list[Path] = []
    system: list[Path] = []
    includes: list[Path] = []
    options: list[str] = []
    compiler = next(_without_launchers(words), "")
    architecture = ""
    for name, value in _options(_expanded(words[words.index(compiler) + 1 :] if compiler else [], directory)):
        if name in ("-I", "-iquote"):
            folders.append((directory / value).resolve())
        elif name in ("-isystem", "-idirafter"):
            system.append((directory / value).resolve())
        elif name == "-include":
            includes.append((directory / value).resolve())
        elif name == "--offload-arch" and not architecture:
            architecture = value.split(",")[0].split(":")[0]
        elif name in ("-D", "-U"):
            options.append(name + value)
        elif name in ("-mllvm", "-Xptxas", "-maxrregcount"):
            options.append(f"{name}={value}")
        elif not value and name.startswith(_KEPT) and not name.startswith(_HOST_ONLY):
            options.append(name)
    return CompileCommand(compiler, tuple(folders), tuple(system), tuple(includes), tuple(options), architecture)


@functools.lru_cache(maxsize=4)
def _entries(path: Path, modified_ns: int) -> list[_Entry]:
    """The file's entries; read again only once it has changed (``modified_ns``)."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is larger than {MOST_BYTES} bytes")
        return msgspec.json.decode(path.read_bytes(), type=list[_Entry])
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} cannot be read as compile commands ({error}): configure the project again") from None


def _newest_first(paths: Iterable[Path]) -> list[Path]:
    return sorted((path for path in paths if path.is_file()), key=lambda path: path.stat().st_mtime_ns, reverse=True)


def _without_launchers(words: list[str]) -> Iterator[str]:
    """The words from the compiler on: ``ccache`` and its like stand before it, CMake's assignments too."""
    launchers = {"ccache", "sccache", "distcc", "icecc", "env"}
    waiting = True
    for word in words:
        waiting = waiting and (Path(word).name in launchers or ("=" in word and not word.startswith("-")))
        if not waiting:
            yield word


def _expanded(words: Iterable[str], directory: Path, depth: int = 0) -> Iterator[str]:
    """The words with response files (``@file``, nvcc's ``--options-file file``) put in their places."""
    waiting = False
    for word in words:
        if word in ("--options-file", "-optf"):
            waiting = True
        elif (waiting or word.startswith("@")) and depth < MOST_NESTED:
            waiting = False
            path = directory / word.removeprefix("@")
            if path.is_file():
                yield from _expanded(shlex.split(path.read_text(encoding="utf-8")), directory, depth + 1)
        else:
            yield word


def _options(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each option with its value, however the two are written: ``-I x``, ``-Ix``, ``-isystem=x``."""
    rest = iter(words)
    for word in rest:
        if word.startswith("--offload-arch="):
            yield "--offload-arch", word.partition("=")[2]
        elif word == "--offload-arch":
            yield word, next(rest, "")
        elif word in _DROPPED_WITH_VALUE:
            next(rest, None)
        elif (name := next((n for n in _WITH_VALUE if word == n), "")) != "":
            yield name, next(rest, "")
        elif (name := next((n for n in _WITH_VALUE[:7] if word.startswith(n)), "")) != "":
            joined = word[len(name) :]
            yield name, joined.removeprefix("=") if name not in ("-D", "-U") else joined
        elif word.startswith("-"):
            yield word, ""
