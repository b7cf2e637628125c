"""The Inspector of each system opens ETDumps and ETRecords of the other, and finds the same operators."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tests.devtools.test_inspector import Recorded
from tests.interop.cases import Ask, build, inspector_facts

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.delegate.partitioner import Partitioner
from rushlight.devtools.inspector import Inspector, compare_values
from rushlight.exir import to_edge_transform_and_lower
from rushlight.runtime.portable_lib import _load_for_executorch_from_buffer


def assert_agree(inspector: Inspector, facts: Path) -> None:
    ours, its = inspector_facts(inspector), json.loads(facts.read_text())
    assert [row[:3] for row in ours] == [row[:3] for row in its]
    # If steps of a delegate share an identifier, this Inspector gives each its own values, and the other one
    # all of them.
    assert all(bool(mine[4]) == bool(theirs[4]) for mine, theirs in zip(ours, its, strict=True))
    # If operators of the model share a debug handle, this Inspector names only the operator of the kernel.
    # It also names operators whose steps XnnpackBackend folds into others, which the dump says in metadata
    # of its own. Steps that XNNPACK's part adds, such as a transposition of its input, have the number 65535
    # and no operator.
    for mine, theirs in zip(ours, its, strict=True):
        names, its_names = set(mine[3]), set(theirs[3])
        assert names <= its_names or names > its_names, (mine, theirs)
        assert bool(names) == (mine[0] != "65535")


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


@pytest.mark.parametrize("partitioners", [[], [CpuPartitioner()], [XnnpackPartitioner()]])
def test_dumps_of_our_runtime_are_inspected_there(
    partitioners: list[Partitioner], peer: Ask, tmp_path: Path
) -> None:
    module, inputs = build("digits")
    program = torch.export.export(module, inputs)
    edge = to_edge_transform_and_lower(program, partitioner=partitioners, generate_etrecord=True)
    manager = edge.to_executorch()
    dump, values, record, facts = (
        tmp_path / name for name in ("model.etdp", "values.bin", "model.etrecord", "facts.json")
    )
    manager.get_etrecord().save(record)
    loaded = _load_for_executorch_from_buffer(manager.buffer, enable_etdump=True, debug_buffer_size=1 << 24)
    for _ in range(3):
        loaded.forward(inputs)
    loaded.write_etdump_result_to_file(str(dump), str(values))
    peer({"inspect": str(dump), "record": str(record), "values": str(values), "facts": str(facts)})
    inspector = Inspector(dump, etrecord=record, debug_buffer_path=values)
    assert_agree(inspector, facts)
    assert all(row[1] == 3 and row[4] > 0 for row in json.loads(facts.read_text()))
