"""The command: runs pytest in the user's project with the calibrating plugin, and reads what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from pytest_kernelperf.calibrate.wish import Outcome, Wish
from pytest_kernelperf.pytest_process import Finished, run_pytest

PLUGIN = "pytest_kernelperf.plugin.calibrating"


def calibrate(
    arguments: Sequence[str], wish: Wish, *, runtime: str = "auto", say: Callable[[str], None] = lambda line: None
) -> Outcome:
    """Calibrate what pytest collects with ``arguments`` in the current folder.

    Args:
        arguments: paths and options as for ``pytest --kernelperf``.
        wish: what is asked for; its ``outcome`` is set here.
        runtime: as ``--kernelperf-runtime`` has it.
        say: told where the run is, a line at a time.

    Raises:
        KeyboardInterrupt: as it comes; nothing was stored then.
    """
    with TemporaryDirectory(prefix="kernelperf-calibrate-") as name:
        scratch = Path(name)
        outcome, wished = scratch / "outcome.json", scratch / "wish.json"
        wished.write_bytes(msgspec.json.encode(msgspec.structs.replace(wish, outcome=str(outcome))))
        finished = run_pytest(
            [
                *("--kernelperf", f"--kernelperf-runtime={runtime}", f"--kernelperf-out={scratch / 'out'}"),
                *("-o", "kernelperf_page=false"),
                "--kernelperf-trace=never",
                *("-p", PLUGIN, f"--kernelperf-calibrate={wished}"),
                *arguments,
            ],
            scratch=scratch,
            on_line=say,
        )
        if not outcome.exists():
            return Outcome(problem=_failed(finished))
        return msgspec.json.decode(outcome.read_bytes(), type=Outcome)


def _failed(finished: Finished) -> str:
    how = f"exit code {finished.code}" if finished.code >= 0 else f"it died of signal {-finished.code}"
    return f"pytest could not run here ({how}); the end of what it said:\n{finished.last_lines}"
