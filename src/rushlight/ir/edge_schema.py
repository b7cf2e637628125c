"""Schemas of edge operators: a torch schema and the valid dtypes of each tensor argument."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch

from rushlight.ir.dtype_rules import COVERED, FunctionDtypeConstraint, result_names, rule_of


class EdgeArgument:
    """An argument of a torch operator, and its valid dtypes in the edge operator."""

    def __init__(self, argument: torch._C.Argument, allowed_types: set[torch.dtype]) -> None:
        self.argument = argument
        self.allowed_types = allowed_types

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "argument":
            raise AttributeError(name)
        return getattr(self.argument, name)


class EdgeSchema:
    """The schema of an edge operator. All properties except the dtype rule are those of the torch schema."""

    def __init__(self, schema: torch._C.FunctionSchema) -> None:
        self.schema = schema

    @cached_property
    def dtype_constraint(self) -> FunctionDtypeConstraint:
        """The valid combinations of dtypes of a call. Without a row in the table, all dtypes are valid."""
        arguments = [item for item in self.schema.arguments if takes_tensor(item.type)]
        optional = [item.name for item in arguments if _may_lack(item.type)]
        names = zip(result_names(self.schema), self.schema.returns, strict=True)
        results = [name for name, item in names if takes_tensor(item.type)]
        essential = [item.name for item in arguments if item.name not in optional] + results
        rule = rule_of(self.schema)
        if rule is not None:
            return FunctionDtypeConstraint(essential, optional, rule.aliases, rule.constraints)
        every = [item.name for item in arguments] + results
        aliases = {f"T{index}": COVERED for index in range(len(every))}
        constraint = dict(zip(every, aliases, strict=True))
        return FunctionDtypeConstraint(essential, optional, aliases, [constraint])

    @property
    def arguments(self) -> list[EdgeArgument | torch._C.Argument]:
        """The arguments of the torch operator. Tensor arguments also have `allowed_types`."""
        return [
            EdgeArgument(item, self.dtype_constraint[item.name]) if takes_tensor(item.type) else item
            for item in self.schema.arguments
        ]

    @property
    def returns(self) -> list[EdgeArgument | torch._C.Argument]:
        """The results of the torch operator. Tensor results also have `allowed_types`."""
        return [
            EdgeArgument(item, self.dtype_constraint[name]) if takes_tensor(item.type) else item
            for name, item in zip(result_names(self.schema), self.schema.returns, strict=True)
        ]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "schema":
            raise AttributeError(name)
        return getattr(self.schema, name)

    def __str__(self) -> str:
        return str(self.schema)

    __repr__ = __str__


def takes_tensor(kind: object) -> bool:
    """Returns whether a schema type is a tensor, an optional tensor or a list of tensors."""
    if isinstance(kind, torch.TensorType):
        return True
    return isinstance(kind, (torch.OptionalType, torch.ListType)) and takes_tensor(kind.getElementType())


def _may_lack(kind: object) -> bool:
    """Returns whether a schema type is an optional tensor, or a list that may contain None."""
    if isinstance(kind, torch.ListType):
        kind = kind.getElementType()
    return isinstance(kind, torch.OptionalType)
