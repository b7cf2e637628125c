"""Each side's Inspector opens the other's ETDumps and ETRecords, and finds the same operators."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.devtools.test_inspector import Recorded
from tests.interop.cases import Ask, inspector_facts

from rushlight.devtools.inspector import Inspector, compare_values


def assert_agree(inspector: Inspector, facts: Path) -> None:
    ours, its = inspector_facts(inspector), json.loads(facts.read_text())
    assert [row[:3] for row in ours] == [row[:3] for row in its]
    # Where operators of the model share a debug handle, this Inspector names the one of the kernel alone.
    assert all(set(mine[3]) <= set(theirs[3]) and mine[3] for mine, theirs in zip(ours, its, strict=True))


@pytest.mark.parametrize("name", ["add", "digits"])
def test_its_traces_are_inspected_here(name: str, peer: Ask, tmp_path: Path) -> None:
    peer({"trace": name, "folder": str(tmp_path)})
    inspector = Inspector(
        etdump_path=tmp_path / "model.etdp",
        etrecord=tmp_path / "model.etrecord",
        debug_buffer_path=tmp_path / "values.bin",
    )
    assert_agree(inspector, tmp_path / "facts.json")
    comparison = compare_values(inspector)
    assert comparison.first is None and len(comparison.steps) >= len(inspector_facts(inspector))


@pytest.mark.parametrize("delegated", [False, True])
def test_our_traces_are_inspected_there(delegated: bool, peer: Ask, tmp_path: Path) -> None:
    recorded = Recorded(delegated)
    dump, record, facts = (tmp_path / name for name in ("model.etdp", "model.etrecord", "facts.json"))
    dump.write_bytes(recorded.dump())
    recorded.record.save(record)
    peer({"inspect": str(dump), "record": str(record), "facts": str(facts)})
    assert_agree(Inspector(dump, etrecord=record), facts)
