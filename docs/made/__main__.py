"""Write what the book holds of the code, and say what was stale."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from made.apart import table
from made.commands import sections
from made.files import FILES, File
from made.schema import schema_of, text_of
from made.table import tables_of

DOCS = Path(__file__).parents[1]
FORMATS = DOCS / "formats.md"
COMMANDS = DOCS / "commands.md"
WHY = DOCS / "why.md"


def made() -> Iterator[tuple[Path, str]]:
    """Yield each file that is made, or holds something that is, with the text that it must have.

    Raises:
        ValueError: a page lacks a place for what is made.
    """
    for file in FILES:
        yield DOCS / "schema" / f"{file.name}.json", text_of(schema_of(file))
    page, known = FORMATS.read_text(encoding="utf-8"), set[str]()
    for file in FILES:
        page = placed(page, file.name, _section(file, known))
    yield FORMATS, page
    yield COMMANDS, placed(COMMANDS.read_text(encoding="utf-8"), "commands", sections())
    yield WHY, placed(WHY.read_text(encoding="utf-8"), "apart", table())


def placed(page: str, name: str, text: str) -> str:
    """Put a text in its place in a page.

    Raises:
        ValueError: the place is not there, or there twice.
    """
    begin, end = f"<!-- made by scripts/schemas: {name} -->", f"<!-- end of {name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"a page needs one line {begin!r}, and one {end!r} behind it")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"


def stale() -> list[tuple[Path, str]]:
    """Return the files that are not what the code says, with what they should be."""
    return [(path, text) for path, text in made() if not path.exists() or path.read_text(encoding="utf-8") != text]


def _section(file: File, known: set[str]) -> str:
    history = f"Versions: {file.history}\n\n" if file.history else ""
    return history + tables_of(file, known)


if __name__ == "__main__":
    for path, text in stale():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(DOCS.parent))
