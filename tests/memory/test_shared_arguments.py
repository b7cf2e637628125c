"""Results that must share the memory of an argument, because a pass requests it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import Build

from rushlight.ir import meta
from rushlight.ir.spec import TensorSpec
from rushlight.memory.shared_arguments import share_arguments


def part_of_a_sum(**marks: Any) -> torch.fx.GraphModule:
    """Returns a sum, and an operator that selects a part of it, with the given metadata."""
    build = Build()
    x = build.input("x", 8)
    total = build.call(torch.ops.aten.add.Tensor, x, x)
    part = build.call(torch.ops.aten.slice_copy.Tensor, total, 0, 4, 8)
    part.meta.update(marks)
    for node in (x, total, part):
        meta.set_spec(node, TensorSpec.from_tensor(meta.get_val(node)))
    return build.finish(part)


def test_a_result_lies_within_its_argument() -> None:
    module = part_of_a_sum(_share_alloc_with_arg_idx=0, _shared_alloc_offset=16)
    share_arguments(module)
    nodes = list(module.graph.nodes)
    whole, part = meta.get_spec(nodes[1]), meta.get_spec(nodes[2])
    assert part.storage_base is whole and part.storage_base_offset == 16
    assert whole.storage_base is None


def test_without_marks_nothing_changes() -> None:
    module = part_of_a_sum()
    share_arguments(module)
    assert meta.get_spec(list(module.graph.nodes)[2]).storage_base is None


@pytest.mark.parametrize(
    ("marks", "error"),
    [
        ({"_shared_alloc_offset": 16}, ValueError),
        ({"_share_alloc_with_arg_idx": "0"}, TypeError),
        ({"_share_alloc_with_arg_idx": 0, "_shared_alloc_offset": 1.5}, TypeError),
        ({"_share_alloc_with_arg_idx": 9}, IndexError),
        ({"_share_alloc_with_arg_idx": 1}, TypeError),
    ],
)
def test_marks_that_name_no_tensor_are_refused(marks: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="node"):
        share_arguments(part_of_a_sum(**marks))
