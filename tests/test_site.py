"""The documentation site builds without warnings, has every page, and loads nothing from the network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_the_navigation(site: Path) -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").as_posix()
        assert re.search(rf"(- |: ){re.escape(name)}$", navigation, re.M), f"{name} is not in mkdocs.yml"
        html = "index.html" if name == "README.md" else name.removesuffix(".md") + ".html"
        assert (site / html).exists()


def test_the_reference_has_signatures_and_docstrings(site: Path) -> None:
    page = (site / "api" / "devtools.html").read_text()
    assert "find_total_for_module" in page and "Parameters:" in page
    assert "map_batches" in (site / "api" / "distributed.html").read_text()


def test_links_to_sources_lead_to_listings(site: Path) -> None:
    listing = site / "source" / "examples" / "quantizer" / "partner.py.html"
    assert "class" in listing.read_text()
    assert 'href="source/examples/quantizer/partner.py.html"' in (site / "quantization.html").read_text()
    assert "project/ARCHITECTURE.html" in (site / "index.html").read_text()


def test_nothing_comes_from_the_network(site: Path) -> None:
    loaded = r"<(?:script|img|iframe|source)[^>]*\ssrc=\"(https?:)?//|<link[^>]*\shref=\"(https?:)?//"
    for page in site.rglob("*.html"):
        assert not re.search(loaded, page.read_text()), page
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text()), style
