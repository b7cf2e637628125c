"""Runs a page in headless Chromium until it has posted its results."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")


def _page_seconds(profile: str) -> float:
    """Returns the processor seconds of the main threads of all pages of a browser with this profile."""
    seconds = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_text()
            if "--type=renderer" in command and f"--user-data-dir={profile}" in command:
                seconds += int((folder / "task" / folder.name / "schedstat").read_text().split()[0]) / 1e9
        except (FileNotFoundError, ProcessLookupError):
            continue  # the process has ended
    return seconds


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site. /seconds returns the processor time, and /posted waits for a POST to /results."""

    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def __init__(
        self,
        *arguments: Any,
        answers: list[Any],
        posted: threading.Event,
        isolated: bool,
        profile: str,
        directory: str,
    ) -> None:
        self.answers, self.posted, self.isolated, self.profile = answers, posted, isolated, profile
        super().__init__(*arguments, directory=directory)

    def end_headers(self) -> None:
        if self.isolated:
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answers.append(json.loads(body))
        self.send_response(204)
        self.end_headers()
        self.posted.set()

    def do_GET(self) -> None:
        if self.path == "/posted":
            self.posted.wait()
            self.send_error(404)
        elif self.path == "/seconds":
            self._answer(str(_page_seconds(self.profile)), "text/plain")
        elif self.path.startswith("/index.html"):
            # The browser takes the screenshot after the page is loaded. This image delays it until there are
            # results.
            page = Path(self.directory, "index.html").read_text()
            self._answer(page.replace("</html>", '<img hidden src="/posted"></html>'), "text/html")
        else:
            super().do_GET()

    def _answer(self, text: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def chromium() -> str:
    """Returns the path of Chromium. Raises RuntimeError if it is not installed."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise RuntimeError("no Chromium found: scripts/system-packages browser installs it")
    return found


def run_page(site: Path, query: str, *, isolated: bool, screenshot: Path, patience: float = 900) -> Any:
    """Opens index.html of a site in headless Chromium, and waits for its results.

    Args:
        site: the folder of the site.
        query: the query of the address, without the question mark.
        isolated: whether the page is isolated from other origins; threads need this.
        screenshot: the file for a picture of the page with its results, or None.
        patience: the time limit in seconds.

    Returns:
        The JSON value that the page posted to /results.

    Raises:
        RuntimeError: the browser ended without results, or the page posted an error.
    """
    answers: list[Any] = []
    posted = threading.Event()
    with tempfile.TemporaryDirectory() as profile:
        handler = functools.partial(
            _Handler, directory=str(site), answers=answers, posted=posted, isolated=isolated, profile=profile
        )
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [
            chromium(),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=900,520",
            f"--user-data-dir={profile}",
            f"--timeout={int(1000 * patience)}",
            f"--screenshot={screenshot}",
            f"http://127.0.0.1:{server.server_port}/index.html?{query}",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=patience + 30)
        finally:
            posted.set()
            server.shutdown()
    if not answers:
        raise RuntimeError(f"the page posted no results:\n{done.stderr[-3000:]}")
    if "error" in answers[0]:
        raise RuntimeError(answers[0]["error"])
    return answers[0]
