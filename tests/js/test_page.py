"""examples/browser: the page recognizes digits. `make js` runs this file in Chromium."""

from __future__ import annotations

import functools
import http.server
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(
    not os.environ.get("RUSHLIGHT_JS") or CHROMIUM is None, reason="`make js` runs it, with Chromium"
)

CIRCLE = [[140 + 60 * math.sin(i / 4), 140 - 95 * math.cos(i / 4)] for i in range(26)]
DIGITS = {
    0: [CIRCLE],
    1: [[[105, 75], [140, 40], [140, 240]]],
    7: [[[80, 50], [200, 50], [125, 240]]],
}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the page. An image is delayed by the seconds in `wait` of the address.

    Chromium prints the page when nothing is under way in the network, though a module is still compiled.
    """

    def do_GET(self) -> None:
        address = urllib.parse.urlsplit(self.path)
        if address.path == "/wait":
            time.sleep(float(address.query))
            self.send_error(404)
        elif address.path == "/index.html":
            page = Path(self.directory, "index.html").read_text()
            text = page.replace("</html>", f'<img hidden src="/wait?{address.query}"></html>').encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text)
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, str(ROOT / "examples/browser/build.py"), str(folder)]
    subprocess.run(build, check=True, capture_output=True)
    handler = functools.partial(Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()


def status(address: str, drawing: object) -> str:
    """Returns the status text of the page for a drawing, after the network is loaded."""
    assert CHROMIUM is not None
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    text = ""
    for seconds in (3, 10, 40):
        url = f"{address}?{seconds}#{urllib.parse.quote(json.dumps(drawing))}"
        done = subprocess.run(
            [CHROMIUM, *options, url], capture_output=True, text=True, timeout=200, check=True
        )
        found = re.search(r'<p id="status"[^>]*>(.*?)</p>', done.stdout)
        assert found is not None
        text = found[1]
        if "loading" not in text:
            break
    return text


@pytest.mark.parametrize("digit", DIGITS)
def test_a_drawn_digit_is_recognized(address: str, digit: int) -> None:
    assert status(address, DIGITS[digit]).startswith(f"This is a {digit}. The network took ")


def test_an_empty_page_asks_for_a_drawing(address: str) -> None:
    assert status(address, []) == "Draw a digit in the square."
