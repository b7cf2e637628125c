"""Docstrings describe each parameter of the functions, methods and classes in docs/api."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import griffe

ROOT = Path(__file__).parents[1]


def entries() -> list[str]:
    """Returns the modules and objects in the pages of docs/api."""
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    return [name for page in pages for name in re.findall(r"^::: (\S+)", page.read_text(), re.M)]


def problems_of(shown: griffe.Object | griffe.Alias) -> Iterator[str]:
    """Returns the problems in the docstrings of an object and its public members."""
    if isinstance(shown, griffe.Function):
        yield from undescribed(shown, shown, docstring(shown))
        return
    if isinstance(shown, griffe.Class):
        own = shown.members.get("__init__")
        if "dataclass" in shown.labels:
            if not re.search(r"^(Args|Attributes):$", docstring(shown), re.M):
                yield f"{shown.path} has no section Args or Attributes"
        elif isinstance(own, griffe.Function):
            yield from undescribed(shown, own, docstring(shown) + "\n" + docstring(own))
    for member in shown.members.values():
        if not member.is_alias and not member.is_module and not member.name.startswith("_"):
            yield from problems_of(member)


def docstring(shown: griffe.Object | griffe.Alias) -> str:
    return shown.docstring.value if shown.docstring else ""


def undescribed(shown: griffe.Object | griffe.Alias, function: griffe.Function, text: str) -> Iterator[str]:
    """Returns the parameters without an entry in Args. An entry may describe several: `rows, columns:`."""
    section = re.search(r"^Args:\n((?:[ ]+.*\n?|\n)*)", text, re.M)
    described = re.findall(r"^ +([\w*, ]+):", section[1], re.M) if section else []
    names = {name.strip("* ") for entry in described for name in entry.split(",")}
    missing = [p.name for p in function.parameters if p.name not in {"self", "cls", *names}]
    if missing:
        yield f"{shown.path} does not describe {', '.join(missing)} in a section Args"


def load(source: Path) -> griffe.GriffeLoader:
    loader = griffe.GriffeLoader(search_paths=[source])
    loader.load("rushlight" if (source / "rushlight").exists() else "sample")
    return loader


def test_every_parameter_in_the_reference_is_described() -> None:
    modules = load(ROOT / "src").modules_collection
    found = [problem for name in entries() for problem in problems_of(modules[name])]
    assert not found, "\n".join(found)


def test_a_missing_description_is_found(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(
        "from dataclasses import dataclass\n"
        'def scale(x, y):\n    """Scales.\n\n    Args:\n        x: a tensor.\n    """\n'
        'def both(x, y):\n    """Adds.\n\n    Args:\n        x, y: tensors.\n    """\n'
        'class Box:\n    """A box."""\n    def __init__(self, size):\n        self.size = size\n'
        '@dataclass\nclass Row:\n    """A row."""\n    size: int\n'
    )
    found = list(problems_of(load(tmp_path).modules_collection["sample"]))
    assert found == [
        "sample.scale does not describe y in a section Args",
        "sample.Box does not describe size in a section Args",
        "sample.Row has no section Args or Attributes",
    ]
