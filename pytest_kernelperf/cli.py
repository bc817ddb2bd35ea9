"""The command ``kernelperf``: look at what the guard wrote, and at the machine that it is to run on."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from typing import Any

import click

from pytest_kernelperf import __version__
from pytest_kernelperf.commands.exit_code import UNUSABLE

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a write of stdout says where it leads to a file for which there is no room."""

SHORT_HELP = {
    "show": "Print a run's tables and what to do next.",
    "trace": "Sum up a trace, or compare two.",
    "replay": "Run an arm of a traced case again.",
    "doctor": "Say whether the guard can run here.",
    "calibrate": "Say how often unchanged code would be blamed here.",
    "drill": "Set each alarm off on purpose.",
    "plans": "Export the code of all cases as one file.",
    "ci": "Guard a commit in CI and report.",
    "comment": "Post what a run found on its pull request.",
    "summary": "Add a run to the job's summary.",
    "annotations": "Point at failing kernels in the job's log.",
    "acceptance": "Look whether a maintainer accepts a commit.",
    "propose": "Open a pull request with measured baselines.",
    "watch": "Keep one issue that says how the box is.",
}
"""Each command with its line in ``--help``; ``commands/NAME.py`` holds a function of its name.

A module is imported when its command is called: reading a trace must not wait for scipy.
"""


class _Commands(click.Group):
    """A group whose commands are imported one by one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SHORT_HELP)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SHORT_HELP:
            return None
        module = importlib.import_module(f"pytest_kernelperf.commands.{cmd_name}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as problem:
            if problem.errno not in FULL or problem.filename is not None:
                raise
            with contextlib.suppress(OSError, ValueError):  # what could not be printed is not tried again at the end
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            click.echo(f"what was to be printed cannot be written ({problem.strerror}): make room for it", err=True)
            sys.exit(UNUSABLE)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SHORT_HELP.items()))


@click.group(cls=_Commands)
@click.version_option(__version__, prog_name="kernelperf")
def main() -> None:
    """Look at what pytest --kernelperf wrote, and at the machine that it runs on."""
