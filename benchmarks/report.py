"""How long ``report.html`` takes to write and to open, and how large it is, beside ``json.dump`` of the same run.

    scripts/bench report                       500 cases, 30 blocks, 5 processes
    scripts/bench report --cases 2000

Seconds are the fastest of some runs of a process each, less what it takes to make the run; those of the page hold the
imports of Jinja2 and Altair. "anew" also bundles the drawing library, as on the first page of a machine. The first
paint is Chromium's own figure, counted from the beginning of the navigation; filtering is from the click on a verdict
until the next frame has been drawn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

import page_browser
from tabulate import tabulate

HELPERS = sys.path[0]
MAKE = "import sys, time, pathlib, report_runs; run = report_runs.measured_run(*map(int, sys.argv[2:])); "
WRITERS = {
    "json.dump": "import json, msgspec; plain = msgspec.to_builtins(run); begin_s = time.perf_counter(); "
    "json.dump(plain, open(sys.argv[1], 'w')); ",
    "run.json": "from pytest_kernelperf.report.run_file import write_run; begin_s = time.perf_counter(); "
    "write_run(pathlib.Path(sys.argv[1]), run); ",
    "report.html": "from pytest_kernelperf.report.html.file import write_page; begin_s = time.perf_counter(); "
    "write_page(run, pathlib.Path(sys.argv[1])); ",
}
TOLD = "print(time.perf_counter() - begin_s)"
PAINT = """async () => {
  for (let tries = 0; tries < 200; tries++) {
    const found = performance.getEntriesByName("first-contentful-paint")[0];
    if (found) return found.startTime / 1000;
    await new Promise(done => setTimeout(done, 20));
  }
  throw new Error("nothing was painted");
}"""
FILTER = """async () => {
  const begin = performance.now();
  document.querySelector('.filter [data-label]:not([data-label=""])').click();
  await new Promise(requestAnimationFrame);
  await new Promise(done => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(0);
  });
  return (performance.now() - begin) / 1000;
}"""


def written(name: str, path: Path, size: tuple[int, int, int], cache: Path) -> float:
    """Write the run in a process of its own; return its seconds."""
    environment = os.environ | {"PYTHONPATH": HELPERS, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", MAKE + WRITERS[name] + TOLD, str(path), *map(str, size)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def opened(path: Path, repeat: int) -> dict[str, float]:
    """Open a page some times; return the middle seconds until its first paint, and for filtering it."""
    paints, filters = [], []
    with page_browser.chromium() as browser:
        for _ in range(repeat):
            reader = page_browser.Reader(browser).open(path)
            paints.append(reader.page.evaluate(PAINT))
            reader.page.wait_for_timeout(1500)  # what stands open is being drawn
            filters.append(reader.page.evaluate(FILTER))
            reader.close()
    return {"first paint": statistics.median(paints), "filter": statistics.median(filters)}


def measured(size: tuple[int, int, int], repeat: int) -> dict[str, dict[str, float]]:
    """Return seconds and bytes of each way to write a run, and seconds of what a reader waits for."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page, cache = folder / "report.html", folder / "cache"
        found["report.html, anew"] = {"time_s": written("report.html", page, size, cache)}
        for writer in WRITERS:
            path = page if writer == page.name else folder / "run.json"
            time_s = min(written(writer, path, size, cache) for _ in range(repeat))
            found[writer] = {"time_s": time_s, "size_bytes": float(path.stat().st_size)}
        if problem := page_browser.missing():
            print(f"not opened: {problem}")
        else:
            found |= {what: {"time_s": time_s} for what, time_s in opened(page, repeat).items()}
    return found


def main() -> None:
    """Write and open the page, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=3, help="times that each is done")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE too")
    arguments = parser.parse_args()
    size = (arguments.cases, arguments.blocks, arguments.processes)
    found = measured(size, arguments.repeat)
    plain = found["json.dump"]
    print(f"{size[0]:,} cases of {size[1]} blocks in {size[2]} processes, two arms each")
    rows = [_row(what, of, plain) for what, of in found.items()]
    heads = ("what", "s", "beside json.dump", "MB", "beside json.dump")
    print(tabulate(rows, headers=heads, colalign=("left", *["right"] * 4), disable_numparse=True))
    if arguments.json:
        arguments.json.write_text(json.dumps({"size": size, "figures": found}, indent=1) + "\n")


def _row(what: str, of: dict[str, float], plain: dict[str, float]) -> tuple[Any, ...]:
    seconds = f"{of['time_s']:.2f}"
    beside = f"{of['time_s'] / plain['time_s']:.2f}x" if what.startswith(("report", "run", "json")) else ""
    if "size_bytes" not in of:
        return (what, seconds, beside, "", "")
    return (what, seconds, beside, f"{of['size_bytes'] / 1e6:.2f}", f"{of['size_bytes'] / plain['size_bytes']:.2f}x")


if __name__ == "__main__":
    main()
