"""Defines `out` variants of Rushlight's operators for eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.library import Library


def define_out_variant(library: Library, schema: str, compute: Callable[..., torch.Tensor]) -> None:
    """Defines the variant that writes the result of an operator to a tensor, which is resized.

    Args:
        library: the library that defines the operator.
        schema: the schema of the operator: "name(Tensor x) -> Tensor" gets the variant
            "name.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)".
        compute: the function of the operator.
    """

    def write(*arguments: object, out: torch.Tensor, **options: object) -> torch.Tensor:
        result = compute(*arguments, **options)
        return out.resize_(result.shape).copy_(result)

    name, _, rest = schema.partition("(")
    library.define(f"{name}.out({rest.rpartition(') ->')[0]}, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl(f"{name}.out", write, "CompositeExplicitAutograd")
