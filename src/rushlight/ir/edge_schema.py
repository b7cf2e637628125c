"""Schemas of edge operators: a torch schema with the dtypes that each tensor argument allows."""

from __future__ import annotations

from typing import Any

import torch

from rushlight.ir.dtype_rules import ANY, LETTERS, DtypeRule, rule_of


class EdgeArgument:
    """An argument of an edge operator: torch's, and the dtypes that it allows."""

    def __init__(self, argument: torch._C.Argument, allowed_types: frozenset[torch.dtype]) -> None:
        self.argument = argument
        self.allowed_types = allowed_types

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "argument":
            raise AttributeError(name)
        return getattr(self.argument, name)


class EdgeSchema:
    """The schema of an edge operator; everything but the dtype rule comes from the torch schema."""

    def __init__(self, schema: torch._C.FunctionSchema) -> None:
        self.schema = schema
        self.dtype_rule: DtypeRule = rule_of(schema)

    @property
    def arguments(self) -> list[EdgeArgument | torch._C.Argument]:
        """torch's arguments; those that take tensors also tell their `allowed_types`."""
        return [
            EdgeArgument(item, self.dtype_rule.allowed(item.name)) if takes_tensor(item.type) else item
            for item in self.schema.arguments
        ]

    @property
    def returns(self) -> list[EdgeArgument | torch._C.Argument]:
        """torch's results; tensors also tell their `allowed_types`."""
        letter = self.dtype_rule.result
        allowed = LETTERS[letter] if letter else ANY
        return [
            EdgeArgument(item, allowed) if takes_tensor(item.type) else item for item in self.schema.returns
        ]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "schema":
            raise AttributeError(name)
        return getattr(self.schema, name)

    def __str__(self) -> str:
        return str(self.schema)

    __repr__ = __str__


def takes_tensor(kind: object) -> bool:
    """Whether a schema type is a tensor, an optional one or a list of them."""
    if isinstance(kind, torch.TensorType):
        return True
    return isinstance(kind, (torch.OptionalType, torch.ListType)) and takes_tensor(kind.getElementType())
