"""Converts FX graphs with their signatures to native programs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.fx import GraphModule

from rushlight.compat.native import schema
from rushlight.compat.native.nodes import convert_graph
from rushlight.compat.native.schema import (
    Graph,
    Method,
    MutableBufferSpec,
    NamedTensorRef,
    OutputSpec,
    Program,
    TensorMeta,
)
from rushlight.compat.native.tables import SCHEMA_VERSION, encode_program
from rushlight.compat.native.values import tensor_meta_of

Tensors: TypeAlias = Mapping[str, Any]

GraphParts: TypeAlias = tuple[GraphModule, Any, Tensors, Tensors | None]
"""The graph module, graph signature, state dict and constants of an exported program."""

_INPUT_KINDS = {
    InputKind.PARAMETER: schema.InputKind.PARAMETER,
    InputKind.BUFFER: schema.InputKind.BUFFER,
    InputKind.CONSTANT_TENSOR: schema.InputKind.CONSTANT_TENSOR,
}
_OUTPUT_KINDS = {
    OutputKind.USER_OUTPUT: schema.OutputKind.USER_OUTPUT,
    OutputKind.BUFFER_MUTATION: schema.OutputKind.BUFFER_MUTATION,
    OutputKind.USER_INPUT_MUTATION: schema.OutputKind.USER_INPUT_MUTATION,
}


def serialize_program(methods: Mapping[str, GraphParts]) -> tuple[bytes, dict[str, torch.Tensor]]:
    """Makes a native program of one or several methods.

    Methods share parameters, and buffers that a method changes, if they have the same name. Other tensors of
    one name, such as the constants that the compiler makes, get different data keys if they are different.

    Args:
        methods: graph module, graph signature, state dict and constants of each method.

    Returns:
        The bytes of the program, and its tensors by data key. The tensors are not copied, except those that
        are not row-major.

    Raises:
        ValueError: a graph cannot be represented, or a shared tensor differs between methods. The
            message names the method and the node, or the tensor.
    """
    return _ProgramWriter(methods).write()


def serialize_graph(
    graph_module: GraphModule, graph_signature: Any, state_dict: Tensors, constants: Tensors | None = None
) -> tuple[bytes, dict[str, torch.Tensor]]:
    """Makes a native program with the method `forward`. The parts are those of an exported program.

    Args:
        graph_module: the module with the graph.
        graph_signature: what the inputs and outputs of the graph stand for.
        state_dict: parameters and buffers by name.
        constants: buffers that are not in the state dict, and other tensors, by name.

    Returns:
        See `serialize_program`.

    Raises:
        ValueError: the graph cannot be represented. The message names the node.
    """
    return serialize_program({"forward": (graph_module, graph_signature, state_dict, constants)})


def output_specs_of(names: Collection[str], signature: Any) -> tuple[list[OutputSpec], set[str]]:
    """Returns what happens with the outputs of a graph, and the names of the buffers that it changes.

    Args:
        names: the names of the outputs that are tensors.
        signature: the graph signature.

    Raises:
        ValueError: the graph changes a parameter, or another kind of value that the format does not have.
    """
    changed = getattr(signature, "parameters_to_mutate", None)
    if changed:
        raise ValueError(f"parameter mutation is not supported: {sorted(changed)}; make buffers of them")
    given = [spec for spec in getattr(signature, "output_specs", ()) if isinstance(spec.arg, TensorArgument)]
    if len(given) != len(names):
        return [OutputSpec(name) for name in names], set()
    specs = []
    for name, spec in zip(names, given, strict=True):
        if spec.kind not in _OUTPUT_KINDS:
            raise ValueError(f"output {name}: native graphs have no outputs of the kind {spec.kind.name}")
        specs.append(OutputSpec(name, _OUTPUT_KINDS[spec.kind], spec.target))
    return specs, {str(spec.target) for spec in given if spec.kind is OutputKind.BUFFER_MUTATION}


class _ProgramWriter:
    """Converts the methods of a program, and collects the tensors that they share."""

    def __init__(self, methods: Mapping[str, GraphParts]) -> None:
        self._methods = methods
        self._tensors: dict[str, torch.Tensor] = {}
        self._origin: dict[str, str] = {}  # The method that added a tensor, by data key.
        self._buffers: dict[str, tuple[str, TensorMeta]] = {}  # Buffers without data: a method, metadata.
        self._changed = {
            str(spec.target)
            for _, signature, _, _ in methods.values()
            for spec in getattr(signature, "output_specs", ())
            if spec.kind is OutputKind.BUFFER_MUTATION
        }

    def write(self) -> tuple[bytes, dict[str, torch.Tensor]]:
        methods = []
        for name, parts in self._methods.items():
            try:
                methods.append(self._method(name, *parts))
            except ValueError as error:
                raise ValueError(f"method {name!r}: {error}") from error
        return encode_program(Program(methods, SCHEMA_VERSION)), self._tensors

    def _method(
        self, name: str, module: GraphModule, signature: Any, state: Tensors, constants: Tensors | None
    ) -> Method:
        graph = convert_graph(module)
        outputs, changed = output_specs_of(graph.outputs, signature)
        refs: list[NamedTensorRef] = []
        buffers: list[MutableBufferSpec] = []
        inputs: list[str] = []
        for spec, tensor in _inputs(signature, state, constants or {}):
            if spec.kind is InputKind.USER_INPUT:
                inputs.append(spec.arg.name)
            elif self._starts_at_zero(spec, tensor):
                buffers.append(MutableBufferSpec(spec.arg.name, spec.target))
                self._add_buffer(name, spec.target, graph.tensors.get(spec.arg.name))
            else:
                assert tensor is not None
                data = tensor.contiguous()
                is_shared = spec.kind is InputKind.PARAMETER or spec.target in self._changed
                key = self._add_tensor(name, spec.target, data, is_shared)
                kind, is_changed = _INPUT_KINDS[spec.kind], spec.target in changed
                refs.append(NamedTensorRef(spec.arg.name, key, tensor_meta_of(data), kind, is_changed))
        stored = frozenset(ref.name for ref in refs)
        body = Graph(graph.nodes, inputs or None, graph.outputs or None, graph.tensor_values(stored) or None)
        return Method(name, body, refs or None, outputs or None, buffers or None)

    def _starts_at_zero(self, spec: Any, tensor: torch.Tensor | None) -> bool:
        """Whether a placeholder is a changing buffer that is not saved and whose first value is zero."""
        if spec.kind is not InputKind.BUFFER or spec.persistent is not False:
            return False
        if tensor is None or isinstance(tensor, FakeTensor):
            return True
        return spec.target in self._changed and not tensor.count_nonzero()

    def _add_buffer(self, method: str, fqn: str, tensor: torch.Tensor | None) -> None:
        if tensor is None:
            return
        meta = tensor_meta_of(tensor)
        other, known = self._buffers.setdefault(fqn, (method, meta))
        if known != meta:
            raise ValueError(f"mutable buffer {fqn} has another shape or dtype than in method {other!r}")

    def _add_tensor(self, method: str, key: str, tensor: torch.Tensor, is_shared: bool) -> str:
        """Adds a tensor, and returns its data key. Tensors that methods share must be equal."""
        known = self._tensors.setdefault(key, tensor)
        self._origin.setdefault(key, method)
        if same_tensor(known, tensor):
            return key
        if is_shared:
            raise ValueError(
                f"{key} differs from that of method {self._origin[key]!r}; export the methods of one model"
            )
        key = f"{key}@{method}"
        self._tensors[key] = tensor
        return key


def _inputs(signature: Any, state: Tensors, constants: Tensors) -> Iterator[tuple[Any, torch.Tensor | None]]:
    """Yields the input specs of a signature with their tensors; None for user inputs and absent buffers."""
    for spec in getattr(signature, "input_specs", ()):
        if not isinstance(spec.arg, TensorArgument):
            raise ValueError(
                f"input {spec.arg} is not a tensor: methods of native programs have only tensors as inputs"
            )
        if spec.kind is InputKind.USER_INPUT:
            yield spec, None
            continue
        if spec.kind not in _INPUT_KINDS:
            raise ValueError(
                f"input {spec.arg.name}: native graphs have no inputs of the kind {spec.kind.name}"
            )
        tensor = state.get(spec.target, constants.get(spec.target))
        if tensor is None and (spec.kind is not InputKind.BUFFER or spec.persistent is not False):
            raise ValueError(f"input {spec.arg.name}: the program has no tensor {spec.target}")
        yield spec, tensor


def same_tensor(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Returns whether two tensors have the same dtype, shape and bytes. Fake tensors have no bytes."""
    if a is b:
        return True
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if isinstance(a, FakeTensor) or isinstance(b, FakeTensor):
        return True
    if a.data_ptr() == b.data_ptr() and a.stride() == b.stride() and a.device == b.device:
        return True
    first, second = (item.detach().cpu().contiguous().flatten().view(torch.uint8) for item in (a, b))
    return torch.equal(first, second)
