"""Kernels by the names that people write: ``scale``, ``ns::scale``, ``twice<float>`` for mangled symbols."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable

from pytest_kernelperf.kernel_name import find_kernel
from pytest_kernelperf.runtime.loop_native import open_library

MOST_CHARACTERS = 65536


def written_names(symbols: Iterable[str]) -> dict[str, str]:
    """For each C++ symbol, the name without return type and parameters; with parameters where two symbols share it."""
    found: dict[str, dict[str, str]] = {}
    for symbol in symbols:
        if symbol.startswith("_Z"):
            whole = demangle(symbol).removeprefix("void ")
            found.setdefault(bare_name(whole), {})[whole] = symbol
    names: dict[str, str] = {}
    for bare, overloads in found.items():
        names |= overloads if len(overloads) > 1 else dict.fromkeys([bare], *overloads.values())
    return names


def find_symbol(symbols: Iterable[str], written: str) -> str | None:
    """The symbol that a name or name expression means (``kernel_name.find_kernel``), or None."""
    names = written_names(symbols)
    found = find_kernel(names, written)
    return None if found is None else names[found]


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
    demangled = _demangled(symbol)
    if demangled is None and re.search("DF16[_b]", symbol):
        # C++ libraries of before 2023 know neither _Float16 nor bfloat16; other types of as many bits stand in.
        demangled = _demangled(symbol.replace("DF16_", "Dd").replace("DF16b", "De"))
        demangled = demangled and re.sub(r"\bdecimal64\b", "_Float16", re.sub(r"\bdecimal128\b", "__bf16", demangled))
    return demangled or symbol


def _demangled(symbol: str) -> str | None:
    text = ctypes.create_string_buffer(MOST_CHARACTERS)
    failed = open_library().kernelperf_demangle(symbol.encode(), text, len(text))
    return None if failed else text.value.decode(errors="replace")
