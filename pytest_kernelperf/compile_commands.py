"""What a project's ``compile_commands.json`` says of one source file.

CMake, Meson and others write the file: one entry per source, with the command that compiles it.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Iterable
from pathlib import Path

import msgspec

from pytest_kernelperf.command_line import CompileCommand, compiles_for_devices, one_command, parse_command
from pytest_kernelperf.errors import UsageError

NAME = "compile_commands.json"
MOST_BYTES = 256 * 1024 * 1024


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

    Of several entries the first that compiles device code counts: a file may be compiled for the host as well.

    Raises:
        UsageError: the file cannot be read.
    """
    found: list[tuple[list[str], Path]] = []
    for entry in _entries(path, path.stat().st_mtime_ns):
        directory = path.parent / entry.directory
        if Path(entry.file).name == source.name and (directory / entry.file).resolve() == source:
            try:
                words, folder = one_command(entry.arguments or shlex.split(entry.command), source.name)
            except ValueError as error:
                raise UsageError(f"{path}: the command of {entry.file} cannot be read: {error}") from None
            found.append((words, directory / folder))
    if not found:
        return None
    words, directory = next((each for each in found if compiles_for_devices(each[0])), found[0])
    try:
        return parse_command(words, directory)
    except (ValueError, OSError) as error:
        raise UsageError(f"{path}: the command of {source} cannot be read: {error}") from None


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
