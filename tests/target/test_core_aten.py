"""The runtime has a kernel for every operator of Core ATen, except operators with a documented reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch._ops import OpOverload

from rushlight.frontend import tables
from rushlight.ir.out_variants import find_out_variant
from rushlight.target.kernel_table import host_kernel_table

NEEDS_NONE = {
    "aten::sym_is_contiguous": "answered when compiling",
    "aten::resize_": "mutations become functional, and no tensor of a program changes its storage",
    "aten::_native_batch_norm_legit": "writes its statistics; programs hold the functional overload",
}


def core_operators() -> Iterator[OpOverload]:
    """Returns the operators that may remain in a program after decomposition."""
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        packet = getattr(torch.ops.aten, base, None) if namespace == "aten" else None
        op = getattr(packet, overload or "default", None)
        if isinstance(op, OpOverload) and torch.Tag.core in op.tags and op not in tables.python_table():
            yield op


def kernels_of(op: OpOverload) -> list[str]:
    """Returns the possible names of kernels for an operator. Kernels of views make a copy."""
    name = op.name()
    base, _, overload = name.partition(".")
    copy = getattr(getattr(torch.ops.aten, base[6:] + "_copy", None), overload or "default", None)
    forms = [op, *([copy] if isinstance(copy, OpOverload) else [])]
    variants = [find_out_variant(form) for form in forms if not form._schema.is_mutable]
    return [name, *(variant.op.name() for variant in variants if variant is not None)]


@pytest.mark.parametrize("op", sorted(core_operators(), key=str), ids=str)
def test_a_kernel_or_a_reason(op: OpOverload) -> None:
    found = any(name in host_kernel_table() for name in kernels_of(op))
    assert found != (op.name() in NEEDS_NONE), f"{op}: {kernels_of(op)}"
