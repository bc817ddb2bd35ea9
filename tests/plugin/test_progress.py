"""The line of progress, seen on a terminal: it tells where the run is, and nothing of it stays."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("pyte")
from terminal import Terminal

Watch = Callable[..., tuple[int, Terminal]]

LINE = re.compile(r"\[(\d+)/(\d+)\] scale .* at \d tokens?: (\w+)")


@pytest.fixture
def watch(stored: Any, plugin_arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Guards the child project on a terminal; its ``scale`` kernel has another body than the accepted one's."""
    monkeypatch.delenv("COLUMNS")
    stored.replace("scale.hip", "factor * x[i]", "(factor + 0.0f) * x[i]")
    # A scripted clock has a case through in half a second, of which ten drawings would show a part.
    stored.child.write("conftest.py", "from pytest_kernelperf.report import progress\nprogress.MOST_A_SECOND = 1000\n")

    def run(*arguments: str, term: str = "xterm", **terminal: Any) -> tuple[int, Terminal]:
        on_screen = terminal.pop("on_screen", lambda rows: b"")
        screen = Terminal(**terminal)
        options = ("--kernelperf", "--kernelperf-runtime=cpu", "--kernelperf-trace=never", "-p", "no:cacheprovider")
        command = (sys.executable, "-m", "pytest", *plugin_arguments, *options, *arguments)
        code = screen.run(command, stored.path, {**os.environ, "TERM": term}, on_screen)
        return code, screen

    return run


def lines(screen: Terminal) -> list[str]:
    """All lines of progress that were ever to be seen, in their order."""
    found = [row for rows in screen.seen for row in rows if LINE.match(row)]
    return [row for row, before in zip(found, ["", *found], strict=False) if row != before]


def left(screen: Terminal) -> list[str]:
    """What stayed from the first test to the tables; before and behind stand times, which wrap as they like."""
    rows = screen.text()
    first = next(place for place, row in enumerate(rows) if row.startswith("test_scale.py"))
    return rows[first : next(place for place, row in enumerate(rows) if place > first and row.startswith("===="))]


def test_a_run_is_followed_on_a_terminal(watch: Watch) -> None:
    """Case, process, blocks, estimate, interval and verdict so far; one line at a time, and none at the end."""
    code, screen = watch()
    assert code == 0
    told = "\n".join(lines(screen))
    assert re.search(r"^\[1/6\] scale plain at 1 token: compiling", told, re.M)
    assert re.search(r"timing, process 1 of 3, block 29 of 29, [\d.]+ us, [+-]?[\d.]+ % against baseline, ", told)
    assert re.search(r"process 3 of 3, block 29 of 29, .* against baseline \(.* %\), undecided so far", told)
    assert re.search(r"at most \d+ s for this case", told)
    assert re.search(r"^\[[2-6]/6\] .* about \d+ .*left$", told, re.M)
    assert all(sum(bool(LINE.match(row)) for row in rows) <= 1 for rows in screen.seen)
    assert not any(LINE.match(row) for row in screen.text())


@pytest.mark.weekly
def test_what_stays_is_what_a_run_without_the_line_leaves(watch: Watch) -> None:
    """To the last character, scrolled or not; a dumb terminal never shows the line."""
    code, screen = watch("-v", rows=12)
    assert code == 0
    assert lines(screen)
    quiet_code, quiet = watch("-v", term="dumb", rows=12)
    assert quiet_code == 0
    assert not lines(quiet)
    assert left(screen) == left(quiet)


@pytest.mark.weekly
def test_several_processes_have_one_line_and_one_that_dies_leaves_none(watch: Watch, stored: Any) -> None:
    """The cases of both are counted together; who was at a case when it died is not waited for."""
    pytest.importorskip("xdist")
    stored.replace(
        "test_scale.py",
        "def reference(tokens, x):\n",
        "def reference(tokens, x):\n"
        "    import os, pathlib\n"
        "    if tokens == 8 and not os.path.exists('died'):\n"
        "        pathlib.Path('died').touch()\n"
        "        os._exit(1)\n",
    )
    code, screen = watch("-n", "2")
    assert code == 1
    told = lines(screen)
    assert any("block 29 of 29" in line for line in told)
    assert all(int(LINE.match(line)[1]) <= 6 for line in told)  # type: ignore[index]
    assert {LINE.match(line)[2] for line in told} == {"6"}  # type: ignore[index]
    assert all(sum(bool(LINE.match(row)) for row in rows) <= 1 for rows in screen.seen)
    text = screen.text()
    assert any("crashed" in row for row in text)
    assert not any(LINE.match(row) for row in text)


@pytest.mark.weekly
def test_what_tests_print_is_not_written_over(watch: Watch, stored: Any) -> None:
    """Under -s the line goes before the user's own Python runs."""
    stored.replace(
        "test_scale.py",
        "def reference(tokens, x):\n",
        "def reference(tokens, x):\n    print('reference at', tokens, end=' and\\nmore ', flush=True)\n",
    )
    code, screen = watch("-s", rows=8)
    assert code == 0
    assert any("block 29 of 29" in line for line in lines(screen))
    _, quiet = watch("-s", term="dumb", rows=8)
    assert left(screen) == left(quiet)


@pytest.mark.weekly
def test_control_c_leaves_no_line(watch: Watch) -> None:
    """It is typed while the line is to be seen."""
    typed: list[bool] = []

    def interrupt(rows: list[str]) -> bytes:
        if typed or not any("block 29 of 29" in row for row in rows):
            return b""
        typed.append(True)
        return b"\x03"

    code, screen = watch(on_screen=interrupt)
    assert code == 2
    assert any("KeyboardInterrupt" in row for row in screen.text())
    assert not any(LINE.match(row) for row in screen.text())


@pytest.mark.weekly
@pytest.mark.parametrize("rows", [24, 3])
def test_a_narrow_terminal_is_kept_to(watch: Watch, rows: int) -> None:
    """Twenty columns: the line is cut, does not wrap, and nothing of it stays."""
    code, screen = watch("-v", rows=rows, columns=20)
    assert code == 0
    cut = re.compile(r"\[\d/6\] sca")
    assert any(cut.match(row) for rows in screen.seen for row in rows)
    assert not any(cut.match(row) for row in screen.text())
    _, quiet = watch("-v", term="dumb", rows=rows, columns=20)
    assert left(screen) == left(quiet)


@pytest.mark.weekly
def test_a_terminal_that_another_plugin_draws_on_is_left_to_it(watch: Watch, stored: Any) -> None:
    """As pytest-sugar's and pytest-rich's: reporters of their own, in the place of pytest's."""
    stored.child.write(
        "conftest.py",
        "import pytest\n"
        "class Sugar(pytest.TerminalReporter):\n"
        "    pass\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_configure(config):\n"
        "    config.pluginmanager.unregister(name='terminalreporter')\n"
        "    config.pluginmanager.register(Sugar(config), 'terminalreporter')\n",
    )
    code, screen = watch()
    assert code == 0
    assert not lines(screen)
    assert any("2 cases" in row or "4 cases" in row for row in screen.text())


@pytest.mark.weekly
@pytest.mark.parametrize("arguments", [("-q",), ("-p", "no:terminal"), ("-p", "no:capture", "-q")])
def test_fewer_words_are_kept_to(watch: Watch, arguments: tuple[str, ...]) -> None:
    """With -q there is no line, nor without pytest's terminal."""
    code, screen = watch(*arguments)
    assert code == 0
    assert not lines(screen)
