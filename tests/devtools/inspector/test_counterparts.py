"""The last of several edge nodes with one origin is the counterpart of an exported node."""

from __future__ import annotations

import torch
from tests.devtools.inspector.hardswish import record

from rushlight.devtools.inspector.counterparts import find_counterparts, is_like


def test_the_last_node_of_a_decomposition_has_the_counterpart() -> None:
    exported, found = record()
    pairs = find_counterparts(found.edge_programs["forward"], exported)
    names = {edge.name: other.name for edge, other in pairs.items()}
    assert names == {"aten_div_tensor": "hardswish", "aten_addmm_default": "linear"}


def test_values_with_another_shape_dtype_or_type_differ() -> None:
    value = torch.ones(2, 3)
    assert is_like(value, torch.zeros(2, 3))
    for other in (torch.zeros(3, 2), torch.zeros(2, 3, dtype=torch.int32), [value]):
        assert not is_like(value, other)
