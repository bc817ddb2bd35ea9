"""Each baseline file is an item: it fails for what is wrong with the file and for cases that nobody has any more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelperf.plugin.office import Office


class BaselineProblem(Exception):
    """What is wrong with a baseline file, in sentences."""


class BaselineItem(pytest.Item):
    """One baseline file."""

    def __init__(self, *, file: Path, office: Office, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.path = file
        self._office = office

    @classmethod
    def all_of(cls, session: pytest.Session, office: Office) -> Iterator[BaselineItem]:
        """Yield an item for every baseline file; none while baselines are updated, which checks them at its end."""
        for file in office.baseline_files():
            name = office.shown(file)
            yield cls.from_parent(session, name=f"baseline {name}", nodeid=name, file=file, office=office)

    def runtest(self) -> None:
        """Check the file."""
        found = self._office.problems(self.path)
        if found:
            raise BaselineProblem("\n".join(found))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the sentences alone; anything else is an error of ours and keeps its traceback."""
        if isinstance(excinfo.value, BaselineProblem):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the item in reports."""
        return self.path, None, self.name
