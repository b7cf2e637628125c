"""Schemas of edge operators: a torch schema with the dtypes that each tensor argument allows."""

from __future__ import annotations

from typing import Any

import torch


class EdgeSchema:
    """The schema of an edge operator; everything but the dtype rules comes from the torch schema."""

    def __init__(self, schema: torch._C.FunctionSchema) -> None:
        self.schema = schema

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.schema, name)

    def __str__(self) -> str:
        return str(self.schema)

    __repr__ = __str__
