"""Adds intermediate values to the outputs of a program, as ExecuTorch's `devtools.intermediate_output_tap`.

A tap is a call of the operator `executorch_devtools::tap.Tensor`. No backend supports this operator, so that
its input becomes an output of the delegate. `strip_taps_` replaces each tap by the operators of its reducer.
"""

from __future__ import annotations

import fnmatch
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument
from torch.fx import Graph, GraphModule, Node
from torch.library import Library
from torch.utils import _pytree as pytree

from rushlight.compiler import EdgeProgramManager, to_edge_transform_and_lower
from rushlight.delegate.partitioner import Partitioner
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op, to_edge_op
from rushlight.ir.fake import fake_mode_of
from rushlight.ir.json_types import JsonObject
from rushlight.runtime import Runtime

aten = torch.ops.aten
NodeSelector: TypeAlias = Callable[[Node], bool]

_LIBRARY = Library("executorch_devtools", "FRAGMENT")
_LIBRARY.define("tap.Tensor(Tensor x, str reducer_name) -> Tensor")
_TAP = torch.ops.executorch_devtools.tap.Tensor


@dataclass(frozen=True)
class StatReducer:
    """A function that reduces an intermediate value to the result of a tap.

    Attributes:
        name: the name of the reducer, which a tap has as an argument.
        fields: the names of the elements of the result; empty if the result is the whole value.
        emit: `(graph, node) -> node` adds edge operators that compute the result from a node, and returns the
            node of the result.
        eager: `(tensor) -> tensor` computes the same result in eager PyTorch.
    """

    name: str
    fields: tuple[str, ...]
    emit: Callable[[Graph, Node], Node]
    eager: Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class TapSpec:
    """The description of a tap.

    Attributes:
        node_name: the name of the node whose value the tap reads.
        op_target: the operator of this node, such as "aten.linear.default".
        output_index: the index of the tap in the flat outputs of the program.
        reducer_name: the name of the reducer.
        fields: the names of the elements of the result; empty for FULL_TENSOR.
        stack_trace: the stack trace of the node, or None.
        module_path: the path of the innermost module of the node, or None.
        module_class: the class of this module, or None.
    """

    node_name: str
    op_target: str
    output_index: int
    reducer_name: str
    fields: tuple[str, ...]
    stack_trace: str | None = None
    module_path: str | None = None
    module_class: str | None = None


TapRule: TypeAlias = tuple[NodeSelector, StatReducer]


_Call: TypeAlias = Callable[..., Any]

_FIELDS = (
    *("min", "max", "mean", "abs_max", "abs_mean", "std", "rms"),
    *("l1_norm", "l2_norm", "nan_count", "inf_count", "zero_count", "p99_abs"),
)


def _stats(call: _Call, x: object, count: int) -> Any:
    """Computes the statistics of a float32 tensor with `count` elements.

    `call(op, *args)` computes an operator, or adds a node that calls it.
    """

    def whole(op: torch._ops.OpOverload, value: object) -> Any:
        return call(op, value, [], False)

    def number_of(mask: object) -> Any:
        one, zero = (call(aten.full.default, [], value, dtype=torch.float32) for value in (1.0, 0.0))
        return whole(aten.sum.dim_IntList, call(aten.where.self, mask, one, zero))

    size = call(aten.abs.default, x)
    square = call(aten.mul.Tensor, x, x)
    mean = whole(aten.mean.dim, x)
    offset = call(aten.sub.Tensor, x, mean)
    variance = whole(aten.mean.dim, call(aten.mul.Tensor, offset, offset))
    largest = call(aten.topk.default, call(aten.view_copy.default, size, [count]), _rank_of_p99(count))
    values = [
        whole(aten.amin.default, x),
        whole(aten.amax.default, x),
        mean,
        whole(aten.amax.default, size),
        whole(aten.mean.dim, size),
        call(aten.sqrt.default, variance),
        call(aten.sqrt.default, whole(aten.mean.dim, square)),
        whole(aten.sum.dim_IntList, size),
        call(aten.sqrt.default, whole(aten.sum.dim_IntList, square)),
        number_of(call(aten.ne.Tensor, x, x)),
        number_of(call(aten.eq.Scalar, size, math.inf)),
        number_of(call(aten.eq.Scalar, x, 0.0)),
        whole(aten.amin.default, call(operator.getitem, largest, 0)),
    ]
    return call(aten.cat.default, [call(aten.view_copy.default, value, [1]) for value in values])


def _rank_of_p99(count: int) -> int:
    """Returns the number of elements from the largest one down to the 99th percentile."""
    return max(1, count // 100)


def _eager_stats(tensor: torch.Tensor) -> torch.Tensor:
    def call(op: Any, *args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    result: torch.Tensor = _stats(call, tensor.to(torch.float32), _static_count(tensor, "a tensor"))
    return result


def _emit_stats(graph: Graph, source: Node) -> Node:
    value = meta.get_val(source)

    def call(op: Any, *args: Any, **kwargs: Any) -> Node:
        target = op if op is operator.getitem else to_edge_op(op)
        return graph.call_function(target, args, kwargs)

    if value.dtype != torch.float32:
        copy = torch.ops.dim_order_ops._to_dim_order_copy.default
        source = call(copy, source, dtype=torch.float32, dim_order=list(range(value.dim())))
    result: Node = _stats(call, source, _static_count(value, f"node {source.name}"))
    return result


def _static_count(tensor: torch.Tensor, name: str) -> int:
    if not all(isinstance(size, int) for size in tensor.shape) or tensor.numel() == 0:
        raise ValueError(
            f"{name} of shape {list(tensor.shape)} has no statistics: these need static sizes and at least "
            "one element; use the reducer FULL_TENSOR"
        )
    return tensor.numel()


FULL_TENSOR = StatReducer("FULL_TENSOR", (), lambda graph, source: source, lambda tensor: tensor.clone())
STATS = StatReducer("STATS", _FIELDS, _emit_stats, _eager_stats)
_REDUCERS = {reducer.name: reducer for reducer in (FULL_TENSOR, STATS)}


def get_reducer(name_or_reducer: str | StatReducer) -> StatReducer:
    """Returns the reducer with a name; a reducer object is returned unchanged.

    Raises:
        ValueError: no reducer has the name.
    """
    if isinstance(name_or_reducer, StatReducer):
        return name_or_reducer
    if name_or_reducer not in _REDUCERS:
        raise ValueError(f"no reducer has the name {name_or_reducer!r}; the reducers are {sorted(_REDUCERS)}")
    return _REDUCERS[name_or_reducer]


def _register(reducer: StatReducer) -> None:
    """Registers a reducer under its name."""
    if reducer.name in (FULL_TENSOR.name, STATS.name) and reducer is not _REDUCERS[reducer.name]:
        raise ValueError(f"the name {reducer.name} belongs to a predefined reducer: use another name")
    _REDUCERS[reducer.name] = reducer


@torch.library.impl(_LIBRARY, "tap.Tensor", "CompositeExplicitAutograd")
def tap_tensor_impl(x: torch.Tensor, reducer_name: str) -> torch.Tensor:
    """Computes the reducer with a name in eager mode."""
    return get_reducer(reducer_name).eager(x)


def select_all_call_function(exclude: tuple[str, ...] = ("getitem",)) -> NodeSelector:
    """Selects all calls of operators whose names are not in `exclude`."""
    return lambda node: (
        node.op == "call_function"
        and getattr(node.target, "__name__", "") not in exclude
        and str(node.target) not in exclude
    )


def select_by_op_type(*op_targets: str) -> NodeSelector:
    """Selects calls of operators whose names end with one of the given strings.

    Args:
        op_targets: strings such as "aten.linear.default" or "linear.default".

    Raises:
        ValueError: no string is given.
    """
    _check_given("select_by_op_type", op_targets)
    return lambda node: node.op == "call_function" and str(node.target).endswith(op_targets)


def select_by_module_path(*patterns: str, output_only: bool = True) -> NodeSelector:
    """Selects nodes of modules by path.

    Args:
        patterns: shell patterns of module paths, such as "layers.*.attention".
        output_only: select only outputs of the module, which are nodes without a user in the module.

    Raises:
        ValueError: no pattern is given.
    """
    _check_given("select_by_module_path", patterns)
    return _in_modules(
        lambda path, _: any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns), output_only
    )


def select_by_module_class(*class_names: str, output_only: bool = True) -> NodeSelector:
    """Selects nodes of modules by class.

    Args:
        class_names: names of classes without their Python modules, such as "LayerNorm".
        output_only: select only outputs of the module, which are nodes without a user in the module.

    Raises:
        ValueError: no name is given.
    """
    _check_given("select_by_module_class", class_names)
    return _in_modules(lambda _, kind: kind in class_names, output_only)


def _check_given(selector: str, names: tuple[str, ...]) -> None:
    if not names:
        raise ValueError(f"{selector} needs at least one name")


def _in_modules(accepts: Callable[[str, str], bool], output_only: bool) -> NodeSelector:
    def matching(node: Node) -> set[str]:
        return {path for path, kind in _modules(node) if accepts(path, kind)}

    def selects(node: Node) -> bool:
        if node.op != "call_function":
            return False
        found = matching(node)
        return bool(found) and not (output_only and any(found & matching(user) for user in node.users))

    return selects


def _modules(node: Node) -> list[tuple[str, str]]:
    """Returns the path and the class of each module that contains a node, the outermost module first."""
    return [
        (path, kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__)
        for path, kind in meta.module_stack_of(node).values()
    ]


def select_any(*selectors: NodeSelector) -> NodeSelector:
    """Selects nodes that at least one selector accepts."""
    return lambda node: any(selector(node) for selector in selectors)


def select_all(*selectors: NodeSelector) -> NodeSelector:
    """Selects nodes that all selectors accept."""
    return lambda node: all(selector(node) for selector in selectors)


def select_not(selector: NodeSelector) -> NodeSelector:
    """Selects nodes that a selector does not accept."""
    return lambda node: not selector(node)


def is_tap_node(n: Node) -> bool:
    """Returns whether a node is a tap, in any dialect."""
    target = aten_op(n.target) if n.op == "call_function" else None
    return target is _TAP


def find_tap_nodes(gm: GraphModule) -> list[Node]:
    """Returns the taps of a graph."""
    return [node for node in gm.graph.nodes if is_tap_node(node)]


def tap_intermediate_outputs_(
    ep: ExportedProgram,
    rules: Sequence[TapRule] | TapRule | None = None,
    *,
    max_taps: int | None = None,
    error_on_empty: bool = True,
) -> tuple[ExportedProgram, list[TapSpec]]:
    """Adds the values of selected nodes to the outputs of a program, in place.

    Args:
        ep: a program from torch.export.
        rules: pairs of a selector and a reducer, or one pair. If several rules select a node, the first rule
            applies. None means the statistics of all nodes.
        max_taps: the largest number of taps; None means no limit.
        error_on_empty: raise an error if no node is selected. If False, a warning is issued.

    Returns:
        The program, and its taps in the order of their outputs.

    Raises:
        ValueError: no rule selects a node.
    """
    chosen = _chosen(ep.graph, _rules_of(rules))[:max_taps]
    if not chosen:
        message = "no rule selects a node of the program; check the selectors"
        if error_on_empty:
            raise ValueError(f"{message}, or pass error_on_empty=False")
        warnings.warn(message, UserWarning, stacklevel=2)
        return ep, []
    output = ep.graph.output_node()
    first = sum(spec.kind is OutputKind.USER_OUTPUT for spec in ep.graph_signature.output_specs)
    taps, specs = [], []
    for index, (node, reducer) in enumerate(chosen):
        _register(reducer)
        taps.append(_insert_tap(ep.graph, node, reducer))
        specs.append(_spec(node, reducer, first + index))
    output.args = ((*output.args[0], *taps),)
    ep.graph_signature.output_specs.extend(
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(tap.name), None) for tap in taps
    )
    _extend_call(ep, len(taps))
    ep.graph_module.recompile()
    return ep, specs


def _rules_of(rules: Sequence[TapRule] | TapRule | None) -> Sequence[TapRule]:
    if rules is None:
        return [(select_all_call_function(), STATS)]
    if isinstance(rules, tuple) and len(rules) == 2 and callable(rules[0]):
        return [rules]
    return rules


def _chosen(graph: Graph, rules: Sequence[TapRule]) -> list[tuple[Node, StatReducer]]:
    found = []
    for node in graph.nodes:
        if node.op != "call_function" or not isinstance(meta.find_val(node), torch.Tensor):
            continue
        reducer = next((reducer for selector, reducer in rules if selector(node)), None)
        if reducer is not None:
            found.append((node, get_reducer(reducer)))
    return found


def _insert_tap(graph: Graph, node: Node, reducer: StatReducer) -> Node:
    with graph.inserting_after(node):
        tap = graph.call_function(_TAP, (node, reducer.name))
    meta.copy_origin(node, tap)
    value = meta.get_val(node)
    with fake_mode_of(graph):
        meta.set_val(tap, _TAP(value, reducer.name))
    return tap


def _spec(node: Node, reducer: StatReducer, index: int) -> TapSpec:
    modules = _modules(node)
    path, kind = modules[-1] if modules else (None, None)
    trace = meta.get_stack_trace(node)
    return TapSpec(node.name, str(node.target), index, reducer.name, reducer.fields, trace, path, kind)


def _extend_call(ep: ExportedProgram, count: int) -> None:
    """Changes the output structure of the program to a tuple of its result and the results of the taps."""
    signature = ep.module_call_graph[0].signature
    assert signature is not None
    leaves = list(range(signature.out_spec.num_leaves))
    result = pytree.tree_unflatten(leaves, signature.out_spec)
    signature.out_spec = pytree.tree_structure((result, *range(count)))
    signature.outputs.extend(TensorArgument("") for _ in range(count))


def strip_taps_(edge_manager: EdgeProgramManager) -> None:
    """Replaces the taps of all methods by the operators of their reducers, in place.

    Args:
        edge_manager: the lowered program.
    """
    for name in edge_manager.methods:
        program = edge_manager.exported_program(name)
        for tap in find_tap_nodes(program.graph_module):
            _replace_tap(program, tap)
        program.graph_module.recompile()


def _replace_tap(program: ExportedProgram, tap: Node) -> None:
    graph = tap.graph
    source, name = tap.args
    assert isinstance(source, Node)
    before = tap.prev
    with graph.inserting_before(tap):
        result = get_reducer(str(name)).emit(graph, source)
    _fill_in(graph, before.next, tap)
    for spec in program.graph_signature.output_specs:
        if spec.arg.name == tap.name:
            spec.arg = TensorArgument(result.name)
    tap.replace_all_uses_with(result)
    graph.erase_node(tap)


def _fill_in(graph: Graph, node: Node, end: Node) -> None:
    """Computes the values of new nodes up to the node `end`, and copies the source line of `end` to them."""
    with fake_mode_of(graph):
        while node is not end:
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), meta.get_val)
            assert callable(node.target)
            meta.copy_origin(end, node)
            meta.set_val(node, node.target(*args, **kwargs))
            node = node.next


def tap_compare(
    model: torch.nn.Module,
    example_inputs: tuple[object, ...],
    partitioner: list[Partitioner] | None = None,
    *,
    rules: Sequence[TapRule] | TapRule | None = None,
    error_on_empty: bool = True,
) -> tuple[Any, list[TapSpec]]:
    """Compares intermediate values in eager PyTorch with the values in the runtime.

    Args:
        model: the model.
        example_inputs: the inputs of the model.
        partitioner: the partitioners; None means that nothing is delegated.
        rules: see `tap_intermediate_outputs_`.
        error_on_empty: see `tap_intermediate_outputs_`.

    Returns:
        The pandas DataFrame of `compare_aot_runtime_dataframe`, and the taps.
    """
    program = torch.export.export(model, example_inputs)
    program, specs = tap_intermediate_outputs_(program, rules, error_on_empty=error_on_empty)
    expected = pytree.tree_leaves(program.module()(*example_inputs))
    manager = to_edge_transform_and_lower(program, partitioner=partitioner or [])
    strip_taps_(manager)
    loaded = Runtime.get().load_program(manager.to_executorch())
    method = loaded.load_method("forward")
    return compare_aot_runtime_dataframe(
        specs, expected, method.execute(pytree.tree_leaves(example_inputs))
    ), specs


def compare_aot_runtime_dataframe(
    specs: Sequence[TapSpec], aot_flat: Sequence[object], rt_flat: Sequence[object]
) -> Any:
    """Compares the values of taps in eager PyTorch and in the runtime.

    Args:
        specs: the taps.
        aot_flat: the flat outputs of the tapped program in eager PyTorch.
        rt_flat: the flat outputs of the compiled program.

    Returns:
        A pandas DataFrame with one row for each tap. It has the columns `aot_<field>` and `rt_<field>` for
        statistics, and the columns `sqnr_db` (signal-to-noise ratio in dB), `aot_numel` and `rt_numel` for
        whole tensors.
    """
    import pandas

    return pandas.DataFrame([_row(s, aot_flat[s.output_index], rt_flat[s.output_index]) for s in specs])


def _row(spec: TapSpec, expected: object, got: object) -> JsonObject:
    row: JsonObject = {
        "node_name": spec.node_name,
        "module_path": spec.module_path,
        "module_class": spec.module_class,
        "op_target": spec.op_target,
        "reducer_name": spec.reducer_name,
        "output_index": spec.output_index,
    }
    sides = {"aot": _flat(expected), "rt": _flat(got)}
    if spec.reducer_name == FULL_TENSOR.name:
        row["sqnr_db"] = _sqnr(sides["aot"], sides["rt"])
        return row | {f"{side}_numel": values.numel() for side, values in sides.items()}
    fields = spec.fields or [f"v{i}" for i in range(sides["aot"].numel())]
    for index, name in enumerate(fields):
        for side, values in sides.items():
            row[f"{side}_{name}"] = float(values[index]) if index < values.numel() else math.nan
    return row


def _flat(value: object) -> torch.Tensor:
    return torch.as_tensor(value).detach().to(torch.float32).reshape(-1)


def _sqnr(expected: torch.Tensor, got: torch.Tensor) -> float:
    if expected.numel() != got.numel() or expected.numel() == 0:
        return math.nan
    noise = torch.linalg.vector_norm(expected - got)
    return float(20 * torch.log10(torch.linalg.vector_norm(expected) / noise))
