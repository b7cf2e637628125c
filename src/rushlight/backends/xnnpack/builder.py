"""Builds the graph of a payload: values with memory layouts, constants, and operators."""

from __future__ import annotations

import copy
import enum
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.xnnpack import graph as g
from rushlight.backends.xnnpack.constants import INPUT, NAMED, NONE, OUTPUT
from rushlight.backends.xnnpack.nodes import (
    CHANNELS_LAST,
    SupportContext,
    dynamic_axes,
    is_channels_last,
    operation,
    tensor_of,
    upper_dims,
)
from rushlight.backends.xnnpack.payload import ALIGNMENT
from rushlight.backends.xnnpack.quantized import (
    QuantizedOp,
    dequantize_params,
    is_dynamic_part,
    is_packed_int4,
    params_of_value,
    quantize_params,
    result_bounds,
)
from rushlight.delegate.named_data import NamedDataStore
from rushlight.ir import meta
from rushlight.ir.errors import CompileError
from rushlight.ir.quantization import QuantizedWeight, QuantParams

NO_HANDLE = 65535
MAX_BIAS = 2.0**30  # the largest quantized bias; the sum of products and bias must fit int32
TO_NHWC = CHANNELS_LAST
TO_NCHW = (0, 3, 1, 2)
DATATYPES = {
    torch.float32: g.XNNDatatype.xnn_datatype_fp32,
    torch.float16: g.XNNDatatype.xnn_datatype_fp16,
    torch.bfloat16: g.XNNDatatype.xnn_datatype_bf16,
}


class Layout(enum.Enum):
    """The memory order of a value: row-major (PLAIN), or channels last for an image (NHWC)."""

    PLAIN = "plain"
    NHWC = "nhwc"


def bytes_of(tensor: torch.Tensor) -> bytes:
    """Returns the bytes of a tensor's elements in row-major order."""
    return tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()


def int4_bytes(values: torch.Tensor) -> bytes:
    """Packs integers in [-8, 7] plus 8, two in a byte, the first in the low half.

    The numbers of a row start in a new byte.
    """
    rows = (values.reshape(-1, values.shape[-1]).to(torch.int16) + 8).to(torch.uint8)
    rows = torch.nn.functional.pad(rows, (0, rows.shape[1] % 2))
    return bytes_of(rows[:, 0::2] | rows[:, 1::2] << 4)


class GraphBuilder:
    """Builds the graph of a payload.

    There is one value for each node and layout. If an operator needs a value in another layout, a transpose
    is added.

    Args:
        context: the program, and the options of the partitioner.
        store: the store that gets the constants.

    Attributes:
        graph: the graph.
        skipped: for each node that is not emitted: the earlier node whose operator also computes it.
        quantized_op: the int8 operator that is being emitted, or None.
        file: the file with the constants of the current node; None for the program file.
    """

    def __init__(self, context: SupportContext, store: NamedDataStore) -> None:
        self.context = context
        self.store = store
        self.graph = g.XNNGraph(version="0", constant_data=[g.ConstantDataOffset(0, 0, "")])
        self.skipped: dict[Node, Node] = {}
        self.quantized_op: QuantizedOp | None = None
        self._ids: dict[tuple[Node, Layout], int] = {}
        self._dynamic_ids: dict[tuple[Node, Layout, int], int] = {}
        self._constant_ids: dict[tuple[str, tuple[int, ...]], int] = {}
        self._entries: dict[str, int] = {}  # index of each constant by digest
        self._inputs: list[Node] = []
        self.file: str | None = None

    def add_input(self, node: Node) -> None:
        """Adds an argument of the delegate. Its value is added when an operator first reads it."""
        self._inputs.append(node)

    def _new_value(
        self, dtype: g.XNNDatatype, dims: list[int], scales: g.XNNQuantParams | None = None
    ) -> int:
        index = len(self.graph.xvalues)
        value = g.XNNTensorValue(dtype, len(dims), dims, 0, NONE, 0, index)
        quantized = g.XNNQuantizedTensorValue(value, scales)
        self.graph.xvalues.append(g.XValue(value if scales is None else quantized))
        return index

    def _new_quantized(self, params: QuantParams, dims: list[int]) -> int:
        scales = g.PerTensorQuant(params.scale, params.zero_point)
        return self._new_value(g.XNNDatatype.xnn_datatype_qint8, dims, scales)

    def tensor_value(self, index: int) -> g.XNNTensorValue:
        """Returns the tensor value with an index."""
        value = self.graph.xvalues[index].xvalue_union
        if isinstance(value, g.XNNQuantizedTensorValue):
            value = value.tensor_value
        assert value is not None
        return value

    def _dims(self, node: Node, layout: Layout) -> list[int]:
        dims = upper_dims(self.tensor(node))
        return [dims[axis] for axis in TO_NHWC] if layout is Layout.NHWC else dims

    @staticmethod
    def tensor(node: Node) -> torch.Tensor:
        """Returns the fake tensor of a node; the first one if the node has several."""
        tensor = tensor_of(node)
        if tensor is None and isinstance(meta.find_val(node), (tuple, list)):
            tensor = meta.get_val(node)[0]
        assert tensor is not None
        return tensor

    def dtype_of(self, node: Node) -> g.XNNDatatype:
        """Returns the XNNPACK datatype of a node's float tensor."""
        return DATATYPES[self.tensor(node).dtype]

    def define(self, node: Node, layout: Layout = Layout.PLAIN) -> int:
        """Adds a value that the current operator computes for `node`, and returns its id."""
        result = self._quantized_result
        if result is not None and self.quantized_op is not None and node in self.quantized_op.computed:
            node = result
        dims = self._dims(node, layout)
        if self.tensor(node).dtype is torch.int8:
            params = params_of_value(node)
            if params is None:
                raise CompileError(
                    f"the quantization parameters of the int8 tensor {node.name} are unknown, because no "
                    "quantize node computes it and no dequantize node reads it"
                )
            index = self._new_quantized(params, dims)
        else:
            index = self._new_value(self.dtype_of(node), dims)
        self._ids[node, layout] = index
        return index

    def temporary(self, like: Node, dims: list[int]) -> int:
        """Adds a value without a node, with the datatype of `like`, and returns its id."""
        result = self._quantized_result
        if result is not None:
            params = dequantize_params(like) or params_of_value(result)
            assert params is not None
            return self._new_quantized(params, dims)
        return self._new_value(self.dtype_of(like), dims)

    @property
    def _quantized_result(self) -> Node | None:
        """The quantize node of the current operator's result; None if the result is float."""
        return None if self.quantized_op is None else self.quantized_op.result

    def is_lazy(self, node: Node) -> bool:
        """Returns whether a node is emitted only for its users: it dequantizes, or chooses parameters."""
        return dequantize_params(node) is not None or self.context.is_weight(node) or is_dynamic_part(node)

    def quantize(self, node: Node) -> None:
        """Emits a quantize node, unless an int8 operator has already computed its result."""
        if self.layouts_of(node):
            return
        source = node.args[0]
        assert isinstance(source, Node)
        layouts = self.layouts_of(source)
        layout = next(iter(layouts)) if len(layouts) == 1 else Layout.PLAIN
        in_id = self.value(source, layout)
        bounds = result_bounds(None, quantize_params(node))
        if bounds != (-math.inf, math.inf):
            clamped = self._new_value(self.dtype_of(source), list(self.tensor_value(in_id).dims))
            self.add(g.XNNClamp(in_id, clamped, 0), node, g.OutputMinMax(*bounds))
            in_id = clamped
        self.add(g.XNNConvert(in_id, self.define(node, layout), 0), node)

    def _dequantize(self, node: Node, layout: Layout) -> int:
        source = node.args[0]
        assert isinstance(source, Node)
        in_id = self.value(source, layout)
        out = self._new_value(self.dtype_of(node), self._dims(node, layout))
        self._ids[node, layout] = out
        self.add(g.XNNConvert(in_id, out, 0), node)
        return out

    def _quantize_dynamically(self, source: Node, layout: Layout, dims: int) -> int:
        """Returns the id of the dynamically quantized value of `source`.

        The last `dims` dimensions have a common scale.
        """
        key = (source, layout, dims)
        if key not in self._dynamic_ids:
            in_id = self.value(source, layout)
            shape = list(self.tensor_value(in_id).dims)
            out = self._new_value(g.XNNDatatype.xnn_datatype_qdint8, shape, g.PerTokenDynamicQuant(dims))
            self.add(g.XNNConvert(in_id, out, 0), source)
            self._dynamic_ids[key] = out
        return self._dynamic_ids[key]

    def _entry(self, data: bytes) -> int:
        """Returns the index of the entry for constant data; the data are stored once, as named data."""
        key = self.store.add_by_content(data, ALIGNMENT, external_tag=self.file)
        if key not in self._entries:
            self._entries[key] = len(self.graph.constant_data)
            self.graph.constant_data.append(g.ConstantDataOffset(NAMED, len(data), key))
        return self._entries[key]

    def _weight(self, values: torch.Tensor, stored: QuantizedWeight, axis: int | None) -> int:
        """Returns the id of an int8 constant with channels along `axis`."""
        dims = list(values.shape)
        data, scale = bytes_of(values), stored.scale
        if not isinstance(scale, torch.Tensor) or axis is None:
            assert isinstance(scale, float)
            index = self._new_value(g.XNNDatatype.xnn_datatype_qint8, dims, g.PerTensorQuant(scale, 0))
        else:
            if is_packed_int4(stored):
                data = int4_bytes(values)
            entry = self._entry(bytes_of(scale.bfloat16() if stored.group_size else scale))
            scales: g.XNNQuantParams = g.PerChannelQuant([], axis, entry, scale.numel())
            kind = g.XNNDatatype.xnn_datatype_qcint8
            if stored.group_size:
                kind = g.XNNDatatype.xnn_datatype_qbint4
                scales = g.PerChannelGroupQuant([], axis, stored.group_size, entry, scale.numel())
            elif is_packed_int4(stored):
                kind = g.XNNDatatype.xnn_datatype_qcint4
            index = self._new_value(kind, dims, scales)
        self.tensor_value(index).constant_buffer_idx = self._entry(data)
        return index

    def weight_and_bias(
        self, values: torch.Tensor, stored: QuantizedWeight, axis: int | None, bias: object, source: Node
    ) -> tuple[int, int]:
        """Returns the ids of a weight and a bias.

        The scale of a quantized bias is the product of the scales of input and weight. If this scale is so
        small that the bias does not fit int32, the scale of the weight is increased. The loss of precision of
        the weight is then small in comparison with the bias.

        Args:
            values: the int8 weight.
            stored: the quantization parameters of the weight.
            axis: the dimension of the output channels; None for a weight with a single scale.
            bias: the node of the bias, or None.
            source: the node of the input.
        """
        params = dequantize_params(source)
        if params is not None and isinstance(bias, Node):
            least = (self.context.constant(bias).double().abs() / (params.scale * MAX_BIAS)).float()
            old = stored.scale
            if not isinstance(old, torch.Tensor):
                new = max(old, float(least.max()))
                stored = replace(stored, scale=new)
                if new > old:
                    values = torch.round(values * (old / new)).to(values.dtype)
            elif bool((least > old).any()):
                shape = [-1 if dim == axis else 1 for dim in range(values.dim())]
                factor = torch.where(least > old, old / least, 1).reshape(shape)
                values = torch.round(values * factor).to(values.dtype)
                stored = replace(stored, scale=torch.maximum(old, least))
        return self._weight(values, stored, axis), self._bias(bias, source, stored)

    def _bias(self, node: object, source: Node, weight: QuantizedWeight) -> int:
        """Returns the id of a bias.

        The bias is float for dynamically quantized inputs. Otherwise it is int32, and its scale is the
        product of the scales of input and weight.
        """
        if not isinstance(node, Node):
            return NONE
        bias = self.context.constant(node).float()
        params = dequantize_params(source)
        if params is None:
            return self.constant(bias)
        scale = weight.scale * params.scale
        values = torch.round(bias.double() / scale).to(torch.int32)
        if isinstance(scale, torch.Tensor):
            scales: g.XNNQuantParams = g.PerChannelQuant([], 0, self._entry(bytes_of(scale)), scale.numel())
            index = self._new_value(g.XNNDatatype.xnn_datatype_qcint32, list(bias.shape), scales)
        else:
            index = self._new_value(
                g.XNNDatatype.xnn_datatype_qint32, list(bias.shape), g.PerTensorQuant(scale, 0)
            )
        self.tensor_value(index).constant_buffer_idx = self._entry(bytes_of(values))
        return index

    def same(self, node: Node, other: Node) -> None:
        """Records that `node` has the values of `other` in all existing layouts."""
        for layout in Layout:
            if (other, layout) in self._ids:
                self._ids[node, layout] = self._ids[other, layout]

    def layouts_of(self, node: Node) -> set[Layout]:
        """Returns the layouts in which a value exists without a transpose."""
        node = self._read_node(node)
        self._read_input(node)
        if dequantize_params(node) is not None:
            source = node.args[0]
            assert isinstance(source, Node)
            return self.layouts_of(source)
        return {layout for layout in Layout if (node, layout) in self._ids}

    def _read_node(self, node: Node) -> Node:
        """Returns the node that the current operator reads for an input.

        If the operator runs on int8 and the input is dequantized, this is the quantized node.
        """
        is_int8 = self._quantized_result is not None
        source = node.args[0] if is_int8 and dequantize_params(node) is not None else node
        assert isinstance(source, Node)
        return source

    def _read_input(self, node: Node) -> None:
        if node not in self._inputs or any((node, layout) in self._ids for layout in Layout):
            return
        layout = Layout.NHWC if is_channels_last(self.tensor(node)) else Layout.PLAIN
        value = self.tensor_value(self.define(node, layout))
        value.external_id = self._inputs.index(node)
        value.flags = INPUT
        self.graph.input_ids.append(value.id_out)

    def value(self, node: Node, layout: Layout = Layout.PLAIN) -> int:
        """Returns the id of the value of `node` in a layout."""
        op = self.quantized_op
        if op is not None and op.dynamic is not None and node is op.dynamic.dequantize:
            is_image = operation(op.node) is torch.ops.aten.convolution.default
            return self._quantize_dynamically(op.dynamic.source, layout, 3 if is_image else 1)
        node = self._read_node(node)
        if self.context.is_constant(node):
            tensor = self.context.constant(node)
            if layout is Layout.NHWC:
                tensor = tensor.reshape((1,) * (4 - tensor.dim()) + tuple(tensor.shape)).permute(TO_NHWC)
            return self.constant(tensor)
        self._read_input(node)
        if (node, layout) in self._ids:
            return self._ids[node, layout]
        if dequantize_params(node) is not None:
            return self._dequantize(node, layout)
        other = Layout.PLAIN if layout is Layout.NHWC else Layout.NHWC
        if (node, other) not in self._ids:
            raise CompileError(f"{node.name} is used before it is computed")
        source = self._ids[node, other]
        target = self.define(node, layout)
        shape = self._reshaped_image(node, layout)
        if self.tensor_value(source).flags == 0 and shape is not None:
            self.add(g.XNNStaticReshape(4, shape, source, target, 0), node)
        else:
            perm = TO_NHWC if layout is Layout.NHWC else TO_NCHW
            self.add(g.XNNStaticTranspose(4, list(perm), source, target, 0), node)
        return target

    def _reshaped_image(self, node: Node, layout: Layout) -> list[int] | None:
        """Returns the shape for a reshape that replaces the transpose of an image of one pixel.

        The result is None if the image has more pixels, or several dynamic sizes.
        """
        tensor = self.tensor(node)
        if self._dims(node, Layout.PLAIN)[2:] != [1, 1] or len(dynamic_axes(tensor)) > 1:
            return None
        sizes = [size if isinstance(size, int) else 0 for size in tensor.shape]
        return [sizes[axis] for axis in TO_NHWC] if layout is Layout.NHWC else sizes

    def constant(self, tensor: torch.Tensor, dtype: torch.dtype | None = None) -> int:
        """Returns the id of a constant, which is stored as named data; equal constants have the same id."""
        tensor = tensor if dtype is None else tensor.to(dtype)
        entry = self._entry(bytes_of(tensor))
        dims = list(tensor.shape) or [1]
        key = (f"{entry} {tensor.dtype}", tuple(dims))
        if key not in self._constant_ids:
            index = self._new_value(DATATYPES[tensor.dtype], dims)
            self.tensor_value(index).constant_buffer_idx = entry
            self._constant_ids[key] = index
        return self._constant_ids[key]

    def add(self, node: Any, origin: Node, bounds: g.OutputMinMax | None = None) -> None:
        """Appends an operator with the debug handle of `origin`."""
        handle = meta.get_debug_handle(origin)
        if isinstance(handle, (tuple, list)):
            handle = handle[0] if handle else None
        handle = handle if isinstance(handle, int) and handle >= 0 else NO_HANDLE
        self.graph.xnodes.append(g.XNode(node, handle, bounds))

    def debug_handles(self, nodes: Iterable[Node]) -> dict[int, tuple[int, ...]]:
        """Returns, by the debug handle of each operator, the debug handles of all nodes that it computes."""
        found: dict[int, tuple[int, ...]] = {}
        for node in nodes:
            owner = node
            while owner in self.skipped:
                owner = self.skipped[owner]
            key, handle = meta.get_debug_handle(owner), meta.get_debug_handle(node)
            if isinstance(key, int) and isinstance(handle, int):
                found[key] = tuple(dict.fromkeys((*found.get(key, ()), handle)))
        return found

    def finish(self, outputs: list[Node]) -> g.XNNGraph:
        """Marks the outputs of the delegate, which follow the inputs in its arguments.

        Returns:
            The finished graph.
        """
        for position, node in enumerate(outputs):
            layout = Layout.NHWC if is_channels_last(self.tensor(node)) else Layout.PLAIN
            index = self.value(node, layout)
            value = self.tensor_value(index)
            if value.flags or value.constant_buffer_idx:
                result = self.graph.xvalues[index].xvalue_union
                scales = result.quant_params if isinstance(result, g.XNNQuantizedTensorValue) else None
                copied = self._new_value(value.datatype, list(value.dims), copy.deepcopy(scales))
                self.add(g.XNNCopy(index, copied, 0), node)
                value = self.tensor_value(copied)
            value.external_id = len(self._inputs) + position
            value.flags = OUTPUT
            self.graph.output_ids.append(value.id_out)
        self.graph.num_externs = len(self._inputs) + len(outputs)
        return self.graph
