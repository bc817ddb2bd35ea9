"""``kernelperf replay``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pytest_kernelperf.replay.command import MOST_ROUNDS, ROUNDS, replay_command
from pytest_kernelperf.worker.process import worker_environment


@click.command
@click.argument("case_file", metavar="CASE.json", type=click.Path(path_type=Path))
@click.option("--arm", required=True, help="head, baseline, or another arm that the file has.")
@click.option("--rounds", type=click.IntRange(1, MOST_ROUNDS), default=ROUNDS, show_default=True,
              help="How often to run the arm's plan.")  # fmt: skip
@click.option("--trace", metavar="OUT.db", type=click.Path(dir_okay=False, path_type=Path),
              help="Record it, where the runtime is cpu or cuda.")  # fmt: skip
def replay(case_file: Path, arm: str, rounds: int, trace: Path | None) -> None:
    """Run an arm of a traced case again, from data alone: no pytest, no code of the project, no timing.

    The guard keeps CASE.json beside a failing case's traces. Only play files of your own: they hold code that is run.
    To record on an AMD GPU, put rocprofv3 in front:
    rocprofv3 --kernel-trace --output-format rocpd -- kernelperf replay CASE.json --arm head
    """
    # This process becomes the one that opens HIP, so that it is this very process that a profiler records.
    sys.stdout.flush()
    command = replay_command(case_file, arm, rounds, trace)
    os.execve(command[0], command, worker_environment(dict(os.environ)))
