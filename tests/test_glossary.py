"""The glossary: links exist, terms are in order, and the data types of the pipeline have entries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<meaning>[^|]+) \| \[[^]]+\]\((?P<link>[^)]+)\) \|$")
HEAD = ("| term | meaning | code |", "|---|---|---|")


def sections() -> dict[str, list[re.Match[str]]]:
    """Returns the rows of each section by its title."""
    found: dict[str, list[re.Match[str]]] = {}
    for line in GLOSSARY.read_text().splitlines():
        if line.startswith("## "):
            rows = found.setdefault(line.removeprefix("## "), [])
        elif line.startswith("|") and line not in HEAD:
            match = ROW.match(line)
            assert match is not None, f"a row is not `| term | meaning | link |`: {line}"
            rows.append(match)
    return found


ROWS = [row for rows in sections().values() for row in rows]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["term"]))
def test_a_row(row: re.Match[str]) -> None:
    assert (GLOSSARY.parent / row["link"]).exists(), f"there is no {row['link']}"
    assert row["meaning"].endswith("."), "a meaning is one or two sentences"
    assert len(row["meaning"]) <= 160, "a meaning is short"


def test_each_term_is_there_once() -> None:
    terms = [row["term"].lower() for row in ROWS]
    assert len(terms) == len(set(terms))


def pipeline() -> list[str]:
    """Returns the data types between the stages in the diagram of ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    (diagram,) = re.findall(r"## How a model becomes a file\n+```\n(.*?)```", text, re.DOTALL)
    parts = re.split(r"─+[^─▶]*─*▶|\+|\n", diagram)
    return [part.strip().removesuffix(" bytes") for part in parts if part.strip()]


def test_the_pipelines_data_types_are_explained() -> None:
    terms = {row["term"].strip("`").lower() for row in ROWS} | {"nn.module", "runtime: load · init · execute"}
    named = {name.lower() for name in pipeline()}
    assert len(named) >= 8, named
    missing = {name for name in named if name not in terms and name.removesuffix("s") not in terms}
    assert not missing, f"ARCHITECTURE.md names {missing}, which the glossary does not explain"
