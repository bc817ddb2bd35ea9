"""The code blocks of the book's pages, and a reader who does what they say.

What a block is follows from its language and the paragraph in front of it:

- ``console``: commands behind ``$``, each run in the reader's folder, with the output that is shown. Without any shown,
  the command must end with exit code 0.
- A block behind a paragraph with ```path`:`` is that file of the reader's folder.
- ``python``, ``json`` and ``yaml`` that are no files are run, or read.
- ``text`` is no code: a drawing, or output that another command made elsewhere.

``<!-- not run: why -->`` in front of a block (or of its paragraph) leaves it out.

In shown output ``…`` is any text, and a line of it any lines. Blank lines, widths and measured figures are not
compared: a number with a decimal point, a percentage, a time with its unit, the number of compute units, the device's
name and key.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guarded_project import FILES, NOT_PASSED_ON
from markdown_it import MarkdownIt

LANGUAGES = {"console", "python", "cpp", "json", "ini", "cmake", "yaml", "text", "toml"}
MOST_S = 240
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->", re.DOTALL)
_FILE = re.compile(r"`([\w./-]+\.\w+)`:")

# Of a page's own kernels: once one has changed it is slower than the accepted one; until then nothing is compared.
# The times are about the real ones: rounds, which are really run, are sized by them.
SLOWER = {
    "version": 1,
    "rules": [
        {"match": {"arm": "baseline"}, "us": 120.3, "noise_ratio": 0.001},
        {"match": {}, "us": 192.5, "noise_ratio": 0.001},
    ],
}

_MEASURED = (
    (r"-{3,}", "---"),
    (r"={3,}", "==="),
    (r"_{3,}", "___"),
    (r"\bcpu-[\w.]+(?:-[\w.]+)*", "cpu-KEY"),
    (r"^.*\(cpu-KEY\), cpu runtime, \d+ compute units?.*", "DEVICE"),
    (r"[-+]?\d[\d,]*\.\d+", "N"),
    (r"[-+]?\d[\d,]*(?= ?(?:%|[nuµm]?s\b))", "N"),
    (r"\bN ?[nuµm]?s\b", "TIME"),
    (r"(?<=\d)/\d+\b", "/CUs"),
    (r"\s+", " "),
)


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, its language and text, the file that it is, why it is not run."""

    page: str
    line: int
    language: str
    text: str
    file: str
    not_run: str

    @property
    def place(self) -> str:
        """Where it stands, as sentences name it."""
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The commands of a console block, each with the output that is shown below it."""
        parts = re.split(r"^\$ ", self.text.replace("\\\n", "\\\0"), flags=re.MULTILINE)[1:]
        found = [part.partition("\n")[::2] for part in parts]
        return [(command.replace("\\\0", "\\\n"), shown) for command, shown in found]


def blocks_of(page: Path) -> list[Block]:
    """Return a page's fenced blocks in order."""
    found, before, comment = [], "", ""
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "inline":
            before = token.content
        elif token.type == "html_block":
            comment = token.content
        elif token.type == "fence":
            file, why = _FILE.findall(before), _NOT_RUN.search(comment)
            line = token.map[0] + 1 if token.map else 0
            name = file[-1] if file and token.info != "console" else ""
            reason = " ".join(why[1].split()) if why else ""
            found.append(Block(page.name, line, token.info.strip(), token.content, name, reason))
            before, comment = "", ""
    return found


class Reader:
    """Who follows a page in a folder of their own, on the cpu runtime, with a scripted clock."""

    def __init__(self, folder: Path, plugin_arguments: tuple[str, ...], blocks: list[Block]) -> None:
        """Begin with an empty folder where the page has files of its own, else with a guarded kernel."""
        self.folder = folder
        self._names: dict[str, Any] = {}
        beside = folder.parent / f"{folder.name}-beside"
        beside.mkdir()
        if any(block.file for block in blocks):
            (beside / "clock.json").write_text(json.dumps(SLOWER))
        else:
            (folder / "kernels").mkdir()
            for name in ("scale.hip", "test_scale.py"):
                (folder / "kernels" / name).write_text(FILES[name])
            (folder / "pytest.ini").write_text(FILES["pytest.ini"])
            (beside / "clock.json").write_text(FILES["clock.json"])
        for name, module in (("pytest", "pytest"), ("kernelperf", "pytest_kernelperf.cli")):
            self._write_command(beside / name, module)
        variables = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
        self._environment = variables | {
            "PATH": os.pathsep.join([str(beside), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "KERNELPERF_CLOCK_SCRIPT": str(beside / "clock.json"),
            "KERNELPERF_LOCK": str(beside / "machine.lock"),
            "PYTEST_ADDOPTS": " ".join([*plugin_arguments, "--kernelperf-runtime=cpu", "-okernelperf_processes=3"]),
            "COLUMNS": "200",
        }

    def follow(self, block: Block) -> None:
        """Do what a block says; raises AssertionError where something else comes of it than is shown."""
        if block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command, shown in block.commands:
                self._run(block, command, shown)
        elif block.language == "python":
            exec(compile(f"from pytest_kernelperf import *\n{block.text}", block.place, "exec"), self._names)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            import yaml

            yaml.safe_load(block.text)
        else:
            assert block.language == "text", f"{block.place}: nobody knows what to do with this block"

    def _run(self, block: Block, command: str, shown: str) -> None:
        with subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=MOST_S)
            except BaseException:  # nothing that it started outlives it
                os.killpg(process.pid, signal.SIGKILL)
                raise
        said = f"{block.place}: $ {command}\n{output}"
        if shown.strip():
            assert matches(shown, output), f"{said}\nis not what the page shows:\n{shown}"
        else:
            assert process.returncode == 0, said

    @staticmethod
    def _write_command(path: Path, module: str) -> None:
        body = (
            "from pytest_kernelperf.cli import main; main()"
            if "." in module
            else "import pytest, sys; sys.exit(pytest.main())"
        )
        path.write_text(f"#!{sys.executable}\n{body}\n")
        path.chmod(0o755)


def matches(shown: str, actual: str) -> bool:
    """Whether output is what a page shows, but for what was measured and what the page leaves out."""
    expression = "".join(
        r"(?:.*\n)*?" if line == "…" else r".*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in comparable(shown)
    )
    return re.fullmatch(expression, "".join(f"{line}\n" for line in comparable(actual))) is not None


def comparable(text: str) -> list[str]:
    """Return lines as they are compared."""
    lines = []
    for line in text.splitlines():
        for pattern, instead in _MEASURED:
            line = re.sub(pattern, instead, line.strip())
        lines.append(line)
    return [line for line in lines if line]
