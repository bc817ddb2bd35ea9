"""The command's help texts, as the command prints them."""

from __future__ import annotations

import click

from pytest_kernelperf.cli import SHORT_HELP, main

WIDTH = 100
NAME = "kernelperf"


def help_of(command: str = "") -> str:
    """Return what ``kernelperf COMMAND --help`` prints on a terminal of 100 columns; without COMMAND, the command's."""
    context = click.Context(main, info_name=NAME, terminal_width=WIDTH, max_content_width=WIDTH)
    if not command:
        return main.get_help(context)
    found = main.get_command(context, command)
    assert found is not None, command
    inner = click.Context(found, info_name=command, parent=context, terminal_width=WIDTH, max_content_width=WIDTH)
    return found.get_help(inner)


def sections() -> str:
    """Return all commands as Markdown."""
    parts = [f"## {NAME}\n\n```text\n{help_of()}\n```"]
    parts += [f"## {NAME} {command}\n\n```text\n{help_of(command)}\n```" for command in SHORT_HELP]
    return "\n\n".join(parts)
