"""``report.html`` in headless Chromium, offline, with whatever it complains of; and axe, which judges accessibility.

Chromium is the system's own; Playwright only speaks to it, and downloads nothing. axe-core is a package of npm.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from perfetto_ui import BROWSERS

Browser: TypeAlias = Any
Page: TypeAlias = Any
"""Playwright's, which is installed only where pages are opened."""

AXE = "4.14.1"
BUILD = Path(__file__).parents[2] / "build"
NPM_S = 60
_THROUGH = """async () => {
  document.querySelectorAll("details").forEach(one => { one.open = true; });
  for (const picture of document.querySelectorAll(".picture")) {
    picture.scrollIntoView({ behavior: "instant" });
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
  }
}"""
WIDE, PHONE = (1280, 900), (390, 844)


def missing() -> str:
    """Return what is missing for a browser, empty where nothing is."""
    if not any(map(shutil.which, BROWSERS)):
        return "Chromium is not installed (apt install chromium)"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "Playwright is not installed (pip install playwright); it downloads no browser here"
    return ""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


class Reader:
    """Somebody who reads a page: offline, with a window of a size, in light or dark."""

    def __init__(self, browser: Browser, size: tuple[int, int] = WIDE, scheme: str = "light", **more: Any) -> None:
        self._context = browser.new_context(
            offline=True, color_scheme=scheme, viewport={"width": size[0], "height": size[1]}, **more
        )
        self.page: Page = self._context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda problem: self.complaints.append(str(problem)))
        self.page.on("dialog", self._refuse)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _refuse(self, dialog: Any) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def open(self, path: Path, fragment: str = "") -> Reader:
        """Open a page, at a place of it."""
        self.page.goto(path.as_uri() + (f"#{fragment}" if fragment else ""))
        return self

    def draw_all(self) -> None:
        """Open every case, scroll through the page, and wait until every picture is drawn or has failed."""
        self.page.evaluate(_THROUGH)
        self.page.locator(".picture:not([data-failed]):not(:has(svg))").first.wait_for(state="detached")

    def close(self) -> None:
        """Close the window."""
        self._context.close()


def find_axe() -> Path | str:
    """Return axe's script, fetched from npm once, or why there is none."""
    folder = BUILD / f"axe-core-{AXE}"
    script = folder / "package" / "axe.min.js"
    if script.exists():
        return script
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed, which fetches axe-core"
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", f"axe-core@{AXE}", "--pack-destination", str(folder), "--silent"]
    try:
        subprocess.run(command, capture_output=True, check=True, timeout=NPM_S, cwd=folder)
        with tarfile.open(folder / f"axe-core-{AXE}.tgz") as packed:
            packed.extract("package/axe.min.js", folder, filter="data")
    except (subprocess.SubprocessError, OSError, tarfile.TarError, KeyError) as problem:
        return f"axe-core {AXE} could not be fetched from npm ({problem})"
    return script


def violations(page: Page, axe: Path) -> list[str]:
    """Return what axe finds wrong with a page as it stands: rule, element, why."""
    page.evaluate(axe.read_text("utf-8"))
    found = page.evaluate("axe.run()")
    assert found["passes"], "axe looked at nothing"
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
