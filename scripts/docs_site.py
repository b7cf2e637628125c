"""Hooks for MkDocs. They add pages for Markdown files outside docs/ and for linked source files.

A link in a Markdown file is relative to the path of this file in the repository. On the site, ARCHITECTURE.md
and other pages of the root are in project/. Files of other folders are in source/, as listings.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
LANGUAGES = {".py": "python", ".cpp": "cpp", ".h": "cpp", ".fbs": "text", ".md": "markdown"}

_HEAD = "---\nsearch:\n  exclude: true\n---\n\n"
_LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
_REMOTE = re.compile(r"^[a-z]+:")
_FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


def place_on_site(path: str) -> str:
    """Returns the page for a file of the repository, such as "source/examples/digits/quantized.py.md"."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        return f"source/{path}/README.md"
    return f"project/{path}" if path in PROJECT else f"source/{path}.md"


def place_in_repository(page: str) -> str:
    """Returns the file of the repository that a page shows."""
    if page.startswith("project/"):
        return page.removeprefix("project/")
    return page.removeprefix("source/").removesuffix(".md") if page.startswith("source/") else f"docs/{page}"


def targets(path: str, text: str) -> list[str]:
    """Returns the files and folders of the repository to which a page links."""
    links = (match[1] for match in _LINK.finditer(_FENCE.sub("", text)))
    return [resolve(path, link) for link in links if not _REMOTE.match(link)]


def resolve(path: str, link: str) -> str:
    """Returns the file or folder of the repository that is the target of a link."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def listing(path: str) -> str:
    """Returns a page with the text of a file or the names in a folder. The search index excludes it."""
    if (ROOT / path).is_dir():
        names = sorted(item.name for item in (ROOT / path).iterdir() if not item.name.startswith(("_", ".")))
        return f"{_HEAD}# {path}\n\n" + "".join(f"- `{name}`\n" for name in names)
    language = LANGUAGES.get(Path(path).suffix, "text")
    return f"{_HEAD}# {path}\n\n`````{language}\n{(ROOT / path).read_text()}`````\n"


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are not in docs/."""
    from mkdocs.structure.files import File

    texts = {path: (ROOT / path).read_text() for path in PROJECT if path != "README.md"}
    for path, text in texts.items():
        files.append(File.generated(config, place_on_site(path), content=text))
    texts |= {f"docs/{file.src_uri}": file.content_string for file in files if file.src_uri.endswith(".md")}
    linked = {target for path, text in texts.items() for target in targets(path, text)}
    for path in sorted(linked):
        if not path.startswith("docs/") and path not in PROJECT and (ROOT / path).exists():
            files.append(File.generated(config, place_on_site(path), content=listing(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replaces the links of a page by links to pages of the site. MkDocs warns about missing targets."""
    uri = page.file.src_uri
    if uri.startswith("source/"):
        return markdown
    path = place_in_repository(uri)

    def on_site(match: re.Match[str]) -> str:
        link, anchor = match[1], match[2] or ""
        if _REMOTE.match(link):
            return match[0]
        target = resolve(path, link)
        # The home page of the site is docs/README.md. Links to the README.md of the repository lead there.
        place = "README.md" if target == "README.md" else place_on_site(target)
        return posixpath.relpath(place, posixpath.dirname(uri) or ".") + anchor

    return "".join(
        part if part.startswith("```") else _LINK.sub(on_site, part)
        for part in re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    )
