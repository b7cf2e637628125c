"""Classes that exclude nodes from delegation, by operator, by node name or by module."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op


class DontSupportBase(OperatorSupportBase):
    """Supports all nodes for which `skips` returns False, and collects the other nodes.

    Args:
        targets: operators or names that are excluded.
        exact: compare whole names. If False, a target may be a part of a name.
    """

    def __init__(self, *targets: object, exact: bool = True) -> None:
        self.targets = targets
        self.exact = exact
        self._rejected: list[Node] = []

    def skips(self, node: Node) -> bool:
        """Returns whether the node is excluded."""
        raise NotImplementedError

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """Returns whether the node may be delegated."""
        if not self.skips(node):
            return True
        self.reject_node(node)
        return False

    def reject_node(self, node: Node) -> None:
        """Records that the node is excluded."""
        self._rejected.append(node)

    def rejected_nodes(self) -> list[Node]:
        """Returns the excluded nodes."""
        return self._rejected

    def has_rejected_node(self) -> bool:
        """Returns whether a node was excluded."""
        return bool(self._rejected)

    def num_rejected(self) -> int:
        """Returns the number of excluded nodes."""
        return len(self._rejected)

    def _matches(self, wanted: object, text: str) -> bool:
        return bool(wanted) and (str(wanted) == text if self.exact else str(wanted) in text)


class DontPartition(DontSupportBase):
    """Excludes operators, given as edge or ATen overloads or as names such as "aten.add.Tensor".

    The name of an operator also excludes the operators of its decomposition.
    """

    def skips(self, node: Node) -> bool:
        """Returns whether the node calls one of the operators."""
        op = aten_op(node.target)
        if node.target in self.targets or (op is not None and op in self.targets):
            return True
        names = [str(found) for found in (op, meta.get_original(node)) if found is not None]
        return any(self._matches(target, name) for target in self.targets for name in names)


class DontPartitionName(DontSupportBase):
    """Excludes nodes by their names in the graph."""

    def skips(self, node: Node) -> bool:
        """Returns whether the node has one of the names."""
        return any(self._matches(target, node.name) for target in self.targets)


class DontPartitionModule(DontSupportBase):
    """Excludes the nodes of a module, which is selected by its class or its path.

    Args:
        module_name: the name of the class. A name with a dot is compared with the qualified name of the
            class, another name with the last part of the qualified name.
        instance_name: the path of the module in the model.
        exact: compare whole names. If False, the given name may be a part of a name.
    """

    def __init__(
        self, *, module_name: str | None = None, instance_name: str | None = None, exact: bool = True
    ) -> None:
        super().__init__(exact=exact)
        self.module_name = module_name
        self.instance_name = instance_name

    def skips(self, node: Node) -> bool:
        """Returns whether the node comes from the module."""
        is_qualified = "." in (self.module_name or "")
        for path, kind in meta.modules_of(node):
            name = kind if is_qualified else kind.rpartition(".")[2]
            if self._matches(self.instance_name, path) or self._matches(self.module_name, name):
                return True
        return False
