"""Builds exported programs from their parts, and copies programs. Copies share the weights.

The Python code of a graph is generated when it is first read.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import sympy
import torch
from torch._export.verifier import Verifier
from torch.export import Dim, ExportedProgram, ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import ExportGraphSignature, InputKind, TensorArgument
from torch.fx import Graph, GraphModule, Node
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.node import map_aggregate, map_arg
from torch.utils import _pytree as pytree
from torch.utils._sympy.value_ranges import ValueRanges

from rushlight.ir import meta, sym
from rushlight.ir.facts import MethodProgram, ProgramFacts, facts_of
from rushlight.ir.spec import TensorSpec

DynamicShapes: TypeAlias = dict[str, Any] | tuple[Any, ...] | list[Any] | None
"""The dynamic dims of the inputs, in the format of torch.export: a description for each input."""


def dynamic_shapes_of(program: ExportedProgram) -> DynamicShapes:
    """Returns the dynamic dims of the inputs, to export another form of a program.

    Args:
        program: a program with example inputs.

    Returns:
        The dims in the format of torch.export, first those of the positional inputs; None if all inputs have
        fixed sizes.
    """
    if program.example_inputs is None:
        return None
    args, kwargs = program.example_inputs
    leaves, structure = pytree.tree_flatten((*args, *kwargs.values()))
    values = {node.name: meta.find_val(node) for node in program.graph.find_nodes(op="placeholder")}
    names = [
        spec.arg.name for spec in program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT
    ]
    dims = [_dynamic_dims(values.get(name)) for name in names[: len(leaves)]]
    if all(dim is None for dim in dims):
        return None
    shapes: DynamicShapes = pytree.tree_unflatten(dims, structure)
    return shapes


def keep_ranges(program: ExportedProgram, old: ExportedProgram) -> ExportedProgram:
    """Sets the lower bounds of the dynamic dims of a program to those of its old form.

    torch traces every dynamic dim as 2 or more. It gives a dim the bound 0 or 1 only afterwards, and only if
    `dynamic_shapes` has a name for the dim.

    Args:
        program: the result of an export with `dynamic_shapes_of(old)`. Its range constraints are changed.
        old: the program of which `program` is another form.

    Returns:
        `program`.
    """
    ranges = program.range_constraints
    for new_size, size in zip(_input_sizes(program), _input_sizes(old), strict=False):
        range_of, limits = ranges.get(new_size), old.range_constraints.get(size)
        if range_of is not None and limits is not None and limits.lower < range_of.lower == 2:
            ranges[new_size] = ValueRanges(limits.lower, range_of.upper)
    return program


def _input_sizes(program: ExportedProgram) -> list[sympy.Expr]:
    """Returns the sizes of the input tensors and the values of the input numbers."""
    names = {
        spec.arg.name for spec in program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT
    }
    values = [
        meta.find_val(node) for node in program.graph.find_nodes(op="placeholder") if node.name in names
    ]
    sizes = [
        size for value in values for size in (value.shape if isinstance(value, torch.Tensor) else [value])
    ]
    return [sym.expression_of(size) for size in sizes if isinstance(size, (int, torch.SymInt))]


def _dynamic_dims(value: object) -> Any:
    """The bounds of the dynamic dims of a tensor by dim, or of a dynamic int; None for other inputs."""
    if isinstance(value, torch.SymInt):
        low, high = sym.bounds(value)
        return Dim.AUTO(min=max(low, 0), max=high)
    if not isinstance(value, torch.Tensor):
        return None
    sizes = {dim: _dynamic_dims(size) for dim, size in enumerate(value.shape) if sym.is_symbolic(size)}
    return sizes or None


def make_program(
    like: ExportedProgram,
    attributes: torch.nn.Module | Mapping[str, object],
    graph: Graph,
    graph_signature: ExportGraphSignature,
    *,
    state_dict: dict[str, torch.Tensor] | None = None,
    constants: dict[str, object] | None = None,
    verifiers: list[type[Verifier]] | None = None,
    facts: ProgramFacts | None = None,
) -> MethodProgram:
    """Makes a program with the graph `graph`. The tables of tensors are copied; the tensors are shared.

    The result is not validated. Call `validate()` to validate it.

    Args:
        like: the program that provides the parts that are not given.
        attributes: the values of `get_attr` nodes.
        graph: the graph.
        graph_signature: the signature of the graph.
        state_dict: parameters and buffers by qualified name.
        constants: lifted tensors and other constants by qualified name.
        verifiers: the verifiers of the dialect.
        facts: the facts of the program.
    """
    module = lazy_module(attributes, graph)
    module.meta.update(like.graph_module.meta)
    program = program_around(
        module,
        graph_signature,
        state_dict=dict(like.state_dict) if state_dict is None else state_dict,
        range_constraints=dict(like.range_constraints),
        module_call_graph=copy_call_graph(like.module_call_graph),
        example_inputs=like.example_inputs,
        constants=dict(like.constants) if constants is None else constants,
        verifiers=[like.verifier] if verifiers is None else verifiers,
    )
    program._guards_code = list(like._guards_code)
    program.facts = facts_of(like) if facts is None else facts
    return program


def program_around(
    module: GraphModule,
    graph_signature: ExportGraphSignature,
    *,
    state_dict: dict[str, torch.Tensor],
    constants: dict[str, Any],
    range_constraints: dict[sympy.Symbol, ValueRanges[sympy.Expr]],
    module_call_graph: list[ModuleCallEntry],
    example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None,
    verifiers: list[type[Verifier]],
) -> MethodProgram:
    """Makes a program with the graph module `module`. It copies and validates nothing."""
    program = MethodProgram(
        root={},
        graph=_empty_graph(),
        graph_signature=ExportGraphSignature([], []),
        state_dict=state_dict,
        range_constraints=range_constraints,
        module_call_graph=module_call_graph,
        example_inputs=example_inputs,
        constants=constants,
        verifiers=verifiers,
    )
    program._graph_module = module
    program._graph_signature = graph_signature
    return program


def copy_program(program: ExportedProgram, facts: ProgramFacts | None = None) -> MethodProgram:
    """Copies a program. Changes of the copy do not change `program`; tensors are shared.

    `facts` are the facts of the copy; by default, they are the facts of `program`.
    """
    module = copy_graph_module(program.graph_module)
    signature = copy_signature(program.graph_signature)
    return make_program(program, module, module.graph, signature, facts=facts)


def rebuild_program(program: ExportedProgram, module: GraphModule) -> MethodProgram:
    """Returns `program` with another graph module. The result has its own signature and tensor tables.

    Raises:
        SpecViolationError: the verifier of the program rejects the graph.
    """
    new = MethodProgram(
        root=module,
        graph=module.graph,
        graph_signature=copy.deepcopy(program.graph_signature),
        state_dict=dict(program.state_dict),
        range_constraints=dict(program.range_constraints),
        module_call_graph=copy_call_graph(program.module_call_graph),
        example_inputs=program.example_inputs,
        constants=dict(program.constants),
        verifiers=[program.verifier],
    )
    new.facts = facts_of(program)
    return new


def copy_graph_module(module: GraphModule, specs: dict[TensorSpec, TensorSpec] | None = None) -> GraphModule:
    """Copies a graph module with its node names, metadata and tensor specs.

    Control flow bodies are copied. Lowered modules, parameters and buffers are shared. Nodes that share a
    spec also share its copy. `specs` maps each original spec to its copy.
    """
    specs = {} if specs is None else specs
    graph = Graph(tracer_cls=getattr(module.graph, "_tracer_cls", None))
    graph._codegen = copy.copy(module.graph._codegen)
    mapping: dict[Node, Node] = {}
    for node in module.graph.nodes:
        mapping[node] = new = copy_node(graph, node, mapping.__getitem__)
        if meta.has_spec(node):
            meta.set_spec(new, map_aggregate(meta.get_spec(node), lambda item: _copy_spec(item, specs)))
    attributes = {}
    for name, child in module.named_children():
        attributes[name] = copy_graph_module(child, specs) if isinstance(child, GraphModule) else child
    result = lazy_module(module, graph)
    for name, child in attributes.items():
        setattr(result, name, child)
    result.meta.update(module.meta)
    return result


def _copy_spec(spec: object, specs: dict[TensorSpec, TensorSpec]) -> Any:
    if not isinstance(spec, TensorSpec):
        return spec
    if spec not in specs:
        specs[spec] = copied = copy.copy(spec)
        copied.shape, copied.lifetime = list(spec.shape), list(spec.lifetime)
        copied.storage_base = _copy_spec(spec.storage_base, specs)
    return specs[spec]


def copy_node(graph: Graph, node: Node, argument: Callable[[Node], Node]) -> Node:
    """Appends a copy of `node` to `graph` under the same name, even if torch.fx would change the name.

    Unlike `Graph.node_copy`, this function does not search for a free name or for symbolic arguments. This
    search takes most of the time of `node_copy`.
    """
    args, kwargs = map_arg(node.args, argument), map_arg(node.kwargs, argument)
    new = Node(graph, node.name, node.op, node.target, args, kwargs, node.type)
    graph._graph_namespace._used_names.add(node.name)
    graph._graph_namespace.associate_name_with_obj(node.name, new)
    graph._insert(new)
    graph._find_nodes_lookup_table.insert(new)
    graph._len += 1
    new.meta = copy.copy(node.meta)
    return new


def copy_signature(signature: ExportGraphSignature) -> ExportGraphSignature:
    """Copies a signature. Lists and specs of the copy may be changed; their arguments are shared."""
    return ExportGraphSignature(
        [replace(spec) for spec in signature.input_specs], [replace(spec) for spec in signature.output_specs]
    )


def rename_output(program: ExportedProgram, old: Node, new: Node) -> None:
    """Replaces the name of `old` by the name of `new` in the signature, if `old` is an output."""
    for spec in program.graph_signature.output_specs:
        if isinstance(spec.arg, TensorArgument) and spec.arg.name == old.name:
            spec.arg = TensorArgument(new.name)


def rename_outputs(program: ExportedProgram) -> None:
    """Sets the names of the tensor outputs in the signature to those of the nodes that the graph returns."""
    results = program.graph.output_node().args[0]
    assert isinstance(results, (list, tuple))
    for spec, result in zip(program.graph_signature.output_specs, results, strict=True):
        if isinstance(spec.arg, TensorArgument) and isinstance(result, Node):
            spec.arg = TensorArgument(result.name)


def copy_call_graph(entries: Iterable[ModuleCallEntry]) -> list[ModuleCallEntry]:
    """Copies call graph entries, so that their arguments may be renamed. Pytree specs are shared."""
    return [ModuleCallEntry(e.fqn, e.signature and _copy_call_signature(e.signature)) for e in entries]


def _copy_call_signature(signature: ModuleCallSignature) -> ModuleCallSignature:
    return replace(
        signature,
        inputs=[replace(argument) for argument in signature.inputs],
        outputs=[replace(argument) for argument in signature.outputs],
    )


def lazy_module(attributes: torch.nn.Module | Mapping[str, object], graph: Graph) -> GraphModule:
    """Makes a graph module whose Python code is generated when it is first read or called."""
    module: GraphModule = _LazyGraphModule(attributes, graph)  # type: ignore[arg-type]
    return module


def _empty_graph() -> Graph:
    graph = Graph()
    graph.output(())
    return graph
