"""Kernels by the names that people write: ``scale``, ``ns::scale``, ``twice<float>`` for mangled symbols."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable

from pytest_kernelperf.runtime.loop_native import open_library

MOST_CHARACTERS = 65536


def written_names(symbols: Iterable[str]) -> dict[str, str]:
    """For each C++ symbol, the name without return type and parameters; names that two symbols share are left out."""
    found: dict[str, list[str]] = {}
    for symbol in symbols:
        if symbol.startswith("_Z"):
            found.setdefault(bare_name(demangle(symbol)), []).append(symbol)
    return {name: symbols_of[0] for name, symbols_of in found.items() if len(symbols_of) == 1}


def find_symbol(symbols: Iterable[str], written: str) -> str | None:
    """The symbol that a name or name expression means, or None; spaces and integer suffixes do not matter."""
    wanted = _plain(written)
    fitting = [symbol for name, symbol in written_names(symbols).items() if _plain(name) == wanted]
    return fitting[0] if len(fitting) == 1 else None


def bare_name(demangled: str) -> str:
    """``ns::twice<float>`` of ``void ns::twice<float>(float*, int)``."""
    end = demangled.rfind(")")
    depth = 0
    for at in range(end, -1, -1):
        depth += {")": 1, "(": -1}.get(demangled[at], 0)
        if depth == 0:
            return demangled[:at].removeprefix("void ") if end >= 0 else demangled
    return demangled


def demangle(symbol: str) -> str:
    """A C++ symbol as the source writes it; anything else as it is."""
    text = ctypes.create_string_buffer(MOST_CHARACTERS)
    failed = open_library().kernelperf_demangle(symbol.encode(), text, len(text))
    return symbol if failed else text.value.decode(errors="replace")


def _plain(name: str) -> str:
    return re.sub(r"(?<=\d)[uUlL]+\b", "", re.sub(r"\s+", "", name.lstrip("&")))
