"""torch's pytree functions, under the names of ExecuTorch's `extension.pytree`."""

from __future__ import annotations

from torch.utils._pytree import (
    TreeSpec,
    _broadcast_to_and_flatten,
    _register_pytree_node,
    tree_flatten,
    tree_map,
    tree_unflatten,
    treespec_dumps,
    treespec_loads,
)

__all__ = [
    "TreeSpec",
    "broadcast_to_and_flatten",
    "from_str",
    "register_custom",
    "tree_flatten",
    "tree_map",
    "tree_unflatten",
]

from_str = treespec_loads
register_custom = _register_pytree_node
broadcast_to_and_flatten = _broadcast_to_and_flatten

# ExecuTorch adds this method to torch's class too. Programs store the text for the structure of their inputs.
if not hasattr(TreeSpec, "to_str"):
    TreeSpec.to_str = treespec_dumps  # type: ignore[attr-defined]
