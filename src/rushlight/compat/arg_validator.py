"""Checks the dtypes of operators while a graph runs, with the interface of ExecuTorch's `arg_validator`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch._ops import HigherOrderOperator
from torch.fx import GraphModule, Interpreter, Node
from typing_extensions import override

from rushlight.ir.edge_ops import EdgeOpOverload
from rushlight.ir.errors import ExportError, InternalError
from rushlight.ir.verifier import tensor_dtypes


class RunHigherOrderOperatorError(Exception):
    """A graph contains a delegate or control flow, which the validator cannot run."""


class EdgeOpArgValidator(Interpreter):
    """Runs an edge graph module, and records operators whose dtypes violate their constraints.

    Args:
        graph_module: the graph module, with values in the metadata of its nodes.

    Attributes:
        violating_ops: for each operator that violates its constraint, the dtypes by argument and the last
            node with this violation.
    """

    def __init__(self, graph_module: GraphModule) -> None:
        super().__init__(graph_module)
        self.violating_ops: dict[EdgeOpOverload, tuple[dict[str, torch.dtype | None], Node]] = {}

    @override
    def run_node(self, n: Node) -> Any:
        """Checks and runs one node, and returns its result.

        Raises:
            RunHigherOrderOperatorError: the node calls a delegate or control flow.
            InternalError: the operator fails.
        """
        if isinstance(n.target, EdgeOpOverload):
            types: Mapping[str, torch.dtype | None] = dict(tensor_dtypes(n, n.target._op))
            if not n.target._schema.dtype_constraint.validate(types):
                self.violating_ops[n.target] = (dict(types), n)
        elif isinstance(n.target, HigherOrderOperator):
            raise RunHigherOrderOperatorError(f"{n.target} cannot be run: {n.format_node()}")
        try:
            return super().run_node(n)
        except (InternalError, ExportError):
            raise
        except Exception as failure:
            raise InternalError(str(failure)) from failure
