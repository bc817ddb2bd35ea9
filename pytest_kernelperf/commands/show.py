"""``kernelperf show``."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import KernelperfError, UsageError
from pytest_kernelperf.model import Run
from pytest_kernelperf.report.figure.selection import chosen
from pytest_kernelperf.report.html.file import NAME, write_page
from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.terminal import render_run
from pytest_kernelperf.report.timeline_file import write_timelines

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command
@click.argument("run_file", metavar="RUN.json", type=click.Path(path_type=Path))
@click.option("--markdown", is_flag=True, help="Print tables as Markdown.")
@click.option("--kernel", metavar="KERNEL", default="", help="Show this kernel alone.")
@click.option("--case", metavar="CASE", default="",
              help="Show this case alone: as messages name it, or as pytest does (VARIANT-TOKENS).")  # fmt: skip
@click.option("--pictures/--no-pictures", default=None,
              help="Draw curves and failing cases in characters; on a terminal that is the default.")  # fmt: skip
@click.option("--svg", metavar="DIR", type=FOLDER,
              help="Write pictures to DIR and print their paths alone: each kernel's curve, failing cases' blocks and "
                   "samples, and how sharp the guard is.")  # fmt: skip
@click.option("--png", metavar="DIR", type=FOLDER, help="The same as PNG.")
@click.option("--theme", type=click.Choice(["light", "dark"]), default="light", help="The page they are drawn for.")
@click.option("--timelines", metavar="DIR", type=FOLDER,
              help="Draw each traced case and write its picture (SVG) to DIR; print their paths alone.")  # fmt: skip
@click.option("--html", metavar="[FILE]", is_flag=False, flag_value="", type=str,
              help="Write the run as one page that needs no network; default report.html beside RUN.json.")  # fmt: skip
def show(
    run_file: Path,
    markdown: bool,
    kernel: str,
    case: str,
    pictures: bool | None,
    svg: Path | None,
    png: Path | None,
    theme: str,
    timelines: Path | None,
    html: str | None,
) -> None:
    """Print a run's table, the details of failing cases, and what to do next."""
    folder = None
    asked = {form: at for form, at in (("timelines", timelines), ("svg", svg), ("png", png)) if at is not None}
    try:
        run = chosen(read_run(run_file), kernel, case)
        for form, folder in asked.items():
            _write(run, form, folder, theme, cases_alone=bool(case))
        if html is not None:
            click.echo(page_of(run, run_file, html))
        if asked or html is not None:
            return
        drawn = [] if markdown else _drawn(run, pictures)
    except KernelperfError as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNUSABLE)
    except OSError as problem:
        click.echo(f"{folder}: pictures cannot be written there ({problem.strerror}): name another folder", err=True)
        sys.exit(UNUSABLE)
    click.echo(
        render_run(run, "github" if markdown else "plain", folder=str(run_file.parent), pictures=drawn), nl=False
    )


def page_of(run: Run, run_file: Path, name: str) -> Path:
    """Write a run's page where the user wants it, and return its path.

    Raises:
        UsageError: the extra ``report`` is missing, or the place is none for a page.
    """
    path = Path(name) if name else run_file.parent / NAME
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--html: a page's name ends in .html, and {path} does not: write --html={path}.html")
    try:
        write_page(run, path)
    except OSError as problem:
        raise UsageError(f"{path}: the page cannot be written ({problem.strerror}): name another place") from None
    return path


def _drawn(run: Run, asked: bool | None) -> list[str]:
    """The pictures in characters, where they are wanted and can be shown."""
    if asked is False:
        return []
    from pytest_kernelperf.report.figure.text_pictures import text_pictures, why_not

    if why := why_not(sys.stdout, os.environ, asked=asked is True):
        if asked:
            raise UsageError(f"no pictures here: {why}")
        return []
    return list(text_pictures(run, shutil.get_terminal_size().columns))


def _write(run: Run, form: str, folder: Path, theme: str, *, cases_alone: bool) -> None:
    """Write pictures and print the path of each as it is there."""
    if form == "timelines":
        for path in write_timelines(run, folder):
            click.echo(path)
        return
    from pytest_kernelperf.report.figure.picture_file import figures_of, write_pictures
    from pytest_kernelperf.report.figure.theme import THEMES

    figures = figures_of(run, run.records, cases_alone=cases_alone)
    if not write_pictures(figures, folder, "svg" if form == "svg" else "png", THEMES[theme], click.echo):
        raise UsageError("nothing can be drawn of it: no case was timed, or has samples that are compared")
