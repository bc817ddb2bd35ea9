"""All checks of all rules, on as many cores as there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from verdict.checks import Check, Plan, check_ours, check_peers, check_peers_interleaved
from verdict.contrasts import Contrast
from verdict.peers import PEERS

MOST_CORES = 8
PIECES = 16


class Checked(NamedTuple):
    """Our rule on interleaved pairs; the peers as they are used, and on the same interleaved pairs."""

    ours: list[Check]
    peers: list[Check]
    interleaved: list[Check]


def check_all(contrasts: Sequence[Contrast], plan: Plan, with_peers: bool) -> Checked:
    """Check everything; the order of the checks does not depend on the number of cores."""
    pieces = [list(contrasts[number::PIECES]) for number in range(PIECES)]
    ours = [(check_ours, piece, plan) for piece in pieces if piece]
    names = range(len(PEERS)) if with_peers else ()
    peers = [(check_one_peer, (number, contrasts), plan) for number in names]
    interleaved = [(check_one_interleaved, (number, contrasts), plan) for number in names]
    with ProcessPoolExecutor(min(MOST_CORES, os.cpu_count() or 1)) as pool:
        waiting = [[pool.submit(collect, *task) for task in tasks] for tasks in (ours, peers, interleaved)]
        found = [[check for future in futures for check in future.result()] for futures in waiting]
    return Checked(*found)


def collect(check: Callable[..., Iterator[Check]], what: object, plan: Plan) -> list[Check]:
    """Run one piece of the work."""
    return list(check(what, plan))


def check_one_peer(what: tuple[int, Sequence[Contrast]], plan: Plan) -> Iterator[Check]:
    """One peer, by its number: rules are functions, some of which cannot be sent to another process."""
    number, contrasts = what
    return check_peers(contrasts, plan, [PEERS[number]])


def check_one_interleaved(what: tuple[int, Sequence[Contrast]], plan: Plan) -> Iterator[Check]:
    """One peer on interleaved pairs."""
    number, contrasts = what
    return check_peers_interleaved(contrasts, plan, [PEERS[number]])
