"""The library that draws the figures (Vega, Vega-Lite, Vega-Embed), as one text without imports.

vl-convert takes a second or two for that, so the text is kept in the user's cache: it depends on its versions alone.
"""

from __future__ import annotations

import base64
import hashlib
import os
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from pytest_kernelperf.atomic_write import write_atomically

SNIPPET = "window.vegaEmbed = vegaEmbed;"
MOST_BYTES = 16 * 1024 * 1024


class Library(NamedTuple):
    """``deflated``: base64 of the text's zlib stream. ``digest``: its SHA-256 as a content security policy has it."""

    deflated: str
    digest: str


def load_library(cache: Path | None = None) -> Library:
    """Return the library, out of ``cache`` (default: the user's) where it lies there whole.

    Raises:
        ImportError: the extra ``report`` is not installed.
    """
    import altair  # only here: neither is part of a plain installation
    import vl_convert

    lite = altair.SCHEMA_VERSION.lstrip("v").rpartition(".")[0]  # of the specifications that it is to draw
    names = (version("vl-convert-python"), vl_convert.get_vega_version(), vl_convert.get_vega_embed_version(), lite)
    path = (cache or cache_folder()) / f"vega-{'-'.join(names)}.zlib"
    data = _kept(path)
    if data is None:
        data = vl_convert.javascript_bundle(SNIPPET, vl_version=lite).encode()
        _keep(path, data)
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode("ascii")
    return Library(base64.b64encode(zlib.compress(data, 6)).decode("ascii"), f"sha256-{digest}")


def cache_folder() -> Path:
    """Return where this package keeps what it can make again: ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "kernelperf" / "report"


def _kept(path: Path) -> bytes | None:
    """A zlib stream ends in a checksum, so a damaged file is none."""
    try:
        stream = zlib.decompressobj()
        data = stream.decompress(path.read_bytes(), MOST_BYTES)
        return data if stream.eof else None
    except (OSError, zlib.error):
        return None


def _keep(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, zlib.compress(data, 6))
    except OSError:
        pass  # it is made anew next time
