"""In which order the arms are sampled: random, balanced, and the same for the same seed."""

from __future__ import annotations

import random


def order_arms(arms: tuple[str, ...], block: int, seed: int, process: int) -> tuple[str, ...]:
    """Return the order of one block.

    As many blocks in a row as there are arms form a group: within it, every arm is once in every place (a Latin
    square of rotations), and both the first order and the order of the rotations are random. Strict alternation would
    not do: successive batches alternate slightly by themselves, and on an H200 24 of 336 identical pairs were then
    told apart. It depends on nothing but its arguments, so a second look goes on where the first ended.
    """
    group, place = divmod(block, len(arms))
    generator = random.Random(f"{seed}/{process}/{group}")
    base = list(arms)
    generator.shuffle(base)
    shifts = list(range(len(arms)))
    generator.shuffle(shifts)
    shift = shifts[place]
    return tuple(base[shift:] + base[:shift])
