"""Emits calls of lowered modules as delegate calls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.emit.errors import EmitError, at_node
from rushlight.emit.kernels import Lookup, scalar_placeholder
from rushlight.emit.state import MethodState
from rushlight.emit.values import Emitted, Ref
from rushlight.format.program import (
    BackendDelegate,
    BackendDelegateDataReference,
    CompileSpec,
    DataLocation,
    DelegateCall,
)
from rushlight.format.segments import NamedDataEntry
from rushlight.ir import meta
from rushlight.ir.spec import TensorSpec


@runtime_checkable
class LoweredModule(Protocol):
    """The attributes of a lowered module that the emitter reads."""

    @property
    def backend_id(self) -> str:
        """The name of the backend."""

    @property
    def processed_bytes(self) -> bytes:
        """The payload."""

    @property
    def compile_specs(self) -> Sequence[CompileSpec]:
        """The options of the backend, from the partitioner."""


def emit_delegate(state: MethodState, node: Node, module: object, lookup: Lookup) -> Emitted:
    """Emits a delegate call. Its arguments are the inputs, then the results."""
    if not isinstance(module, LoweredModule):
        raise at_node(node, f"calls {module!r}, which is not a lowered module")
    results = _results(state, node)
    arguments = [state.values.constant(lookup(argument)) for argument in node.args[1:]]
    arguments += [ref for ref in pytree.tree_leaves(results) if isinstance(ref, Ref)]
    state.delegates.append(
        BackendDelegate(
            id=module.backend_id,
            processed=BackendDelegateDataReference(
                DataLocation.INLINE, state.constants.add_delegate(memoryview(module.processed_bytes))
            ),
            compile_specs=[CompileSpec(spec.key, bytes(spec.value)) for spec in module.compile_specs],
        )
    )
    call = DelegateCall(len(state.delegates) - 1, [ref.index for ref in arguments])
    index = state.append(call, node)
    _record(state, index, module)
    return results


def _results(state: MethodState, node: Node) -> Emitted:
    spec, value = meta.get_spec(node), meta.get_val(node)
    if isinstance(spec, TensorSpec):
        return state.values.of_spec(spec)
    if not isinstance(spec, (list, tuple)):
        raise at_node(node, f"the results of the delegate call must have TensorSpecs, not {spec!r}")
    values = value if isinstance(value, (list, tuple)) else [value]
    return [
        state.values.of_spec(item)
        if isinstance(item, TensorSpec)
        else state.values.fresh(scalar_placeholder(result))
        for item, result in zip(spec, values, strict=True)
    ]


def _record(state: MethodState, index: int, module: LoweredModule) -> None:
    """Records the delegate's debug handles and named data."""
    original = getattr(getattr(module, "original_module", None), "graph_module", None)
    if isinstance(original, GraphModule):
        state.debug_handles[index] = [
            handle
            for inner in original.graph.nodes
            if inner.op == "call_function" and (handle := meta.get_debug_handle(inner)) is not None
        ]
        outputs = original.graph.output_node().args[0]
        state.result_counts[index] = len(outputs) if isinstance(outputs, (list, tuple)) else 1
    described = getattr(module, "meta", None)
    delegate_map = described.get("debug_handle_map", {}) if isinstance(described, Mapping) else {}
    state.delegate_maps[index] = {"name": module.backend_id, "delegate_map": delegate_map}
    store = getattr(module, "named_data_store_output", None)
    if store is not None:
        views = store.views
        _add_named(state.constants.named, views, store.pte_data)
        for tag, entries in store.external_data.items():
            _add_named(state.constants.external.setdefault(tag, {}), views, entries)


def _add_named(known: dict[str, NamedDataEntry], buffers: Sequence[Any], entries: Mapping[str, Any]) -> None:
    """Adds the named data of a backend. Raises EmitError if a name already has different data."""
    for key, entry in entries.items():
        data = buffers[entry.buffer_index]
        previous = known.get(key)
        if previous is not None and bytes(previous.data) != bytes(data):
            raise EmitError(f"two delegates have different named data with the name {key!r}")
        alignment = math.lcm(entry.alignment, previous.alignment if previous else 1)
        known[key] = NamedDataEntry(data, alignment, entry.tensor_layout)
