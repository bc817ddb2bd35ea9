"""Exit codes that several commands share."""

from __future__ import annotations

UNABLE = 1
"""Something is wrong with the machine, the project or what was asked."""

UNUSABLE = 2
"""A file cannot be used."""
