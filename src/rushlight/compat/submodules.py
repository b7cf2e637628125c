"""Moves nodes of a graph into a submodule, for manual partitioning."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from torch.export.graph_signature import OutputKind, OutputSpec
from torch.fx import GraphModule, Node
from torch.fx.passes.tools_common import legalize_graph
from torch.fx.passes.utils.fuser_utils import erase_nodes, fuse_as_graphmodule, insert_subgm

from rushlight.ir import meta


def create_submodule_from_nodes(
    gm: GraphModule, node_list: Sequence[Node], tag: str, skip_legalize_graph: bool = False
) -> tuple[GraphModule, Node]:
    """Moves nodes into a submodule of `gm` with the name fused_<tag>.

    The submodule returns a list, whose items the graph reads with getitem. If a node with several results is
    moved, all its getitem nodes are moved too. If the list contains neither these getitem nodes nor their
    users, the submodule returns all results of the node, including unused ones.

    Args:
        gm: the graph module, which is changed.
        node_list: the nodes.
        tag: the last part of the submodule's name.
        skip_legalize_graph: do not sort the nodes of the graph topologically.

    Returns:
        The submodule, and the node that calls it.

    Raises:
        ValueError: the list is empty.
    """
    if not node_list:
        raise ValueError("node_list is empty: a submodule needs at least one node")
    wanted = set(node_list)
    opened: list[Node] = []
    for node in node_list:
        items = {user.args[1]: user for user in node.users if user.target is operator.getitem}
        if items and not any(user in wanted for item in items.values() for user in (item, *item.users)):
            opened.extend(_every_item(gm, node, items))
        wanted.update(items.values())
    wanted.update(opened)
    with gm.graph.inserting_before(gm.graph.output_node()):
        # A temporary user, so that all these nodes become results of the submodule.
        reader = gm.graph.call_function(tuple, (opened,))
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
    read = reader.all_input_nodes
    gm.graph.erase_node(reader)
    for node in read:
        if not node.users:
            gm.graph.erase_node(node)
    output = sub_gm.graph.output_node()
    output.args = (list(output.args[0]),)  # type: ignore[arg-type]
    sub_gm.recompile()
    if not skip_legalize_graph:
        legalize_graph(gm)
    return sub_gm, call


def _every_item(gm: GraphModule, node: Node, items: Mapping[Any, Node]) -> list[Node]:
    """Returns the getitem nodes of all results of a node, in order. Missing getitem nodes are added."""
    values = meta.get_val(node)
    every: list[Node] = []
    last = node
    for index, value in enumerate(values):
        item = items.get(index)
        if item is None:
            with gm.graph.inserting_after(last):
                item = gm.graph.call_function(operator.getitem, (node, index))
            meta.set_val(item, value)
        else:
            last.append(item)
        every.append(item)
        last = item
    return every


def arrange_graph_outputs(
    gm: GraphModule, output_specs: list[OutputSpec], call_module_node: Node | None = None
) -> None:
    """Sorts the outputs in place, so that new values of buffers precede the other outputs.

    Args:
        gm: the graph module.
        output_specs: the output specs of the signature, which are sorted too.
        call_module_node: the node of another graph that calls this graph, or None. Its getitem nodes are
            updated.
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
    for user in list(call_module_node.users):
        if user.target is operator.getitem:
            user.args = (call_module_node, places[user.args[1]])  # type: ignore[index]
    if meta.has_val(call_module_node):
        values = meta.get_val(call_module_node)
        meta.set_val(call_module_node, type(values)(values[index] for index in order))
