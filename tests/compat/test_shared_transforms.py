"""Passes over dialects, duplicates, dtypes and images in channels-last order."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch
from tests.compat.test_transforms import ROWS, built, counts, edge_program, run
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind
from torch.fx import Node

from rushlight.compat.transforms import channels_last as layout
from rushlight.compat.transforms.constants import create_constant_placeholder
from rushlight.compat.transforms.dialects import AtenToDialectPass, DialectNodeSpec
from rushlight.compat.transforms.dtypes import ConvertDtypePass, I64toI32
from rushlight.compat.transforms.duplicates import FuseDuplicateUsersPass
from rushlight.ir.edge_ops import ops
from rushlight.testing.graph_builder import single_op_builder

aten = torch.ops.aten
edge, last = ops.edge.aten, ops.edge.channels_last


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + y)


def program() -> ExportedProgram:
    return export(Add(), (ROWS, ROWS))


def test_a_dialect_replaces_operators() -> None:
    class ToSub(AtenToDialectPass):
        pass

    @ToSub.register_dialect_substitution(aten.add.Tensor)
    def to_sub(node: Node, owner: AtenToDialectPass) -> DialectNodeSpec | None:
        first = next(iter(node.graph.nodes))
        with node.graph.inserting_before(first):
            constant = create_constant_placeholder(
                owner.exported_program, node.graph, "ones", InputKind.PARAMETER, torch.ones(4, 3)
            )
        return DialectNodeSpec(aten.sub.Tensor, (node.args[0], constant), {"alpha": 2})

    given = program()
    (add,) = given.graph.find_nodes(op="call_function", target=aten.add.Tensor)
    add.meta["stack_trace"] = "there"
    result = ToSub(given)(given.graph_module)
    assert result is not None and result.modified
    assert counts(result.graph_module) == {"sub.Tensor": 1, "relu.default": 1}
    (new,) = result.graph_module.graph.find_nodes(op="call_function", target=aten.sub.Tensor)
    assert new.meta["stack_trace"].startswith("there\n") and __file__ not in new.meta["stack_trace"][:6]
    torch.testing.assert_close(given.module()(ROWS, ROWS), torch.relu(ROWS - 2))


def test_a_dialect_leaves_what_its_functions_leave() -> None:
    class Nothing(AtenToDialectPass):
        pass

    @Nothing.register_dialect_substitution(aten.add.Tensor)
    def nothing(node: Node, owner: AtenToDialectPass) -> DialectNodeSpec | None:
        return None

    given = program()
    result = Nothing(given)(given.graph_module)
    assert result is not None and not result.modified and counts(result.graph_module)["add.Tensor"] == 1
    with pytest.raises(
        RuntimeError, match=r"Multiple substitutions registered for aten\.add\.Tensor in Nothing"
    ):
        Nothing.register_dialect_substitution(aten.add.Tensor)(lambda node, owner: None)


def test_equal_users_share_a_result() -> None:
    def twice(builder: Any, x: Any) -> Any:
        sums = [builder.call_operator(edge.add.Tensor, (x, x), {"alpha": alpha}) for alpha in (2, 2, 3)]
        roots = [builder.call_operator(edge.abs.default, (value,)) for value in sums]
        whole = builder.call_operator(edge.cat.default, (roots, 0))
        return builder.call_operator(edge.view_copy.default, (whole, [-1]))

    assert run(FuseDuplicateUsersPass(), built(twice, ROWS), ROWS) == {
        "aten.add.Tensor": 2,
        "aten.abs.default": 2,
        "aten.cat.default": 1,
        "aten.view_copy.default": 1,
    }
    kept = run(FuseDuplicateUsersPass(frozenset({edge.abs.default})), built(twice, ROWS), ROWS)
    assert kept["aten.abs.default"] == 3 and kept["aten.add.Tensor"] == 2


def test_random_users_stay_apart() -> None:
    def twice(builder: Any, x: Any) -> Any:
        values = [builder.call_operator(edge.rand_like.default, (x,)) for _ in range(2)]
        return builder.call_operator(edge.add.Tensor, tuple(values))

    result = FuseDuplicateUsersPass()(built(twice, ROWS))
    assert result is not None and not result.modified


@pytest.mark.parametrize("skip_dim_order", [False, True])
def test_integers_become_short(skip_dim_order: bool) -> None:
    numbers = torch.arange(6).reshape(2, 3)
    given = edge_program(lambda x: (x + x, torch.full((2,), 3, dtype=torch.int64), x), numbers)
    result = I64toI32(skip_dim_order)(given.graph_module)
    assert result is not None and result.modified
    module = result.graph_module
    copy = "aten._to_copy.default" if skip_dim_order else "dim_order_ops._to_dim_order_copy.default"
    assert counts(module)[copy] == 3
    (add,) = module.graph.find_nodes(op="call_function", target=edge.add.Tensor)
    assert add.meta["val"].dtype is torch.int32
    after, before = module(numbers), given.graph_module(numbers)
    assert [tensor.dtype for tensor in after] == [torch.int64] * 3
    torch.testing.assert_close(after, before)
    nothing = ConvertDtypePass(torch.float64, torch.float32)(given.graph_module)
    assert nothing is not None and not nothing.modified


IMAGE = torch.randn(2, 6, 8, 3)
FIRST = IMAGE.permute(0, 3, 1, 2)
CONV = (torch.randn(4, 3, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
CASES: list[tuple[Any, Any, tuple[Any, ...]]] = [
    (last.convolution.default, aten.convolution.default, CONV),
    (last.avg_pool2d.default, aten.avg_pool2d.default, ([2, 2], [1, 1], [1, 1])),
    (last.adaptive_avg_pool2d.default, aten._adaptive_avg_pool2d.default, ([2, 2],)),
    (last.upsample_bilinear2d.default, aten.upsample_bilinear2d.vec, ([12, 16], False, None)),
    (last.upsample_nearest2d.default, aten.upsample_nearest2d.vec, (None, [2.0, 2.0])),
    (last.max_pool2d.default, aten.max_pool2d.default, ([2, 2], [2, 2])),
    (
        last.grid_sampler_2d.default,
        aten.grid_sampler_2d.default,
        (torch.rand(2, 4, 5, 2) * 2 - 1, 0, 0, False),
    ),
]


@pytest.mark.parametrize(("op", "same", "args"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_images_with_the_channels_last(op: Any, same: Any, args: tuple[Any, ...]) -> None:
    expected = same(FIRST, *args).permute(0, 2, 3, 1)
    result = op(IMAGE, *args)
    assert result.is_contiguous()
    torch.testing.assert_close(result, expected)
    tensors = (IMAGE, *(value for value in args if isinstance(value, torch.Tensor)))
    module = single_op_builder(list(tensors), op, (IMAGE, *args))
    expanded = layout.DecomposeChannelsLastPass()(module)
    assert expanded is not None
    found = counts(expanded.graph_module)
    assert found["aten.permute_copy.default"] == 2 and not any("channels_last" in name for name in found)
    (after,) = expanded.graph_module(*tensors)
    torch.testing.assert_close(after, expected)


def test_maxima_with_indices_and_permutes() -> None:
    values, indices = last.max_pool2d_with_indices.default(IMAGE, [2, 2])
    expected = aten.max_pool2d_with_indices.default(FIRST, [2, 2])
    torch.testing.assert_close((values, indices), tuple(item.permute(0, 2, 3, 1) for item in expected))

    class Pool(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.ops.channels_last.max_pool2d_with_indices(x, [2, 2])  # type: ignore[no-any-return]

    given = edge_program(Pool(), IMAGE)
    found = run(layout.DecomposeChannelsLastPass(), given.graph_module, IMAGE)
    assert found == {
        "aten.permute_copy.default": 3,
        "aten.max_pool2d_with_indices.default": 1,
        "getitem": 2,
    }
    result = layout.DecomposeChannelsLastPass()(given.graph_module)
    assert result is not None
    for item in result.graph_module.graph.find_nodes(op="call_function", target=operator.getitem):
        assert isinstance(item.args[0], Node)
    module = single_op_builder([IMAGE], last.permute_copy.default, (IMAGE, [0, 3, 1, 2]))
    nodes = [node for node in module.graph.nodes if layout.is_permute_copy(node)]
    assert [node.target for node in nodes] == [layout.LAYOUT_PERMUTE_COPY]
    assert run(layout.DecomposeChannelsLastPass(), module, IMAGE) == {"aten.permute_copy.default": 1}
    assert {layout.LAYOUT_PERMUTE_COPY, layout.ATEN_PERMUTE_COPY} == layout.PERMUTE_COPY_TARGETS
