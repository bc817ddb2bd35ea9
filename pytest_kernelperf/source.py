"""A kernel's source as a bundle: the file, the project headers it includes, and the options it is compiled with.

Compiling needs nothing but the bundle and what the system has, so that a baseline can be compiled again later.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_kernelperf.command_line import CompileCommand, join_options
from pytest_kernelperf.compile_commands import find_command
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.kernel import Kernel
from pytest_kernelperf.model import DeviceBuild, ReadyObject, SourceBundle, digest_of_bytes

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)

# Folders of the system and of toolkits: their headers are not the project's and stay where they are.
_SYSTEM = ("/usr", "/opt", "/nix/store")
_TOOLKIT_OPTION = re.compile(r"--(?:rocm|hip)-path=(/.+)")
_SYSTEM_VARIABLES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH", "CUDA_PATH", "CUDA_HOME")


def collect_bundle(kernel: Kernel, extra_options: Sequence[str] = ()) -> SourceBundle:
    """Read a kernel's source and, recursively, the project headers that it includes; or a ready object's digest.

    Headers are looked up beside the including file and in ``-I`` folders (of the test's options, relative to the
    source's folder; of compile commands); what is found in neither is left to the compiler. Paths in the bundle are
    relative to the folder that holds them all, and options are rewritten to match.

    Raises:
        UsageError: the source or the compile commands cannot be read.
    """
    if kernel.build == "object":
        return _ready_object(kernel, extra_options)
    if kernel.build == "device":
        return _device_bundle(kernel, extra_options)
    options = join_options((*kernel.options, *extra_options))
    folder = kernel.source.parent
    texts = _read_texts(kernel, [kernel.source], [_absolute(folder, o) for o in options if o.startswith("-I")])
    root = _root(texts)
    return SourceBundle(
        main=kernel.source.relative_to(root).as_posix(),
        files=_files(texts, root),
        options=tuple(f"-I{_relative(_absolute(folder, o), root)}" if o.startswith("-I") else o for o in options),
        name_expressions=kernel.name_expressions,
    )


def read_ready_object(kernel: Kernel) -> bytes:
    """The bytes of a kernel's code object file.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return kernel.source.read_bytes()
    except OSError as error:
        raise UsageError(f"kernel {kernel.name}: cannot read {kernel.source} ({error}): build it first") from None


def _ready_object(kernel: Kernel, extra_options: Sequence[str]) -> SourceBundle:
    if kernel.options or extra_options or kernel.name_expressions:
        raise UsageError(
            f"kernel {kernel.name}: {kernel.source.name} is compiled already, so options and name expressions have no "
            "effect: leave them out (a mutation of such a kernel is another plan)"
        )
    digest = digest_of_bytes(read_ready_object(kernel))
    return SourceBundle(kernel.source.name, {}, build=ReadyObject(digest))


@dataclass(frozen=True)
class _Folders:
    """Where a device-only compile finds headers: the project's folders, which are bundled, and the system's."""

    project: tuple[Path, ...]
    system: tuple[Path, ...]


def _device_bundle(kernel: Kernel, extra_options: Sequence[str]) -> SourceBundle:
    """The bundle of a file that is compiled device-only, with the flags of the project's compile commands."""
    command = find_command(kernel.source, kernel.compile_commands) or CompileCommand()
    own = join_options((*kernel.options, *extra_options))
    folders = _folders(kernel, command, own)
    toolkits = [path for path in command.includes if any(path.is_relative_to(folder) for folder in folders.system)]
    first = [path for path in command.includes if path not in toolkits]
    texts = _read_texts(kernel, [kernel.source, *first], folders.project)
    root = _root(texts)
    held = [folder for folder in folders.project if any(folder in path.parents for path in texts)]
    return SourceBundle(
        main=kernel.source.relative_to(root).as_posix(),
        files=_files(texts, root),
        options=(
            *command.options,
            *(option for option in own if not option.startswith("-I")),
            *(f"-include{path.as_posix()}" for path in toolkits),
            *(f"-include{_relative(path, root)}" for path in first),
            *(f"-I{_relative(folder, root)}" for folder in held),
            *(f"-isystem{folder.as_posix()}" for folder in folders.system),
        ),
        name_expressions=kernel.name_expressions,
        build=DeviceBuild(command.compiler, command.architecture),
    )


def _folders(kernel: Kernel, command: CompileCommand, own: Sequence[str]) -> _Folders:
    stated = [_absolute(kernel.source.parent, option) for option in own if option.startswith("-I")]
    prefixes = [
        *_SYSTEM,
        *(os.environ[name] for name in _SYSTEM_VARIABLES if os.environ.get(name)),
        *(match[1] for option in command.options if (match := _TOOLKIT_OPTION.match(option))),
        *_toolkit_of(command.compiler),
    ]
    system = [Path(prefix) for prefix in prefixes if not kernel.source.is_relative_to(prefix)]
    every = [*command.folders, *stated]
    toolkits = [folder for folder in every if any(folder.is_relative_to(prefix) for prefix in system)]
    project = tuple(folder for folder in every if folder not in toolkits)
    return _Folders(project, tuple(dict.fromkeys([*toolkits, *command.system_folders])))


def _toolkit_of(compiler: str) -> Iterator[str]:
    """The folder that a compiler was installed in: ``/home/me/rocm`` of ``/home/me/rocm/lib/llvm/bin/clang++``."""
    match = re.match(r"(/.+?)/(?:lib/llvm/|llvm/)?bin/[^/]+$", compiler)
    if match is not None:
        yield match[1]


def _read_texts(kernel: Kernel, waiting: list[Path], folders: Sequence[Path]) -> dict[Path, str]:
    """The texts of the files and of all that they include and that is found."""
    texts: dict[Path, str] = {}
    while waiting:
        path = waiting.pop()
        if path in texts:
            continue
        try:
            texts[path] = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise UsageError(
                f"kernel {kernel.name}: there is no {path}: check its path, or build the project once if it makes that "
                "file"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"kernel {kernel.name}: cannot read {path} as UTF-8 text ({error})") from None
        for quoted, angled in _INCLUDE.findall(texts[path]):
            places = [path.parent, *folders] if quoted else folders
            found = (candidate for place in places if (candidate := place / (quoted or angled)).is_file())
            waiting.extend(_in_place(path) for path in [next(found, None)] if path is not None)
    return texts


def _in_place(path: Path) -> Path:
    """An absolute path without ``..``, where the compiler will look: a link to a header stays where it is."""
    plain = Path(os.path.normpath(path))
    return plain if plain.is_file() and plain.samefile(path) else path.resolve()


def _root(texts: dict[Path, str]) -> Path:
    return Path(os.path.commonpath([path.parent for path in texts]))


def _files(texts: dict[Path, str], root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): text for path, text in sorted(texts.items())}


def _absolute(folder: Path, option: str) -> Path:
    """The folder that an ``-I`` option means."""
    return (folder / option[2:]).resolve()


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()


def is_ready(bundle: SourceBundle) -> bool:
    """Whether a bundle is a code object already."""
    return isinstance(bundle.build, ReadyObject)
