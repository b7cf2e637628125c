"""Moves nodes of a graph into a submodule, for users who partition by hand."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from torch.export.graph_signature import OutputKind, OutputSpec
from torch.fx import GraphModule, Node
from torch.fx.passes.tools_common import legalize_graph
from torch.fx.passes.utils.fuser_utils import erase_nodes, fuse_as_graphmodule, insert_subgm

from rushlight.ir import meta


def create_submodule_from_nodes(
    gm: GraphModule, node_list: Sequence[Node], tag: str, skip_legalize_graph: bool = False
) -> tuple[GraphModule, Node]:
    """Moves nodes into a submodule of `gm` called fused_<tag>.

    The submodule returns a list, whose items the graph reads with getitem. All getitems of a node with
    several results move together with it.

    Args:
        gm: the graph module.
        node_list: the nodes.
        tag: the end of the submodule's name.
        skip_legalize_graph: do not sort the graph.

    Returns:
        The submodule, and the node that calls it.

    Raises:
        ValueError: the list is empty.
    """
    if not node_list:
        raise ValueError("a submodule is made of at least one node")
    wanted = set(node_list)
    for node in node_list:
        wanted.update(user for user in node.users if user.target is operator.getitem)
    nodes = [node for node in gm.graph.nodes if node in wanted]
    name = f"fused_{tag}"
    sub_gm, inputs, outputs = fuse_as_graphmodule(gm, nodes, name, always_return_tuple=True)
    values = [meta.get_val(node) if meta.has_val(node) else None for node in outputs]
    insert_subgm(gm, sub_gm, inputs, outputs)
    (call,) = (node for node in gm.graph.nodes if node.op == "call_module" and node.target == name)
    meta.set_val(call, values)
    for user in call.users:
        meta.set_val(user, values[user.args[1]])
    erase_nodes(gm, nodes)
    output = sub_gm.graph.output_node()
    output.args = (list(output.args[0]),)  # type: ignore[arg-type]
    sub_gm.recompile()
    if not skip_legalize_graph:
        legalize_graph(gm)
    return sub_gm, call


def arrange_graph_outputs(
    gm: GraphModule, output_specs: list[OutputSpec], call_module_node: Node | None = None
) -> None:
    """Moves the outputs that are new values of buffers before the others, in the graph and in `output_specs`.

    Args:
        gm: the graph module.
        output_specs: the output specs of its signature.
        call_module_node: the node of another graph that calls this graph, whose getitems are updated; or
            None.
    """
    order = sorted(
        range(len(output_specs)), key=lambda index: output_specs[index].kind != OutputKind.BUFFER_MUTATION
    )
    output = gm.graph.output_node()
    results = output.args[0]
    assert isinstance(results, (list, tuple))
    output.args = (type(results)(results[index] for index in order),)
    output_specs[:] = [output_specs[index] for index in order]
    gm.recompile()
    if call_module_node is None:
        return
    places = {old: new for new, old in enumerate(order)}
    for user in call_module_node.users:
        if user.target is operator.getitem:
            user.args = (call_module_node, places[user.args[1]])  # type: ignore[index]
    if meta.has_val(call_module_node):
        values = meta.get_val(call_module_node)
        meta.set_val(call_module_node, type(values)(values[index] for index in order))
