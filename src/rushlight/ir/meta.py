"""Typed access to `node.meta`. Other packages do not use the keys of `node.meta` directly."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.fx import Node
from torch.fx.traceback import NodeSource
from torch.utils import _pytree as pytree

from rushlight.ir.errors import InternalError
from rushlight.ir.spec import BufferDevice, TensorSpec

VAL = "val"
SPEC = "spec"
TENSOR_META = "tensor_meta"
DEBUG_HANDLE = "debug_handle"
STACK_TRACE = "stack_trace"
DELEGATION_TAG = "delegation_tag"
CONSTANT_TAG = "constant_tag"
DELEGATE_CONSTANT_TAG = "delegate_constant_tag"
INITIAL_STATE = "et_init_buffer"
CUSTOM = "custom"
NON_CONST_BUFFER_SIZES = "non_const_buffer_sizes"
NON_CONST_BUFFER_DEVICE = "non_const_buffer_device"
SHARED_MEMORY = "shared_memory"
ORIGIN = "origin"
ORIGINAL = "original_aten"
SHARED_ARGUMENT = "_share_alloc_with_arg_idx"
SHARED_OFFSET = "_shared_alloc_offset"
FROM_NODE = "from_node"
UNBACKED_BINDINGS = "unbacked_bindings"
ANNOTATION = "quantization_annotation"
INPUT_GRAM_MATRIX = "rushlight_input_gram_matrix"
REQUESTED_NAME = "requested_name"
FUSED_ACTIVATION = "XNN_FUSED_ACTIVATION"
IMPLICIT_QUANTIZATION = "IS_IMPLICIT_Q_DQ_TAG"
CHANNELS_LAST = "XNN_NHWC_NODE"

# Keys that describe the origin of a node. A node that replaces another node gets a copy of them.
ORIGIN_KEYS = (
    "stack_trace",
    "nn_module_stack",
    "source_fn_stack",
    "torch_fn",
    "from_node",
    "origin",
    "debug_handle",
    "delegation_tag",
    "seq_nr",
    "custom",
    ORIGINAL,
)


DebugHandle: TypeAlias = int | list[int] | tuple[int, ...]
"""Identifies a node in records: a number, or the numbers of all nodes that were fused into the node."""


@dataclass(frozen=True)
class SourceLocation:
    """A line of the Python code of the user."""

    file: str
    line: int
    function: str
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def has_val(node: Node) -> bool:
    """Returns whether a node has a fake value."""
    return VAL in node.meta


def get_val(node: Node) -> Any:
    """Returns the value of a node: a fake tensor, a symbolic or plain scalar, or a sequence of these."""
    try:
        return node.meta[VAL]
    except KeyError:
        raise InternalError(f"node {node.name} ({node.target}) has no value metadata") from None


def find_val(node: Node) -> Any:
    """Returns the value of a node, as `get_val` returns it, or None if the node has no value metadata."""
    return node.meta.get(VAL)


def set_val(node: Node, val: object) -> None:
    """Sets the fake value of a node."""
    node.meta[VAL] = val


def set_tensor_meta(node: Node, value: object) -> None:
    """Sets the description of a node's tensor that passes of torch.fx read."""
    node.meta[TENSOR_META] = value


def get_all(node: Node) -> Mapping[str, Any]:
    """Returns all metadata of a node, read-only: the keys of torch, of Rushlight and of the user."""
    return node.meta


def history_of(node: Node) -> list[Any]:
    """Returns the steps by which torch derived a node from other nodes. The newest step is last."""
    return list(node.meta.get(FROM_NODE) or ())


def makes_symbols(node: Node) -> bool:
    """Returns whether the node creates a symbolic size or number that depends on data."""
    return UNBACKED_BINDINGS in node.meta


def get_tensor(node: Node) -> torch.Tensor | None:
    """Returns the fake tensor of a node with one tensor result; None for other nodes."""
    val = node.meta.get(VAL)
    return val if isinstance(val, torch.Tensor) else None


def get_dtype(node: object) -> torch.dtype | None:
    """Returns the dtype of a node with one tensor result; None for other values."""
    tensor = get_tensor(node) if isinstance(node, Node) else None
    return None if tensor is None else tensor.dtype


def get_shape(node: object) -> tuple[int | torch.SymInt, ...]:
    """Returns the sizes of a node with one tensor result; () for other values."""
    tensor = get_tensor(node) if isinstance(node, Node) else None
    return () if tensor is None else tuple(tensor.shape)


def has_spec(node: Node) -> bool:
    """Returns whether a node has a tensor spec."""
    return SPEC in node.meta


def get_spec(node: Node) -> Any:
    """Returns the TensorSpec of a node, a list of TensorSpecs (None for an absent output), or a scalar."""
    return node.meta.get(SPEC)


def set_spec(node: Node, spec: object) -> None:
    """Sets the tensor spec of a node."""
    node.meta[SPEC] = spec


def tensor_specs(node: Node) -> list[TensorSpec]:
    """Returns all TensorSpecs of a node, in order; an empty list if it computes no tensor."""
    spec = node.meta.get(SPEC)
    if isinstance(spec, TensorSpec):
        return [spec]
    if spec is None:
        return []
    return [leaf for leaf in pytree.tree_leaves(spec) if isinstance(leaf, TensorSpec)]


def get_debug_handle(node: Node) -> DebugHandle | None:
    """Returns the debug handle: an int, a sequence of ints for a fused node, or None before assignment."""
    return node.meta.get(DEBUG_HANDLE)


def set_debug_handle(node: Node, handle: DebugHandle | None) -> None:
    """Sets the debug handle of a node."""
    node.meta[DEBUG_HANDLE] = handle


def join_debug_handles(node: Node, part: Node) -> None:
    """Adds the debug handle of `part` to `node`, because `part` was fused into `node`."""
    joined: dict[int, None] = {}
    for handles in (get_debug_handle(node), get_debug_handle(part)):
        joined |= dict.fromkeys((handles,) if isinstance(handles, int) else handles or ())
    if joined:
        set_debug_handle(node, tuple(joined) if len(joined) > 1 else next(iter(joined)))


def get_delegation_tag(node: Node) -> str | None:
    """Returns the tag of the partition that a node belongs to, or None."""
    return node.meta.get(DELEGATION_TAG)


def set_delegation_tag(node: Node, tag: str) -> None:
    """Sets the tag of the partition that a node belongs to."""
    node.meta[DELEGATION_TAG] = tag


def clear_delegation_tag(node: Node) -> None:
    """Removes the partition tag from a node."""
    node.meta.pop(DELEGATION_TAG, None)


def has_gradient(node: Node) -> bool:
    """Returns whether training on the device changes this weight."""
    return bool(node.meta.get("weight_has_gradient"))


def must_not_be_copied(node: Node) -> bool:
    """Returns whether a partitioner asks to keep a constant in a single partition."""
    return bool(node.meta.get("no_copy"))


def get_cluster(node: Node) -> str | None:
    """Returns the name of the cluster of quantized operators that a quantizer set, or None."""
    return node.meta.get("cluster")


def get_custom(node: Node) -> object:
    """Returns the user's metadata (the `custom` key, which torch.export keeps), or None."""
    return node.meta.get(CUSTOM)


def set_custom(node: Node, value: object) -> None:
    """Sets the user's metadata."""
    node.meta[CUSTOM] = value


def get_fused_activation(node: Node) -> Any:
    """Returns the bounds of the activation that a pass fused into a node, or None."""
    return node.meta.get(FUSED_ACTIVATION)


def set_fused_activation(node: Node, bounds: object) -> None:
    """Sets the bounds of the activation fused into a node."""
    node.meta[FUSED_ACTIVATION] = bounds


def is_implicit_quantization(node: Node) -> bool:
    """Returns whether a pass added this quantize or dequantize node. A backend must not execute it."""
    return bool(node.meta.get(IMPLICIT_QUANTIZATION, False))


def set_implicit_quantization(node: Node) -> None:
    """Marks a quantize or dequantize node that a pass has added."""
    node.meta[IMPLICIT_QUANTIZATION] = True


def get_channels_last(node: Node) -> bool | None:
    """Returns whether a backend stores the value channels last; None if no pass has decided yet."""
    return node.meta.get(CHANNELS_LAST)


def set_channels_last(node: Node, is_last: bool) -> None:
    """Sets whether a backend stores the value channels last."""
    node.meta[CHANNELS_LAST] = is_last


def get_requested_name(node: Node) -> str | None:
    """Returns the name that was requested for a new placeholder. The name in the graph may differ."""
    return node.meta.get(REQUESTED_NAME)


def set_requested_name(node: Node, name: str) -> None:
    """Sets the name that was requested for a new placeholder."""
    node.meta[REQUESTED_NAME] = name


def get_constant_tag(node: Node) -> str | None:
    """Returns the data file (without suffix) for the constant of a placeholder; None for the program file."""
    return node.meta.get(CONSTANT_TAG)


def set_constant_tag(node: Node, tag: str) -> None:
    """Sets the data file (without suffix) for a constant."""
    node.meta[CONSTANT_TAG] = tag


def set_delegate_constant_tag(node: Node, tag: str | None) -> None:
    """Sets the data file (without suffix) in which a backend stores a constant."""
    node.meta.setdefault(CUSTOM, {})[DELEGATE_CONSTANT_TAG] = tag


def get_delegate_constant_tag(node: Node) -> str | None:
    """Returns the data file (without suffix) in which a backend stores a constant, or None."""
    tag: str | None = (node.meta.get(CUSTOM) or {}).get(DELEGATE_CONSTANT_TAG)
    return tag


def keeps_initial_state(node: Node) -> bool:
    """Returns whether the initial value of a mutable buffer is written even if it is all zeros."""
    return bool(node.meta.get(INITIAL_STATE, False))


def copy_all(source: Node, target: Node) -> None:
    """Copies all metadata of `source` to `target`, which has the same value in another graph."""
    target.meta = dict(source.meta)


def add_all(source: Node, target: Node) -> None:
    """Adds all metadata of `source` to the metadata of `target`."""
    target.meta.update(source.meta)


def set_all(node: Node, data: Mapping[str, object]) -> None:
    """Adds the metadata `data` of another node to the metadata of `node`."""
    node.meta.update(data)


def copy_origin(source: Node, target: Node) -> None:
    """Copies the source line, module path and debug handle of `source` to `target`."""
    for key in ORIGIN_KEYS:
        if key in source.meta:
            target.meta[key] = source.meta[key]


def copy_source(source: Node, target: Node) -> None:
    """Copies what `copy_origin` copies, except the debug handle and the delegation tag."""
    for key in ORIGIN_KEYS:
        if key in source.meta and key not in (DEBUG_HANDLE, DELEGATION_TAG):
            target.meta[key] = source.meta[key]


def drop_unwritable(node: Node) -> None:
    """Removes metadata that torch's serializer cannot write, and replaces module classes by their names."""
    for key in ("source_fn_stack", CUSTOM):
        node.meta.pop(key, None)
    if stack := node.meta.get("nn_module_stack"):
        node.meta["nn_module_stack"] = {
            key: (path, kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}")
            for key, (path, kind) in stack.items()
        }


def origin_of(node: Node) -> str:
    """Returns the name of the exported program's node that `node` was derived from."""
    origin = node.meta.get(ORIGIN)
    if origin is not None:
        return str(origin)
    sources = node.meta.get(FROM_NODE)
    if not sources:
        return node.name
    source = sources[-1]
    while source.from_node:
        source = source.from_node[-1]
    return f"{source.name}.{source.graph_id}"


def add_source(node: Node, source: Node) -> None:
    """Records that `node` was derived from `source`.

    Nodes share the list of earlier steps, while torch would copy it for each node.
    """
    step = NodeSource(None)
    step.node_info = NodeSource.NodeInfo(source.name, str(source.target), id(source.graph))
    step.from_node = list(source.meta.get(FROM_NODE) or ())
    node.meta[FROM_NODE] = [step]


def earlier_names_of(node: Node) -> list[str]:
    """Returns the names of the node in earlier graphs, the newest name first."""
    names: list[str] = []
    sources = node.meta.get(FROM_NODE)
    while sources:
        names.append(sources[-1].name)
        sources = sources[-1].from_node
    return names


def set_origin(node: Node, origin: str) -> None:
    """Sets the origin of a node."""
    node.meta[ORIGIN] = origin


def get_original(node: Node) -> object:
    """Returns the ATen operator whose decomposition made the node (the operator itself if it was kept)."""
    return node.meta.get(ORIGINAL)


def set_original(node: Node, op: object) -> None:
    """Sets the ATen operator whose decomposition made the node."""
    node.meta[ORIGINAL] = op


def get_annotation(node: Node) -> Any:
    """Returns the QuantizationAnnotation (torchao) of a node; None if the node is not quantized."""
    return node.meta.get(ANNOTATION)


def set_annotation(node: Node, annotation: object) -> None:
    """Sets the quantization annotation of a node; None removes it."""
    if annotation is None:
        node.meta.pop(ANNOTATION, None)
    else:
        node.meta[ANNOTATION] = annotation


def get_input_gram_matrix(node: Node) -> torch.Tensor | None:
    """Returns the Gram matrix of the inputs of an operator over the calibration data; None without data."""
    return node.meta.get(INPUT_GRAM_MATRIX)


def set_input_gram_matrix(node: Node, gram: torch.Tensor) -> None:
    """Sets the Gram matrix of the inputs of an operator: the sum of x^T x over vectors x of the last dim."""
    node.meta[INPUT_GRAM_MATRIX] = gram


def source_function_of(node: Node) -> Any:
    """Returns the module class or function that created a node; None if torch did not record it."""
    stack = node.meta.get("source_fn_stack")
    return stack[-1][1] if stack else None


def get_stack_trace(node: Node) -> str | None:
    """Returns the stack trace of a node, or None."""
    return node.meta.get(STACK_TRACE)


def add_to_stack_trace(node: Node, text: str) -> None:
    """Appends the source position of a rewrite to the stack trace of a node."""
    node.meta[STACK_TRACE] = f"{node.meta.get(STACK_TRACE) or ''}\n{text}"


_FRAME = re.compile(
    r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)(?:\n[ \t]+(?P<code>[^\n]*))?'
)
_TORCH_ROOT = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_INSTALLED_TORCH = re.compile(r"[/\\]site-packages[/\\]torch[/\\]")  # matches torch in any environment


def source_frames(node: Node) -> Iterator[SourceLocation]:
    """Yields the frames of the stack trace of a node, outermost first."""
    for match in _FRAME.finditer(node.meta.get(STACK_TRACE) or ""):
        yield SourceLocation(
            match["file"], int(match["line"]), match["function"], (match["code"] or "").strip()
        )


def source_of(node: Node) -> SourceLocation | None:
    """Returns the innermost source line outside torch that created a node; None without a stack trace.

    Code that torch generates is not a source line either: torch traces the bodies of control flow through
    graph modules, whose functions have the file name `<eval_with_key>` and a number.
    """
    frames = list(source_frames(node))
    for frame in reversed(frames):
        if not frame.file.startswith((_TORCH_ROOT, "<eval_with_key>")) and not _INSTALLED_TORCH.search(
            frame.file
        ):
            return frame
    return frames[-1] if frames else None


def module_path_of(node: Node) -> str | None:
    """Returns the dotted name of the innermost module whose forward created the node."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return None
    path = next(reversed(stack.values()))[0]
    return str(path) if path else None


def module_stack_of(node: Node) -> dict[str, tuple[str, type | str]]:
    """Returns (path, class) of the modules that created a node, outermost first, by torch.export's key."""
    return dict(node.meta.get("nn_module_stack") or {})


def modules_of(node: Node) -> list[tuple[str, str]]:
    """Returns (path, qualified class name) of the modules that created a node, outermost first."""
    stack = node.meta.get("nn_module_stack") or {}
    return [(str(path), str(getattr(kind, "__qualname__", kind))) for path, kind in stack.values()]


def module_types_of(node: Node) -> list[tuple[str, type | str]]:
    """Returns (path, class) of the modules that created a node, outermost first.

    The paths do not have the prefix of torch.export. In a program that was loaded from a file, a class is a
    name.
    """
    stack = node.meta.get("nn_module_stack") or {}
    return [(str(path).removeprefix("L['self']."), kind) for path, kind in stack.values()]


def copy_graph_meta(source: torch.fx.GraphModule, target: torch.fx.GraphModule) -> None:
    """Adds the metadata of graph module `source` to the metadata of `target`."""
    target.meta.update(source.meta)


def given_arguments(graph_module: torch.fx.GraphModule) -> tuple[object, ...] | None:
    """Returns the input values on which a pass runs a graph; None means the values of the placeholders."""
    given = graph_module.meta.get("args")
    return None if given is None else tuple(given)


def get_planned_sizes(graph_module: torch.fx.GraphModule) -> list[int] | None:
    """Returns the bytes of each planned memory by mem_id (index 0 is unused); None before planning."""
    return graph_module.meta.get(NON_CONST_BUFFER_SIZES)


def set_planned_sizes(graph_module: torch.fx.GraphModule, sizes: list[int]) -> None:
    """Sets the size in bytes of each planned memory of a graph."""
    graph_module.meta[NON_CONST_BUFFER_SIZES] = sizes


def share_place_with_argument(node: Node, index: int) -> None:
    """Requests that the memory planner places a result in the memory of the argument `index`."""
    node.meta[SHARED_ARGUMENT] = index


def shared_argument(node: Node) -> tuple[object, object] | None:
    """Returns the argument whose memory the result reuses: (argument index, offset in bytes).

    The result is None if no pass requested this. A pass of the user may set the values; they are not checked.

    Raises:
        ValueError: the node has an offset but no index.
    """
    index, offset = node.meta.get(SHARED_ARGUMENT), node.meta.get(SHARED_OFFSET)
    if index is None:
        if offset is not None:
            raise ValueError(f"node {node.name} has the metadata {SHARED_OFFSET} but not {SHARED_ARGUMENT}")
        return None
    return index, 0 if offset is None else offset


def get_buffer_devices(graph_module: torch.fx.GraphModule) -> list[BufferDevice]:
    """Returns the devices of planned memories outside host memory."""
    return list(graph_module.meta.get(NON_CONST_BUFFER_DEVICE, ()))


def set_buffer_devices(graph_module: torch.fx.GraphModule, devices: list[BufferDevice]) -> None:
    """Sets the devices of planned memories outside host memory; an empty list removes the entry."""
    graph_module.meta.pop(NON_CONST_BUFFER_DEVICE, None)
    if devices:
        graph_module.meta[NON_CONST_BUFFER_DEVICE] = devices


def get_shared_memory(graph_module: torch.fx.GraphModule) -> int | None:
    """Returns the mem_id of the memory with the state that methods share, or None."""
    return graph_module.meta.get(SHARED_MEMORY)


def set_shared_memory(graph_module: torch.fx.GraphModule, mem_id: int) -> None:
    """Sets the mem_id of the memory with the state that methods share."""
    graph_module.meta[SHARED_MEMORY] = mem_id
