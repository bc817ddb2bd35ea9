"""Which kernel a launch means: names as people write them beside the names that a code object has."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ANONYMOUS = "(anonymousnamespace)::"


def find_kernel(names: Iterable[str], written: str) -> str | None:
    """The one of ``names`` that ``written`` means, or None: none, or several.

    Spaces, suffixes of integers (``4u``) and anonymous namespaces do not matter: ``tile<float, 4>`` is
    ``(anonymous namespace)::tile<float, 4u>`` where no other kernel is called so.
    """
    known = list(names)
    if written in known:
        return written
    wanted = plain_name(written)
    fitting = [name for name in known if plain_name(name) == wanted]
    return fitting[0] if len(fitting) == 1 else None


def plain_name(name: str) -> str:
    """A kernel's name without what does not matter."""
    bare = re.sub(r"\s+", "", name).removeprefix("&").removeprefix("::").replace(_ANONYMOUS, "")
    return re.sub(r"(?<=\d)[uUlL]+\b", "", bare)
