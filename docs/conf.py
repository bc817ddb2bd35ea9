"""The book: these pages, as a web site. They stay plain Markdown that GitHub shows as it is."""

from __future__ import annotations

import re
from pathlib import Path

_PACKAGE = Path(__file__).parents[1] / "pytest_kernelperf" / "__init__.py"

project = "pytest-kernelperf"
release = re.search(r'^__version__ = "(.+)"$', _PACKAGE.read_text(encoding="utf-8"), re.MULTILINE)[1]
author = copyright = "the authors of pytest-kernelperf"

extensions = ["myst_parser", "sphinx_external_toc"]
external_toc_path = "_toc.yml"
exclude_patterns = ["made", "schema"]

# Every heading can be linked to, and a link to one that is not there is an error.
myst_heading_anchors = 4
# A reference that leads nowhere is an error too: scripts/docs turns warnings into errors.
nitpicky = True

html_theme = "furo"
html_title = f"pytest-kernelperf {release}"
# Nothing is fetched from elsewhere, and nothing is said of where a page was built.
html_copy_source = False
html_show_copyright = False
