"""The passes of ExecuTorch's `exir.passes`, with the same interface."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Collection, Hashable
from typing import Any, ClassVar

import torch
from torch._export.verifier import Verifier
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, TensorArgument
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.compat.exir_helpers import no_dispatch
from rushlight.compiler.config import DynamicMemoryPlanningMode
from rushlight.frontend.edge import with_dim_order
from rushlight.frontend.export import RemoveUnusedParametersPass
from rushlight.ir import memory_ops, meta
from rushlight.ir.constants import Constants, NewConstants, constant_inputs
from rushlight.ir.control_flow import is_control_flow
from rushlight.ir.dim_order_ops import memory_format_of
from rushlight.ir.edge_ops import EdgeOpOverload, aten_op, is_op, ops, to_backend_op, to_edge_op
from rushlight.ir.fake import Evaluator
from rushlight.ir.quantization import dequantizes
from rushlight.ir.sym_ops import PYTHON_TO_PRIM, is_sym_op
from rushlight.memory.write_back import WriteBackMutationsPass
from rushlight.passes.assign_debug_handles import AssignDebugHandlesPass
from rushlight.passes.base import GraphPass, eliminate_dead_code, graph_modules
from rushlight.passes.export_pass import ExportPass
from rushlight.passes.fold_constants import is_pure
from rushlight.passes.fold_quantize_pairs import FoldQuantizePairsPass
from rushlight.passes.prune_empty_cat import PruneEmptyCatPass
from rushlight.passes.remove_noops import RemoveNoopConversionsPass, RemoveNoopSlicesPass
from rushlight.passes.scalar_to_tensor import ScalarToTensorPass
from rushlight.passes.spec_prop import SpecPropPass
from rushlight.passes.sym_shapes import HintBasedSymShapeEvalPass
from rushlight.passes.sym_to_tensor import SymToTensorPass
from rushlight.passes.transform import transform_program
from rushlight.passes.weights_to_outputs import WeightsToOutputsPass

_PROPAGATED = "_prop_tensor_constant"
_RANDOM = ("rand", "bernoulli", "dropout", "multinomial", "normal", "uniform")


def dead_code_elimination_pass(graph_module: GraphModule) -> PassResult:
    """Erases nodes without users, in place, in the graph module and its submodules."""
    for module in graph_module.modules():
        if isinstance(module, GraphModule):
            module.graph.eliminate_dead_code()
            module.recompile()
    return PassResult(graph_module, True)


def propagate_dynamic_shape(
    dynamic_memory_planning_mode: DynamicMemoryPlanningMode = DynamicMemoryPlanningMode.UPPER_BOUND,
) -> list[PassBase]:
    """Returns the passes that add tensor specs to nodes, with the example sizes as upper bounds.

    Args:
        dynamic_memory_planning_mode: must be `UPPER_BOUND`.

    Raises:
        ValueError: the mode is not supported.
    """
    if dynamic_memory_planning_mode is not DynamicMemoryPlanningMode.UPPER_BOUND:
        raise ValueError(
            f"the mode {dynamic_memory_planning_mode} is not supported: use "
            "DynamicMemoryPlanningMode.UPPER_BOUND"
        )
    return [SpecPropPass(), HintBasedSymShapeEvalPass()]


def make_alloc_node(graph_module: GraphModule, val: Any, tensor_meta: object) -> Node:
    """Adds a node that allocates memory for a tensor or a list of tensors.

    Args:
        graph_module: the graph module.
        val: the fake tensor, or a list of fake tensors.
        tensor_meta: the tensor metadata of the new node.

    Returns:
        The new node.

    Raises:
        ValueError: `val` contains an item that is not a tensor.
    """
    values = list(val) if isinstance(val, (list, tuple)) else [val]
    wrong = [value for value in values if not isinstance(value, torch.Tensor)]
    if wrong:
        raise ValueError(f"memory can be allocated for tensors, not for {type(wrong[0]).__name__}")
    specs: Any = [(tuple(value.shape), value.dtype) for value in values]
    node = graph_module.graph.call_function(
        memory_ops.alloc, (specs if isinstance(val, (list, tuple)) else specs[0],)
    )
    meta.set_val(node, val)
    meta.set_tensor_meta(node, tensor_meta)
    return node


def weights_to_outputs_pass(exported_program: ExportedProgram) -> ExportedProgram:
    """Appends the parameters with gradients to the outputs of a joint graph, in place."""
    return _run_in_place(WeightsToOutputsPass().rewrite, exported_program)


def remove_unused_parameters_pass(ep: ExportedProgram) -> ExportedProgram:
    """Removes unused parameters from the program, in place."""
    return _run_in_place(RemoveUnusedParametersPass().rewrite, ep)


def insert_write_back_for_buffers_pass(
    ep: ExportedProgram,
) -> tuple[GraphModule, ExportGraphSignature]:
    """Appends nodes that copy the new values of mutable buffers and inputs into their memory.

    Returns:
        The graph module and the signature of the program, which is changed in place.
    """
    program = _run_in_place(WriteBackMutationsPass(in_place=False, copy_views=False).rewrite, ep)
    return program.graph_module, program.graph_signature


def _run_in_place(rewrite: Callable[[Any], bool], program: ExportedProgram) -> ExportedProgram:
    if rewrite(program):
        program.graph_module.recompile()
    return program


def constant_prop_pass(
    exported_program: ExportedProgram,
    custom_skip_targets: Collection[object] | None = None,
    _skip_dim_order: bool = True,
) -> ExportedProgram:
    """Replaces operators on constants by stored results, in place.

    Args:
        exported_program: an edge program.
        custom_skip_targets: operators that are not computed, by default `full` and edge operators that
            dequantize.
        _skip_dim_order: return clones of constants that are outputs by `aten.clone`; False uses
            `dim_order_ops._clone_dim_order`.

    Returns:
        The same program.
    """
    skipped = {ops.edge.aten.full.default} if custom_skip_targets is None else set(custom_skip_targets)

    def folds(node: Node) -> bool:
        if node.target in skipped or not is_pure(node, views=True):
            return False
        stays_quantized = custom_skip_targets is None and isinstance(node.target, EdgeOpOverload)
        return not (stays_quantized and dequantizes(node))

    graph = exported_program.graph
    if any(is_control_flow(node) for node in graph.nodes):
        logging.warning("constant_prop_pass does not constant propagate in control flow modules")
    constants = Constants(constant_inputs(exported_program), graph, folds)
    added, evaluator = NewConstants(exported_program), Evaluator.of(exported_program.graph_module)
    for node in reversed(list(graph.nodes)):  # ExecuTorch numbers the constants in this order
        if node.op != "call_function" or not constants.is_constant(node):
            continue
        if all(constants.is_constant(user) for user in node.users):
            continue
        computed = constants.value(node)
        if computed is not None:
            value = computed.contiguous()
            new = added.add(_PROPAGATED, value, evaluator.like(value), node, first=0)
            constants.add(new, value)
            node.replace_all_uses_with(new)
    eliminate_dead_code(graph)
    _clone_returned_constants(exported_program, _skip_dim_order)
    _name_outputs(exported_program)
    _keep_used_constants(exported_program)
    exported_program.graph_module.recompile()
    return exported_program


def _clone_returned_constants(program: ExportedProgram, skip_dim_order: bool) -> None:
    """Returns a clone of each stored tensor that is an output of the program."""
    stored, graph = constant_inputs(program), program.graph
    clone: Any = ops.edge.aten.clone.default
    if not skip_dim_order:
        clone = ops.edge.dim_order_ops._clone_dim_order.default
    if program.dialect != "EDGE":
        clone = clone._op
    output = graph.output_node()
    results: Any = output.args[0]
    for position, node in enumerate(results):
        if isinstance(node, Node) and node.name in stored:
            with graph.inserting_before(output):
                copied = graph.call_function(clone, (node,))
            meta.add_all(node, copied)
            results = (*results[:position], copied, *results[position + 1 :])
    output.args = (results,)


def _name_outputs(program: ExportedProgram) -> None:
    """Updates the output names in the signature to the names of the nodes that the graph returns."""
    results: Any = program.graph.output_node().args[0]
    for spec, node in zip(program.graph_signature.output_specs, results, strict=True):
        if isinstance(spec.arg, TensorArgument) and isinstance(node, Node):
            spec.arg = TensorArgument(node.name)


def _keep_used_constants(program: ExportedProgram) -> None:
    """Removes stored tensors without users, and stores the computed tensors as constants, not as buffers."""
    stored = constant_inputs(program)
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    kept: list[InputSpec] = []
    for spec in program.graph_signature.input_specs:
        target = str(spec.target)
        if spec.arg.name in stored and not nodes[spec.arg.name].users:
            program.graph.erase_node(nodes[spec.arg.name])
            program.state_dict.pop(target, None)
            program.constants.pop(target, None)
        elif spec.kind is InputKind.BUFFER and target.startswith(_PROPAGATED):
            program.constants[target] = program.state_dict.pop(target)
            kept.append(InputSpec(InputKind.CONSTANT_TENSOR, spec.arg, target, persistent=True))
        else:
            kept.append(spec)
    program.graph_signature.input_specs = kept


def convert_constant_dim_order_pass(exported_program: ExportedProgram) -> ExportedProgram:
    """Converts constants and buffers to row-major layout if they are neither row-major nor channels last.

    Args:
        exported_program: the program, which is changed in place.

    Returns:
        The same program.
    """
    nodes = {node.name: node for node in exported_program.graph.nodes if node.op == "placeholder"}
    for spec in exported_program.graph_signature.input_specs:
        if spec.kind not in (InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            continue
        target = str(spec.target)
        tensors = exported_program.constants
        if spec.kind is InputKind.BUFFER and spec.persistent:
            tensors = exported_program.state_dict
        tensor = tensors.get(target)
        if isinstance(tensor, torch.Tensor) and not _has_memory_format(tensor):
            tensors[target] = tensor.contiguous()
            node = nodes[spec.arg.name]
            meta.set_val(node, meta.get_val(node).contiguous())
    return exported_program


def _has_memory_format(tensor: torch.Tensor) -> bool:
    """Whether a tensor is row-major or channels last."""
    return tensor.is_contiguous() or (
        tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    )


class ReplaceBrokenOpsWithFunctionalOpsPass(ExportPass):
    """Replaces operators that return views by their variants that copy.

    Before: aten.t(x), a view. Expected: aten.t_copy(x), which has its own memory.
    """

    @override
    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        overload = aten_op(op)
        if overload is not None and overload.is_view:
            packet = getattr(getattr(torch.ops, overload.namespace), f"{op_name(overload)}_copy", None)
            copy = getattr(packet, overload._overloadname, None)
            op = op if copy is None else copy
        return super().call_operator(op, args, kwargs, meta)


def op_name(op: OpOverload) -> str:
    """Returns the name of an operator without its namespace and overload."""
    return str(op._schema.name).split("::")[1]


class ConstPropPass(ExportPass):
    """Computes operators whose arguments are all constant, while a graph is traced.

    Args:
        propogate_quant: compute only quantize and dequantize operators. By default, all other operators are
            computed.
    """

    def __init__(self, propogate_quant: bool = False) -> None:
        super().__init__()
        self.propogate_quant = propogate_quant

    @override
    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        overload = aten_op(op)
        quantizes = overload is not None and overload.namespace == "quantized_decomposed"
        if quantizes is not self.propogate_quant or not _is_constant([args, kwargs]):
            return super().call_operator(op, args, kwargs, meta)
        with no_dispatch():
            return op(*args, **kwargs)


def _is_constant(value: object) -> bool:
    """Whether an argument contains only constants such as numbers and tensors with data."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_constant, value))
    if isinstance(value, dict):
        return all(map(_is_constant, value.values()))
    constants = (float, int, bool, str, torch.Tensor, torch.device, torch.dtype, torch.layout)
    return isinstance(value, constants) and not isinstance(value, FakeTensor)


class CSEPass(PassBase):
    """Merges equal calls (common subexpressions) of operators without side effects or random results."""

    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module, in place."""
        changed = False
        for module in list(graph_modules(graph_module)):
            changed |= share_equal_calls(module, call_key)
            module.recompile()
        return PassResult(graph_module, changed)


def share_equal_calls(module: GraphModule, key_of: Callable[[Node], Hashable | None]) -> bool:
    """Replaces each node by the first node with the same key.

    Args:
        module: the module, whose graph is changed.
        key_of: returns a key that is equal for equal nodes; None for a node that must not be replaced.

    Returns:
        Whether a node was replaced.
    """
    changed = False
    first: dict[Hashable, Node] = {}
    for node in list(module.graph.nodes):
        key = key_of(node)
        if key is None:
            continue
        same = first.setdefault(key, node)
        if same is not node:
            node.replace_all_uses_with(same)
            module.graph.erase_node(node)
            changed = True
    return changed


def call_key(node: Node) -> Hashable | None:
    """Returns a key that is equal for equal calls; None for a node that must not be replaced."""
    if node.op == "get_attr":
        return node.op, str(node.target)
    if node.op != "call_function":
        return None
    op = aten_op(node.target)
    if op is None:
        simple = node.target is operator.getitem or is_sym_op(node.target)
        if not simple and getattr(node.target, "__module__", "") not in ("_operator", "builtins", "math"):
            return None
    else:
        name = op._schema.name.split("::")[1]
        random = torch.Tag.nondeterministic_seeded in op.tags or any(word in name for word in _RANDOM)
        if random or op._schema.is_mutable or not op._schema.returns:
            return None
    return node.target, _hashable(node.args), _hashable(tuple(sorted(node.kwargs.items())))


def _hashable(value: object) -> Hashable:
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, slice):
        return "slice", _hashable((value.start, value.stop, value.step))
    # In Python 1, 1.0 and True are equal, and -0.0 equals 0.0, but as arguments they give different results.
    return (type(value), repr(value)) if isinstance(value, (bool, int, float, complex)) else (value,)


class ToDevicePass(PassBase):
    """Moves parameters and buffers to a device, and sets this device in operators with a device argument.

    Args:
        device: the device, such as "cpu" or "cuda:0".
    """

    def __init__(self, device: str | torch.device) -> None:
        super().__init__()
        self.device = torch.device(device)

    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module, in place."""
        moved: GraphModule = graph_module.to(self.device)
        for node in moved.graph.nodes:
            if node.op == "call_function" and "device" in node.kwargs:
                node.update_kwarg("device", self.device)
        moved.recompile()
        return PassResult(moved, True)


class ReplaceSymSizeOpPass(GraphPass):
    """Replaces operator packets for sizes, strides and element counts by their overloads.

    Before: aten.sym_size(x, 0). Expected: aten.sym_size.int(x, 0)
    """

    _OVERLOADS: ClassVar[dict[object, object]] = {
        torch.ops.aten.sym_size: torch.ops.aten.sym_size.int,
        torch.ops.aten.sym_stride: torch.ops.aten.sym_stride.int,
        torch.ops.aten.sym_numel: torch.ops.aten.sym_numel.default,
    }

    @override
    def rewrite(self, module: GraphModule) -> bool:
        found = [node for node in module.graph.nodes if node.target in self._OVERLOADS]
        for node in found:
            node.target = self._OVERLOADS[node.target]
        return bool(found)


class EdgeToBackendOpsPass(GraphPass):
    """Replaces edge operators and Python functions by backend operators.

    `bind_pattern_to_op` registers a backend operator for an edge operator. Python functions on symbolic
    scalars are replaced by operators of the runtime.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            if node.op != "call_function":
                continue
            op = aten_op(node.target)
            backend = PYTHON_TO_PRIM.get(node.target) if op is None else to_backend_op(op)
            if backend is not None and node.target is not backend:
                node.target, changed = backend, True
        return changed


class NormalizeTransposePass(GraphPass):
    """Replaces `aten.t` by a copy. Before: aten.t(x). Expected: aten.t_copy(x)."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        found = [node for node in module.graph.nodes if node.target is torch.ops.aten.t.default]
        for node in found:
            node.target = torch.ops.aten.t_copy.default
        return bool(found)


class OpReplacePass(GraphPass):
    """Replaces ATen operators by the same operators of the edge dialect."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            op = aten_op(node.target) if node.op == "call_function" else None
            if op is node.target and op is not None and not is_op(node, *_NEVER_EDGE):
                node.target, changed = to_edge_op(op), True
        return changed


class DimOrderOpsRevertPass(GraphPass):
    """Replaces dim order operators (copies, clones and new tensors) by ATen operators.

    Before: dim_order_ops._to_dim_order_copy(x, dim_order=[0, 2, 3, 1])
    Expected: aten._to_copy(x, memory_format=torch.channels_last)
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            op = aten_op(node.target) if node.op == "call_function" else None
            replaced = None if op is None else _ATEN_OPS.get(op)
            if replaced is not None:
                kwargs = dict(node.kwargs)
                order: Any = kwargs.pop("dim_order", None)
                kwargs["memory_format"] = memory_format_of(order)
                node.target, node.kwargs, changed = to_edge_op(replaced), kwargs, True
        return changed


class MemoryFormatOpsPass(GraphPass):
    """Replaces ATen operators with a memory format (copies, clones and new tensors) by dim order operators.

    Before: aten._to_copy(x, memory_format=torch.channels_last)
    Expected: dim_order_ops._to_dim_order_copy(x, dim_order=[0, 2, 3, 1])
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            op = aten_op(node.target) if node.op == "call_function" else None
            replaced = None if op is None else _DIM_ORDER_OPS.get(op)
            if replaced is not None:
                node.kwargs = with_dim_order(node.args, node.kwargs)
                node.target, changed = to_edge_op(replaced), True
        return changed


_ATEN_OPS = {
    torch.ops.dim_order_ops._to_dim_order_copy.default: torch.ops.aten._to_copy.default,
    torch.ops.dim_order_ops._clone_dim_order.default: torch.ops.aten.clone.default,
    torch.ops.dim_order_ops._empty_dim_order.default: torch.ops.aten.empty.memory_format,
}
_DIM_ORDER_OPS = {aten: dim_order_op for dim_order_op, aten in _ATEN_OPS.items()}

_NEVER_EDGE = (
    torch.ops.aten._assert_scalar.default,
    torch.ops.aten._assert_async.msg,
    torch.ops.aten.scalar_tensor.default,
    torch.ops.aten.sym_constrain_range_for_size.default,
    torch.ops.aten.sym_constrain_range.default,
    torch.ops.aten.sym_size.int,
    torch.ops.aten.sym_numel.default,
    torch.ops.aten.sym_stride.int,
    torch.ops.aten.sym_storage_offset.default,
)


def generate_missing_debug_handles(ep: ExportedProgram) -> None:
    """Assigns a new, unique debug handle to each node without one."""
    modules = list(graph_modules(ep.graph_module))
    nodes = [node for module in modules for node in module.graph.nodes]
    handles = [meta.get_debug_handle(node) for node in nodes]
    highest = max((handle for handle in handles if isinstance(handle, int)), default=0)
    for node in nodes:
        if not meta.get_debug_handle(node):
            highest += 1
            meta.set_debug_handle(node, highest)


def update_args(args: Any, key: Any, val: Argument) -> Any:
    """Returns a copy of positional or keyword arguments in which the one with the key has another value."""
    if isinstance(args, dict):
        return {**args, key: val}
    items = list(args)
    items[key] = val
    return tuple(items)


def transform_exported_program(
    ep: ExportedProgram, *passes: Any, override_verifiers: list[type[Verifier]] | None = None
) -> ExportedProgram:
    """Returns a program transformed by passes; the given program is not changed.

    Args:
        ep: the program.
        passes: the passes, each as a separate argument.
        override_verifiers: the verifiers of the result; None means those of the program.

    Raises:
        TypeError: a list or a verifier is passed as a pass.
    """
    for item in passes:
        if isinstance(item, (list, Verifier)):
            raise TypeError(
                f"{type(item).__name__} is not a pass: pass each pass as a separate argument, and verifiers "
                "as override_verifiers"
            )
    return transform_program(ep, list(passes), override_verifiers)


base_pre_op_replace_passes: list[PassBase] = [
    ReplaceSymSizeOpPass(),
    NormalizeTransposePass(),
    ScalarToTensorPass(),
    SymToTensorPass(),
    RemoveNoopSlicesPass(),
    PruneEmptyCatPass(),
    RemoveNoopConversionsPass(),
    FoldQuantizePairsPass(),
]

base_post_op_replace_passes: list[Any] = [dead_code_elimination_pass, AssignDebugHandlesPass()]
