"""Emits one method. Its inputs, parameters, state and graph are converted to an execution plan."""

from __future__ import annotations

import copy
import struct
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.emit.constants import Data, tensor_bytes
from rushlight.emit.errors import EmitError, UnsupportedOperatorsError, at_node
from rushlight.emit.graph import GraphEmitter
from rushlight.emit.pytree import argument_names, encode_treespec
from rushlight.emit.relations import KEY as RELATIONS_KEY
from rushlight.emit.relations import encode_relations
from rushlight.emit.shape_guards import KEY, shape_guards
from rushlight.emit.state import MethodState
from rushlight.emit.tensors import is_planned, make_tensor
from rushlight.emit.values import Emitted, Ref, scalar_value
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import (
    Chain,
    ContainerMetadata,
    DeviceType,
    ExecutionPlan,
    ExtraTensorInfo,
    NonConstBufferDevice,
    Tensor,
    TensorDataLocation,
)
from rushlight.format.pte import SHARED_MEMORY_KEY
from rushlight.format.segments import NamedDataEntry
from rushlight.ir import meta
from rushlight.ir.constants import changed_targets
from rushlight.ir.facts import facts_of
from rushlight.ir.spec import TensorSpec, dim_order_from_strides
from rushlight.memory.outputs import MUTATIONS


class MethodEmitter(GraphEmitter):
    """Emits an ExportedProgram that has a memory plan."""

    def __init__(self, state: MethodState, name: str, program: ExportedProgram) -> None:
        super().__init__(state, program.graph_module)
        self.name = name
        self.program = program
        self.facts = facts_of(program)
        signature = program.graph_signature
        self.parameters = signature.inputs_to_parameters
        self.buffers = signature.inputs_to_buffers
        self.lifted = signature.inputs_to_lifted_tensor_constants
        self.changed = changed_targets(signature)
        self.user_inputs: list[int] = []
        self._input_nodes: list[Node] = []
        self._named_buffers: Mapping[str, torch.Tensor] | None = None

    def plan(self) -> ExecutionPlan:
        """Emits the method.

        Raises:
            EmitError: the method has no memory plan, or a node cannot be emitted.
            UnsupportedOperatorsError: the target does not have all kernels. The message lists the missing
                kernels.
        """
        sizes = meta.get_planned_sizes(self.graph_module)
        if sizes is None:
            raise EmitError(f"method {self.name!r} has no memory plan; plan its memory before emission")
        self.run()
        state = self.state
        if state.refusals:
            raise UnsupportedOperatorsError(self.name, state.refusals)
        kinds = [spec.kind for spec in self.program.graph_signature.output_specs]
        outputs = [
            state.values.constant(output).index
            for output, kind in zip(self.outputs, kinds, strict=True)
            if kind not in MUTATIONS
        ]
        computed = self._computed_integers()
        guards = shape_guards(self._input_nodes, computed, self.program.range_constraints)
        if guards:
            state.constants.named[KEY + self.name] = NamedDataEntry(guards)
        relations = encode_relations(self.facts.relations, self._input_nodes, computed)
        if relations:
            state.constants.named[RELATIONS_KEY + self.name] = NamedDataEntry(relations)
        shared = meta.get_shared_memory(self.graph_module)
        if shared is not None:
            state.constants.named[SHARED_MEMORY_KEY] = NamedDataEntry(struct.pack("<I", shared))
        call_spec = self.program.call_spec
        chain = Chain([], [], state.instructions, state.traces if state.options.stack_traces else None)
        return ExecutionPlan(
            name=self.name,
            container_meta_type=ContainerMetadata(
                encode_treespec(call_spec.in_spec, argument_names(self.program)),
                encode_treespec(call_spec.out_spec),
            ),
            values=state.values.items,
            inputs=self.user_inputs,
            outputs=outputs,
            chains=[chain],
            operators=state.operators,
            delegates=state.delegates,
            non_const_buffer_sizes=sizes,
            non_const_buffer_device=[
                NonConstBufferDevice(device.buffer_idx, DeviceType(device.device_type), device.device_index)
                for device in meta.get_buffer_devices(self.graph_module)
            ]
            or None,
        )

    def _computed_integers(self) -> list[tuple[Node, int]]:
        """The nodes with an integer result, each with the index of its value."""
        found = []
        for node in self.graph_module.graph.nodes:
            if (
                node.op == "call_function"
                and meta.has_val(node)
                and isinstance(meta.get_val(node), torch.SymInt)
            ):
                value = self.lookup(node)
                if isinstance(value, Ref):
                    found.append((node, value.index))
        return found

    def placeholder(self, node: Node) -> Emitted:
        """Emits an input, a constant or a buffer."""
        spec = meta.get_spec(node)
        name = self._tensor_name(node)
        if name is None:
            return self._user_input(node, spec)
        if not isinstance(spec, TensorSpec):
            raise at_node(node, f"the tensor {name!r} has no TensorSpec")
        # If this method only reads a planned buffer, another method writes it.
        if name in self.changed or (node.name in self.buffers and is_planned(spec)):
            return self._state(node, spec, name)
        return self._constant(node, spec, name) if node.users else None

    def _user_input(self, node: Node, spec: object) -> Emitted:
        values = self.state.values
        if isinstance(spec, TensorSpec):
            ref = values.of_spec(spec)
        else:
            value = meta.get_val(node) if meta.has_val(node) else spec
            ref = values.fresh(scalar_value(_placeholder_value(value)))
        self.user_inputs.append(ref.index)
        self._input_nodes.append(node)
        return ref

    def _constant(self, node: Node, spec: TensorSpec, name: str) -> Ref:
        tensor = _dense(self._real_tensor(node, name))
        stored = copy.copy(spec)
        stored.const = True
        stored.stride = tensor.stride()
        stored.dim_order = dim_order_from_strides(tensor.stride())
        data = tensor_bytes(tensor)
        if len(data) != spec.nbytes():
            raise at_node(
                node, f"{name!r} has {len(data)} bytes of data, but its TensorSpec needs {spec.nbytes()}"
            )
        tag = self.facts.constant_files.get(name)
        if tag is not None:
            value = self._external(stored, name, tag, data)
            return self.state.values.bind(spec, self.state.values.fresh(value))
        index = self.state.constants.file.add(data)
        tensor_value = make_tensor(stored, index, planned=False)
        return self.state.values.bind(spec, self.state.values.fresh(tensor_value))

    def _external(
        self, stored: TensorSpec, name: str, tag: str, data: Data, *, planned: bool = False
    ) -> Tensor:
        """Stores the data of a tensor in the file `tag`, and returns a tensor that refers to this file.

        If the file already has other data under the name, the name of the method is appended. Methods can
        have different tensors of one name, such as scales that a quantizer adds.
        """
        file = self.state.constants.external.setdefault(tag, {})
        value = make_tensor(stored, planned=planned)
        layout = TensorLayout(value.scalar_type, value.sizes, value.dim_order)
        entry = NamedDataEntry(data, tensor_layout=layout)
        if _is_taken(file, name, entry) and not planned:
            name = f"{name}@{self.name}"
        if _is_taken(file, name, entry):
            raise EmitError(
                f"two methods have different initial values of {name!r}, so that they cannot share the data "
                f"file {tag!r}; choose another file for one of them"
            )
        info = _with_name(stored.extra_tensor_info, name)
        stored.extra_tensor_info = replace(info, location=TensorDataLocation.EXTERNAL)
        file[name] = entry
        return make_tensor(stored, planned=planned)

    def _state(self, node: Node, spec: TensorSpec, name: str) -> Ref:
        options = self.state.options
        stored = copy.copy(spec)
        if options.state_names:
            stored.extra_tensor_info = _with_name(spec.extra_tensor_info, name)
        elif not is_planned(spec):
            raise at_node(
                node,
                f"the program writes the buffer {name!r}, which has neither planned memory nor a name; plan "
                "the memory of mutable buffers (alloc_mutable_buffers), or set "
                "emit_mutable_buffer_names=True",
            )
        index = 0
        if options.state_values and is_planned(spec):
            tensor = self._real_tensor(node, name)
            real = not isinstance(tensor, torch._subclasses.FakeTensor)
            data = tensor_bytes(_elements_in_order(tensor, spec.dim_order)) if real else memoryview(b"")
            # The bytes of -0.0 are not zero.
            if real and (name in self.facts.kept_initial_state or _has_ones(data)):
                tag = self.facts.constant_files.get(name)
                if tag is not None:
                    value = self._external(stored, name, tag, data, planned=True)
                    return self.state.values.bind(spec, self.state.values.fresh(value))
                index = self.state.constants.state.add(data)
        return self.state.values.bind(spec, self.state.values.fresh(make_tensor(stored, index)))

    def _tensor_name(self, node: Node) -> str | None:
        """The qualified name of a parameter, buffer or lifted constant, or None for a user input."""
        for names in (self.parameters, self.buffers, self.lifted):
            if node.name in names:
                return str(names[node.name])
        return None

    def _real_tensor(self, node: Node, name: str) -> torch.Tensor:
        for tensors in (self.program.state_dict, self.program.constants):
            if name in tensors and isinstance(tensors[name], torch.Tensor):
                tensor: torch.Tensor = tensors[name]
                return tensor
        raise at_node(node, f"the exported program has no tensor named {name!r}")


def _has_ones(data: Data) -> bool:
    """Returns whether a bit of the data is set."""
    return data.nbytes > 0 and bool(np.asarray(data).any())


def _is_taken(file: Mapping[str, NamedDataEntry], name: str, entry: NamedDataEntry) -> bool:
    """Returns whether a data file has other data under a name than those of `entry`."""
    known = file.get(name)
    if known is None:
        return False
    return known.tensor_layout != entry.tensor_layout or not np.array_equal(
        np.asarray(known.data), np.asarray(entry.data)
    )


def _with_name(info: ExtraTensorInfo | None, name: str) -> ExtraTensorInfo:
    """Returns the extra information of a tensor with its qualified name."""
    return replace(info or ExtraTensorInfo(), fully_qualified_name=name)


def _placeholder_value(value: object) -> object:
    """Returns a placeholder for a symbolic scalar, and other values unchanged."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        kind = {torch.SymInt: 0, torch.SymFloat: 0.0, torch.SymBool: False}
        return kind[type(value)]
    return value


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a dense form of a tensor: row-major, or channels last if the tensor is channels last."""
    if tensor.is_contiguous():
        return tensor
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return tensor
    if tensor.dim() == 5 and tensor.is_contiguous(memory_format=torch.channels_last_3d):
        return tensor
    return tensor.contiguous()


def _elements_in_order(tensor: torch.Tensor, dim_order: tuple[int, ...]) -> torch.Tensor:
    """Returns a contiguous tensor with the elements in the memory order of `dim_order`."""
    return tensor.detach().permute(tuple(dim_order)).contiguous()
