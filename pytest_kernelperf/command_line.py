"""A compiler's command line, cut down to what matters for device code.

Kept are macros, include folders, the language standard, optimisation, where toolkits are, and options that change
device code; warnings, debug information, outputs, host options and architectures are dropped (the guard compiles for
its own device).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_NESTED = 8

# Options whose value may follow as the next word, and those of them that it may be joined to.
_JOINED = ("-D", "-U", "-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros")
_WITH_VALUE = (*_JOINED, "-mllvm", "-Xptxas", "-maxrregcount", "-std", "--std")
_ALIASES = {
    "--offload-arch": "--offload-arch",
    "--define-macro": "-D", "--undefine-macro": "-U", "--include-path": "-I", "--include-directory": "-I",
    "--system-include": "-isystem", "--pre-include": "-include", "--include": "-include",
    "--maxrregcount": "-maxrregcount", "--cuda-gpu-arch": "--offload-arch", "--amdgpu-target": "--offload-arch",
}  # fmt: skip
_DROPPED_WITH_VALUE = {
    "-o", "-x", "-MF", "-MT", "-MQ", "-MJ", "-arch", "-gencode", "-Xcompiler", "-Xlinker", "-Xarch_host", "-target",
    "--generate-code", "--gpu-architecture", "--gpu-code", "-code", "-ccbin", "--compiler-bindir", "-t", "--threads",
    "-aux-info", "--param", "-u", "-L", "-l", "-T", "-z", "-current_version", "-Xoffload-linker", "-Xassembler",
    "-Xpreprocessor", "--compiler-options", "--linker-options", "--ptxas-options", "-Xnvlink", "-Xopenmp-target",
    "-include-pch", "-dumpdir", "--output", "--serialize-diagnostics",
}  # fmt: skip
_KEPT = (
    "-std=", "--std=", "-O", "-f", "-munsafe-fp-atomics", "-mno-unsafe-fp-atomics", "-mcumode", "-mno-cumode",
    "-mwavefrontsize64", "-mno-wavefrontsize64", "-amdgpu-", "--gpu-max-threads-per-block=",
    "--rocm-path=", "--hip-path=", "--rocm-device-lib-path=", "--hip-device-lib-path=", "--use_fast_math",
    "-use_fast_math", "--fmad=", "-fmad=", "--ftz=", "-ftz=", "--prec-div=", "-prec-div=", "--prec-sqrt=",
    "-prec-sqrt=", "--expt-", "-expt-", "--extended-lambda", "-extended-lambda", "--maxrregcount=", "-maxrregcount=",
    "-mllvm=", "--gcc-toolchain=", "--gcc-install-dir=", "--sysroot=", "-stdlib=",
)  # fmt: skip
# Of -f: what shapes the host's code or the compiler's words alone, or would make the device's part no whole object.
_HOST_ONLY = (
    "-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-pic", "-fno-PIC", "-fno-pie", "-fno-PIE", "-flto", "-fno-lto",
    "-fprofile", "-fcoverage", "-ftest-coverage", "-fsanitize", "-fno-sanitize", "-fcolor", "-fno-color",
    "-fdiagnostics", "-fmodule", "-fmodules", "-fdeps", "-fgpu-rdc", "-fno-gpu-rdc", "-fvisibility", "-fstack",
    "-fcf-protection", "-fdebug", "-fopenmp", "-fuse-ld", "-fansi", "-fplt", "-fno-plt", "-fno-semantic", "-fsplit",
    "-fpch", "-ffile-prefix", "-fmacro-prefix", "-fdata-sections", "-ffunction-sections", "-fatbin",
    "-forward-unknown", "-frecord", "-ftime", "-fuse-cuid", "-foffload-lto", "-fno-offload-lto", "-fsyntax-only",
    "-fcrash-diagnostics", "-fmessage-length", "-ferror-limit", "-fembed", "-fxray", "-fsave", "-fgpu-sanitize",
    "-fshow", "-fno-show", "-fno-diagnostics",
)  # fmt: skip

_LAUNCHERS = re.compile(
    r"(?:ccache|sccache|distcc|icecc|buildcache|gomacc|env|nice|time|cmake|perl|bash|sh|python[\d.]*)(?:\.exe)?"
)
_COMPILER = re.compile(
    r"(?:[\w.]+-)*(?:hipcc|nvcc|(?:amd)?clang(?:\+\+)?|[gc]\+\+|g?cc)(?:-[\d.]+)?(?:\.(?:pl|py|sh|bin|exe))?"
)
_FOR_DEVICES = re.compile(r"hipcc|nvcc|amdclang|--offload-arch|--cuda-gpu-arch|--amdgpu-target|--hip-|^-?x?hip$|^hip$")


@dataclass(frozen=True)
class CompileCommand:
    """How a project compiles one file.

    ``compiler`` is the program as written; ``folders`` are ``-I`` and ``system_folders`` ``-isystem`` folders in their
    order, ``includes`` the project's files that are included first: all absolute. ``options`` is the rest that is kept,
    one option a word (``-includehip/hip_runtime.h`` too); ``architecture`` is the first GPU that the command names, or
    empty.
    """

    compiler: str = ""
    folders: tuple[Path, ...] = ()
    system_folders: tuple[Path, ...] = ()
    includes: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()
    architecture: str = ""


def parse_command(words: list[str], directory: Path) -> CompileCommand:
    """Cut a command down to what matters; relative paths are relative to ``directory``.

    Raises:
        ValueError: a response file has a quotation that does not end.
    """
    compiler, rest = _compiler_of(words)
    folders: list[Path] = []
    system: list[Path] = []
    includes: list[str] = []
    options: list[str] = []
    architecture = ""
    for name, value in _options(_expanded(rest, directory)):
        if name in ("-I", "-iquote"):
            folders.append((directory / value).resolve())
        elif name in ("-isystem", "-idirafter"):
            system.append((directory / value).resolve())
        elif name == "-include":
            includes.append(value)
        elif name == "--offload-arch" and not architecture:
            architecture = value.split(",")[0].split(":")[0]
        elif name in ("-D", "-U"):
            options.append(name + value)
        elif name in ("-mllvm", "-Xptxas", "-maxrregcount", "-std", "--std"):
            options.append(f"{name}={value}")
        elif not value and name.startswith(_KEPT) and not name.startswith(_HOST_ONLY):
            options.append(name)
    first = {name: _included(name, [directory, *folders]) for name in includes}
    options += [f"-include{name}" for name, path in first.items() if path is None]
    found = tuple(path for path in first.values() if path is not None)
    return CompileCommand(compiler, tuple(folders), tuple(system), found, tuple(options), architecture)


def join_options(options: Iterable[str]) -> tuple[str, ...]:
    """Options that were written as two words (``-I``, ``folder``) as one, as everything behind this takes them."""
    joined: list[str] = []
    for option in options:
        if joined and joined[-1] in _JOINED:
            joined[-1] += option
        else:
            joined.append(option)
    return tuple(joined)


def compiles_for_devices(words: Iterable[str]) -> bool:
    """Whether a command looks as if it compiled device code, rather than the same file for the host alone."""
    return any(_FOR_DEVICES.search(word if word.startswith("-") else Path(word).name) for word in words)


def one_command(words: list[str], source: str) -> tuple[list[str], str]:
    """Of commands joined with ``&&`` the one that names the source, and the folder that a ``cd`` went to before it."""
    folder, part = "", list[str]()
    parts: list[list[str]] = [part]
    for word in words:
        if word in ("&&", ";"):
            part = []
            parts.append(part)
        else:
            part.append(word)
    for part in parts:
        if len(part) == 2 and part[0] == "cd":
            folder = part[1]
        elif any(Path(word).name == source for word in part):
            return part, folder
    return words, ""


def _compiler_of(words: list[str]) -> tuple[str, list[str]]:
    """The compiler and what follows it: ``ccache`` and its like stand before it, assignments and their options too."""
    for at, word in enumerate(words):
        name = Path(word).name
        if "=" not in word and _COMPILER.fullmatch(name):
            return word, words[at + 1 :]
    for at, word in enumerate(words):
        if not word.startswith("-") and "=" not in word and not _LAUNCHERS.fullmatch(Path(word).name):
            return word, words[at + 1 :]
    return "", []


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
                yield from _expanded(shlex.split(path.read_text("utf-8", errors="replace")), directory, depth + 1)
        else:
            yield word


def _options(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each option with its value, however the two are written: ``-I x``, ``-Ix``, ``-isystem=x``, ``--include-path x``.

    Of what ``-Xclang`` passes on, the headers that CMake includes first so are kept.
    """
    rest = iter(words)
    for word in rest:
        written, equals, joined = word.partition("=")
        if written in _ALIASES:
            yield _ALIASES[written], joined if equals else next(rest, "")
        elif word == "-Xclang":
            yield from _passed_on(next(rest, ""), rest)
        elif word in _DROPPED_WITH_VALUE:
            next(rest, None)
        elif word in _WITH_VALUE:
            yield word, next(rest, "")
        elif word.startswith("-include-pch"):
            continue
        elif (name := next((n for n in _JOINED if word.startswith(n)), "")) != "":
            value = word[len(name) :]
            yield name, value.removeprefix("=") if name not in ("-D", "-U") else value
        elif word.startswith("-"):
            yield word, ""


def _passed_on(option: str, rest: Iterator[str]) -> Iterator[tuple[str, str]]:
    if option in ("-include", "-include-pch"):
        value = next(rest, "")
        value = next(rest, "") if value == "-Xclang" else value
        if option == "-include":
            yield option, value


def _included(name: str, folders: Iterable[Path]) -> Path | None:
    """The file that ``-include`` means: of the command's folder, else of the first include folder that has it.

    None: a header of the system's (``hip/hip_runtime.h``). What is written as a path is the project's, there or not.
    """
    places = [(folder / name).resolve() for folder in folders]
    missing = places[0] if name.startswith(("/", ".")) else None
    return next((place for place in places if place.is_file()), missing)
