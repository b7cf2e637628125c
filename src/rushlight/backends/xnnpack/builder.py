"""Builds a payload's graph: values with their memory layouts, constants, operators."""

from __future__ import annotations

import enum
import hashlib
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.xnnpack import graph as g
from rushlight.backends.xnnpack.facts import Facts, is_channels_last, tensor_of, upper_dims
from rushlight.backends.xnnpack.payload import ALIGNMENT
from rushlight.delegate.named_data import NamedDataStore
from rushlight.ir import meta
from rushlight.ir.errors import CompileError

NO_HANDLE = 65535
TO_NHWC = (0, 2, 3, 1)
TO_NCHW = (0, 3, 1, 2)
DATATYPES = {
    torch.float32: g.XNNDatatype.xnn_datatype_fp32,
    torch.float16: g.XNNDatatype.xnn_datatype_fp16,
    torch.bfloat16: g.XNNDatatype.xnn_datatype_bf16,
}


class Layout(enum.Enum):
    """How the memory of a value is ordered: as its dimensions are, or a picture's with channels last."""

    PLAIN = "plain"
    NHWC = "nhwc"


def bytes_of(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()


class GraphBuilder:
    """One value per node of the program and layout; transposes come where another layout is asked for."""

    def __init__(self, facts: Facts, store: NamedDataStore) -> None:
        self.facts = facts
        self.store = store
        self.graph = g.XNNGraph(version="0", constant_data=[g.ConstantDataOffset(0, 0, "")])
        self.skipped: set[Node] = set()  # what an earlier node has computed along
        self._ids: dict[tuple[Node, Layout], int] = {}
        self._constant_ids: dict[tuple[str, tuple[int, ...]], int] = {}
        self._inputs: list[Node] = []

    # ---- Values ----

    def add_input(self, node: Node) -> None:
        """The next argument of the delegate; it becomes a value when it is read."""
        self._inputs.append(node)

    def _new_value(self, dtype: g.XNNDatatype, dims: list[int]) -> int:
        index = len(self.graph.xvalues)
        value = g.XNNTensorValue(dtype, len(dims), dims, 0, g.NONE, 0, index)
        self.graph.xvalues.append(g.XValue(value))
        return index

    def tensor_value(self, index: int) -> g.XNNTensorValue:
        """The table of a value."""
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
        """The fake tensor of a node, the first if it has several."""
        tensor = tensor_of(node)
        if tensor is None and isinstance(node.meta.get(meta.VAL), (tuple, list)):
            tensor = node.meta[meta.VAL][0]
        assert tensor is not None
        return tensor

    def dtype_of(self, node: Node) -> g.XNNDatatype:
        return DATATYPES[self.tensor(node).dtype]

    def define(self, node: Node, layout: Layout = Layout.PLAIN) -> int:
        """A new value that an operator computes for `node`."""
        index = self._new_value(self.dtype_of(node), self._dims(node, layout))
        self._ids[node, layout] = index
        return index

    def temporary(self, like: Node, dims: list[int]) -> int:
        """A new value that stands for no node."""
        return self._new_value(self.dtype_of(like), dims)

    def same(self, node: Node, other: Node) -> None:
        """`node` is what `other` is, in every layout there is."""
        for layout in Layout:
            if (other, layout) in self._ids:
                self._ids[node, layout] = self._ids[other, layout]

    def layouts_of(self, node: Node) -> set[Layout]:
        """Layouts in which a computed or given value is there without a transpose."""
        self._read_input(node)
        return {layout for layout in Layout if (node, layout) in self._ids}

    def _read_input(self, node: Node) -> None:
        if node not in self._inputs or any((node, layout) in self._ids for layout in Layout):
            return
        layout = Layout.NHWC if is_channels_last(self.tensor(node)) else Layout.PLAIN
        value = self.tensor_value(self.define(node, layout))
        value.external_id = self._inputs.index(node)
        value.flags = g.INPUT
        self.graph.input_ids.append(value.id_out)

    def value(self, node: Node, layout: Layout = Layout.PLAIN) -> int:
        """The id of what `node` computes, in that layout."""
        if self.facts.is_constant(node):
            tensor = self.facts.constant(node)
            if layout is Layout.NHWC:
                tensor = tensor.reshape((1,) * (4 - tensor.dim()) + tuple(tensor.shape)).permute(TO_NHWC)
            return self.constant(tensor)
        self._read_input(node)
        if (node, layout) in self._ids:
            return self._ids[node, layout]
        other = Layout.PLAIN if layout is Layout.NHWC else Layout.NHWC
        if (node, other) not in self._ids:
            raise CompileError(f"{node.name} is used before it is computed")
        source = self._ids[node, other]
        target = self.define(node, layout)
        dims = self.tensor_value(source).dims
        height_width = dims[1:3] if other is Layout.NHWC else dims[2:4]
        if self.tensor_value(source).flags == 0 and height_width == [1, 1]:
            shape = list(self.tensor_value(target).dims)
            self.add(g.XNNStaticReshape(4, shape, source, target, 0), node)
        else:
            perm = TO_NHWC if layout is Layout.NHWC else TO_NCHW
            self.add(g.XNNStaticTranspose(4, list(perm), source, target, 0), node)
        return target

    def constant(self, tensor: torch.Tensor, dtype: torch.dtype | None = None) -> int:
        """The id of a constant value, stored as named data under the digest of its bytes; equal ones once."""
        tensor = tensor if dtype is None else tensor.to(dtype)
        data = bytes_of(tensor)
        key = hashlib.sha256(data).hexdigest()
        dims = list(tensor.shape) or [1]
        known = self._constant_ids.get((f"{key}{tensor.dtype}", tuple(dims)))
        if known is not None:
            return known
        self.store.add_named_data(key, data, ALIGNMENT)
        index = self._new_value(DATATYPES[tensor.dtype], dims)
        self.tensor_value(index).constant_buffer_idx = len(self.graph.constant_data)
        self.graph.constant_data.append(g.ConstantDataOffset(g.NAMED, len(data), key))
        self._constant_ids[f"{key}{tensor.dtype}", tuple(dims)] = index
        return index

    # ---- Operators ----

    def add(self, node: Any, origin: Node, bounds: g.OutputMinMax | None = None) -> None:
        """Appends an operator; its debug handle is that of `origin`."""
        handle = meta.get_debug_handle(origin)
        if isinstance(handle, (tuple, list)):
            handle = handle[0] if handle else None
        handle = handle if isinstance(handle, int) and handle >= 0 else NO_HANDLE
        self.graph.xnodes.append(g.XNode(node, handle, bounds))

    # ---- Outputs ----

    def finish(self, outputs: list[Node]) -> g.XNNGraph:
        """Marks the delegate's outputs, which follow its inputs among the arguments."""
        for position, node in enumerate(outputs):
            layout = Layout.NHWC if is_channels_last(self.tensor(node)) else Layout.PLAIN
            index = self.value(node, layout)
            value = self.tensor_value(index)
            if value.flags or value.constant_buffer_idx:
                copied = self._new_value(value.datatype, list(value.dims))
                self.add(g.XNNCopy(index, copied, 0), node)
                value = self.tensor_value(copied)
            value.external_id = len(self._inputs) + position
            value.flags = g.OUTPUT
            self.graph.output_ids.append(value.id_out)
        self.graph.num_externs = len(self._inputs) + len(outputs)
        return self.graph
