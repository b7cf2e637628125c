"""Each system reads the packages (.ptn) of the other, and finds the same tables and tensors in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interop.cases import Ask
from tests.interop.native_cases import NAMES, THEIRS, facts_of, programs

from rushlight.compat.native.lowering import check_program, to_native
from rushlight.compat.native.package import read_ptn
from rushlight.compat.native.tables import deserialize_program


def facts_here(path: Path) -> dict[str, Any]:
    ptg, tensors = read_ptn(path)
    program = deserialize_program(ptg)
    check_program(program, tensors)
    facts: dict[str, Any] = json.loads(json.dumps(facts_of(program, tensors)))
    return facts


def operators(facts: dict[str, Any]) -> dict[str, list[str]]:
    """Returns the operators of each method in order."""
    methods = facts["program"]["methods"]
    return {m["name"]: [n["target"] for n in m["graph"]["nodes"] if n["target"]] for m in methods}


@pytest.mark.parametrize("name", THEIRS)
def test_its_packages_are_read_here(name: str, peer: Ask, tmp_path: Path) -> None:
    peer({"package": name, "folder": str(tmp_path)})
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert facts_here(tmp_path / "model.ptn") == facts
    to_native(programs(name)).save(tmp_path / "ours.ptn")
    ours = facts_here(tmp_path / "ours.ptn")
    assert operators(ours) == operators(facts)
    assert sorted(ours["tensors"].values()) == sorted(facts["tensors"].values())


@pytest.mark.parametrize("name", NAMES)
def test_our_packages_are_read_there(name: str, peer: Ask, tmp_path: Path) -> None:
    to_native(programs(name)).save(tmp_path / "ours.ptn")
    peer({"unpack": str(tmp_path / "ours.ptn"), "facts": str(tmp_path / "facts.json")})
    assert json.loads((tmp_path / "facts.json").read_text()) == facts_here(tmp_path / "ours.ptn")
