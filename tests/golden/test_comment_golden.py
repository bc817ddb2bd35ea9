"""The comment in each of its states, compared with the texts in ``comment/``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from comment_states import STATES, TEXTS, text_of

Golden = Callable[[str, "bytes | str"], None]


@pytest.mark.parametrize("state", [*STATES, *TEXTS])
def test_the_comment_reads_as_it_did(state: str, golden: Golden) -> None:
    """Claim: its first line says what to act on; what follows is what there is to say in this state, and no more."""
    golden(f"comment/{state}.md", text_of(state) + "\n")
