"""The page that tells what a worker was at."""

from __future__ import annotations

import os

from pytest_kernelperf.worker.board import StatusBoard


def test_the_other_mapping_reads_the_last_line_written() -> None:
    """Parent and worker see the same page."""
    fd = StatusBoard.create_fd()
    writer, reader = StatusBoard(fd), StatusBoard(fd)
    os.close(fd)
    assert reader.read() == ""
    writer.write("timing head (längster_kernel)")
    assert reader.read() == "timing head (längster_kernel)"
    writer.write("short")
    assert reader.read() == "short"


def test_a_line_longer_than_the_page_is_cut_off() -> None:
    """Names of any length do no harm."""
    fd = StatusBoard.create_fd()
    board = StatusBoard(fd)
    os.close(fd)
    board.write("k" * 10_000)
    assert board.read() == "k" * 4092


def test_a_page_that_a_dying_worker_scribbled_on_reads_as_nothing() -> None:
    """A wild store may hit the page too."""
    fd = StatusBoard.create_fd()
    board = StatusBoard(fd)
    os.pwrite(fd, b"\xff" * 4096, 0)
    os.close(fd)
    assert board.read() == ""
