"""Small helpers of `exir`."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.passes.support import edge_of
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv

from rushlight.compat import exir_helpers as helpers
from rushlight.compat.graph_passes import update_args
from rushlight.compat.serialize_helpers import (
    Cord,
    DataPayload,
    FlatTensorSerializer,
    aligned_size,
    deserialize_pte_binary,
    pad_to,
    serialize_pte_binary,
)
from rushlight.compiler.edge import to_edge
from rushlight.delegate.named_data import DataEntry
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import Frame, FrameList, ScalarType
from rushlight.format.pte import read_pte
from rushlight.ir.edge_ops import ops
from rushlight.ir.errors import ExportError, ExportErrorType, InternalError, internal_assert
from rushlight.ir.spec import TensorSpec


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def test_sizes() -> None:
    shapes = ({0: torch.export.Dim("batch", max=9)},)
    program = edge_of(Net(), torch.ones(4, 3), dynamic_shapes=shapes)
    (x,) = [node for node in program.graph.nodes if node.name == "x"]
    value: Any = x.meta["val"]
    assert helpers.eval_shape(value.shape) == [4, 3]
    assert helpers.eval_shape_upper_bound(value.shape) == [9, 3]
    (symbol,) = value.shape[0].node.expr.free_symbols
    assert helpers.collect_free_symbols([value.shape[0] * 2 + 1, value.shape[0], 3]) == {symbol}
    free = edge_of(Net(), torch.ones(4, 3), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    (x,) = [node for node in free.graph.nodes if node.name == "x"]
    assert helpers.eval_upper_bound(x.meta["val"].shape[0]) == 4


def test_layouts_and_dtypes() -> None:
    assert helpers.num_bytes_from_shape_and_dtype((2, 3), torch.float16) == 12
    assert helpers.contiguous_stride_from_shape((2, 3)) == (3, 1)
    assert helpers.dim_order_from_stride((1, 2)) == (1, 0)
    assert helpers.get_dim_order(torch.channels_last, 4) == [0, 2, 3, 1]
    assert helpers.get_dim_order(torch.preserve_format, 4) is None is helpers.get_dim_order(None, 4)
    assert helpers.get_memory_format([0, 2, 3, 1]) == torch.channels_last
    for wrong in (
        lambda: helpers.get_dim_order(torch.channels_last, 3),
        lambda: helpers.get_memory_format([1, 0]),
    ):
        with pytest.raises(AssertionError, match="dim order"):
            wrong()
    assert helpers.stride_from_dim_order([2, 3], [1, 0]) == [1, 2]
    assert helpers.calculate_aligned_num_bytes(17, 16) == 32
    with pytest.raises(RuntimeError, match="0 in strides"):
        helpers.dim_order_from_stride((0, 1))
    assert helpers.scalar_type_enum(torch.int8) is ScalarType.CHAR
    assert helpers.get_scalar_type(ScalarType.CHAR) is torch.int8


def test_operators() -> None:
    add = torch.ops.aten.add.Tensor
    assert helpers.unwrap_op_overload(ops.edge.aten.add.Tensor) is add
    with pytest.raises(TypeError, match="is not an operator"):
        helpers.unwrap_op_overload(print)
    assert helpers.to_out_variant(add) == (torch.ops.aten.add.out, ("out",))
    assert helpers.get_out_args_from_opoverload(torch.ops.aten.add.out) == ("out",)
    assert helpers.get_op_overload("aten::add", "Tensor") is add
    assert helpers.is_out_variant("aten::add", "out") and not helpers.is_out_variant("aten::add", "Tensor")
    assert helpers.is_inplace_variant("aten::add_", "Tensor")
    assert not helpers.is_inplace_variant("aten::add", "Tensor")


def test_experimental_functions_warn() -> None:
    @helpers.experimental("may change")
    def function() -> int:
        return 3

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert function() == 3
    assert [warning.category for warning in caught] == [helpers.ExperimentalWarning]


def test_nodes_know_where_they_come_from() -> None:
    program = torch.export.export(Net(), (torch.ones(2),))
    add = next(node for node in program.graph.nodes if node.op == "call_function")
    assert helpers.get_greatest_ancestor_node_identifier(add)
    with helpers.setting_python_recursive_limit(5000):
        assert sys.getrecursionlimit() == 5000


def test_program_files() -> None:
    manager = to_edge(torch.export.export(Net(), (torch.ones(2),))).to_executorch()
    file = deserialize_pte_binary(manager.buffer)
    assert file.program.execution_plan[0].name == "forward"
    written = serialize_pte_binary(file)
    assert bytes(written) == bytes(manager.buffer) and len(written) == len(bytes(written))
    assert serialize_pte_binary(read_pte(manager.buffer)) is not None


def test_pieces_of_bytes() -> None:
    cord = Cord(b"ab")
    cord.append(Cord(b"c"))
    assert bytes(cord) == b"abc" and len(cord) == 3
    assert pad_to(b"ab", 4) == b"ab\0\0" and aligned_size(5, 4) == 8
    with pytest.raises(ValueError, match="cannot be padded"):
        pad_to(b"abc", 2)


def test_data_files() -> None:
    payload = DataPayload(
        [b"abcd", b"xy"], {"a": DataEntry(0, 16), "b": DataEntry(1, 1), "c": DataEntry(0, 1)}
    )
    serializer = FlatTensorSerializer()
    again = serializer.deserialize(serializer.serialize(payload))
    assert {key: again.buffers[e.buffer_index] for key, e in again.named_data.items()} == {
        "a": b"abcd",
        "b": b"xy",
        "c": b"abcd",
    }
    assert len(again.buffers) == 2


def test_values_of_a_file() -> None:
    place = helpers.make_allocation_info(1, (3 << 32) + 5)
    assert (place.memory_id, place.memory_offset_low, place.memory_offset_high) == (1, 5, 3)
    with pytest.raises(ValueError, match="must not be negative"):
        helpers.make_allocation_info(1, -1)
    with pytest.raises(helpers.AddressSpaceOverflowException):
        helpers.make_allocation_info(1, 1 << 64)
    tensor = helpers.make_tensor_value(2, place, TensorSpec(torch.float16, [2, 3]))
    assert (tensor.sizes, tensor.scalar_type, tensor.data_buffer_idx) == ([2, 3], ScalarType.HALF, 2)
    assert tensor.allocation_info is place


def test_schemas() -> None:
    found = helpers.get_schema_for_operators(["torch.ops.aten.cat.default", "torch.ops.aten.nothing.default"])
    assert found["aten::cat.default"].startswith("aten::cat(")
    assert found["aten::nothing.default"] == "<No Schema Found>"
    schema = torch.ops.aten.add.out._schema
    assert helpers.extract_out_arguments(schema, {"out": 3, "alpha": 1}) == ("out", 3)
    assert helpers.extract_out_arguments(schema, {}) == []
    assert helpers.format_schema_name(schema) == "aten::add.out"


def test_order_of_unknown_strides() -> None:
    env = ShapeEnv()
    a, b = env.create_unbacked_symint(), env.create_unbacked_symint()
    assert helpers.dim_order_from_stride((a, 2 * a, 1)) == (1, 0, 2)
    with pytest.raises(GuardOnDataDependentSymNode):
        helpers.dim_order_from_stride((a, b))


def test_out_variants_of_out_variants_and_of_operators_without_one() -> None:
    topk = torch.ops.aten.topk
    assert helpers.to_out_variant(topk.values) == (topk.values, ("values", "indices"))
    assert helpers.to_out_variant(topk.default)[0] is topk.values
    with torch.library._scoped_library("rushlight_changes", "DEF") as library:
        library.define("add_to(Tensor x, Tensor(a!) y) -> Tensor")
        library.define("add_to.other(Tensor x, Tensor y, *, Tensor(a!) out) -> Tensor(a!)")
        library.define("add_to.out(Tensor x, Tensor(a!) y, *, Tensor(b!) out) -> Tensor(b!)")
        changes = torch.ops.rushlight_changes.add_to
        assert helpers.to_out_variant(changes.default) == (changes.out, ("out",))
        assert helpers.get_out_args_from_opoverload(changes.out) == ("out",)
    with torch.library._scoped_library("rushlight_near_miss", "DEF") as library:
        library.define("half(Tensor x) -> Tensor")
        with pytest.raises(
            RuntimeError, match="Missing out variant for functional op.*The operator has no out variant"
        ):
            helpers.to_out_variant(torch.ops.rushlight_near_miss.half.default)
        library.define("third(Tensor x) -> Tensor")
        library.define("third.out(Tensor x, int y, *, Tensor(a!) out) -> Tensor(a!)")
        with pytest.raises(
            RuntimeError, match=r"schema mismatched with functional op.\n.*third.out\(Tensor x, int y"
        ):
            helpers.to_out_variant(torch.ops.rushlight_near_miss.third.default)


def test_options_of_the_old_front_end_are_refused() -> None:
    assert helpers.ExirDynamoConfig().verbose
    with pytest.raises(ValueError, match="allow_rnn=False is not supported"):
        helpers.ExirDynamoConfig(allow_rnn=False)


def test_arguments_are_replaced_by_position_or_name() -> None:
    args, kwargs = (1, 2, 3), {"a": 1}
    assert update_args(args, 1, 5) == (1, 5, 3) and update_args(args, key=-1, val=5) == (1, 2, 5)
    assert update_args(kwargs, key="b", val=2) == {"a": 1, "b": 2} and kwargs == {"a": 1}


def test_layouts_of_tensors() -> None:
    layout = TensorLayout.from_tensor(torch.ones(2, 3, dtype=torch.int8))
    assert layout == TensorLayout(ScalarType.CHAR, [2, 3], [0, 1])
    last = torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last)
    assert TensorLayout.from_tensor(last).dim_order == [0, 2, 3, 1]
    with pytest.raises(ValueError, match="row-major"):
        TensorLayout.from_tensor(torch.ones(2, 3).t())


def test_errors_take_keywords() -> None:
    internal_assert(pred=True, assert_msg="text")
    with pytest.raises(InternalError, match="text"):
        internal_assert(pred=False, assert_msg="text")
    error = ExportError(error_code=ExportErrorType.NOT_SUPPORTED, message="text")
    assert "NOT_SUPPORTED" in str(error) and str(InternalError(message="text")) == "text"


def test_the_root_logger_is_restored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = logging.root
    before = (root.level, list(root.handlers), [handler.formatter for handler in root.handlers])
    file = tmp_path / "log.txt"
    with (
        pytest.raises(ZeroDivisionError),
        helpers.override_logger(filename=str(file), fmtstr="<%(message)s>"),
    ):
        logging.getLogger("some.module").debug("one")
        assert "<one>" in caplog.text
        raise ZeroDivisionError
    assert (root.level, root.handlers, [handler.formatter for handler in root.handlers]) == before
    logging.debug("two")
    assert file.read_text() == "one\n"
    with helpers.override_logger(logging.ERROR, ""):
        assert root.level == logging.ERROR and [handler.formatter for handler in root.handlers] == before[2]
    with pytest.raises(FileNotFoundError), helpers.override_logger(filename=str(tmp_path / "no" / "log.txt")):
        raise AssertionError
    assert root.level == before[0]


def test_stack_traces_are_printed() -> None:
    frames = FrameList([Frame("model.py", 3, "forward", "x + 1"), Frame("a.py", 4, "f", "y")])
    assert helpers.pretty_print_stacktraces(frames) == (
        'Traceback (most recent call last): \n    File "model.py", line 3, in forward\nx + 1 \n'
        '    File "a.py", line 4, in f\ny \n\n'
    )
