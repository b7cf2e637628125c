"""Each system reads ETRecords of the other, and finds the same graphs, handles and maps."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
import torch
from tests.interop.cases import Ask, build, etrecord_facts

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.delegate.partitioner import Partitioner
from rushlight.devtools.etrecord import parse_etrecord
from rushlight.exir import to_edge_transform_and_lower

NAMES = ("add", "digits", "bert")


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        *itertools.product(("add", "digits"), ("", "xnnpack")),
        ("bert", ""),
        pytest.param("bert", "xnnpack", marks=pytest.mark.long),
    ],
)
def test_its_records_are_read_here(name: str, backend: str, peer: Ask, tmp_path: Path) -> None:
    peer({"etrecord": name, "folder": str(tmp_path), "backend": backend})
    facts = json.loads((tmp_path / "facts.json").read_text())
    record = parse_etrecord(tmp_path / "model.etrecord")
    assert json.loads(json.dumps(etrecord_facts(record))) == facts
    module, inputs = build(name)
    expected = torch.utils._pytree.tree_leaves(module(*inputs))
    assert record.exported_program is not None
    results = torch.utils._pytree.tree_leaves(record.exported_program.module()(*inputs))
    torch.testing.assert_close(results, expected)


@pytest.mark.parametrize("partitioners", [[], [XnnpackPartitioner()], [CpuPartitioner()]])
@pytest.mark.parametrize("name", NAMES)
def test_our_records_are_read_there(
    name: str, partitioners: list[Partitioner], peer: Ask, tmp_path: Path
) -> None:
    module, inputs = build(name)
    program = torch.export.export(module, inputs)
    manager = to_edge_transform_and_lower(program, partitioner=partitioners, generate_etrecord=True)
    record = manager.to_executorch().get_etrecord()
    record.update_representative_inputs(list(inputs))
    path, facts = tmp_path / "model.etrecord", tmp_path / "facts.json"
    record.save(path)
    peer({"read": str(path), "facts": str(facts)})
    assert json.loads(facts.read_text()) == json.loads(json.dumps(etrecord_facts(parse_etrecord(path))))
