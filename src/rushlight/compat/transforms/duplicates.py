"""Merges equal calls that use the same inputs."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.compat.graph_passes import call_key, share_equal_calls
from rushlight.passes.base import GraphPass


class FuseDuplicateUsersPass(GraphPass):
    """Merges equal calls with the same inputs.

    Before: a = add(x, b); c = add(x, b). Expected: a = add(x, b), and the users of c use a.

    Args:
        excluded_targets: operators whose calls are not merged.
    """

    def __init__(self, excluded_targets: Collection[Any] | None = None) -> None:
        super().__init__()
        self._excluded_targets = frozenset(excluded_targets or ())

    @override
    def rewrite(self, module: GraphModule) -> bool:
        return share_equal_calls(module, self._key)

    def _key(self, node: Node) -> Hashable | None:
        is_user = node.op == "call_function" and bool(node.all_input_nodes)
        return call_key(node) if is_user and node.target not in self._excluded_targets else None
