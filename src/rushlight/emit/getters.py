"""Emits constant methods: plans without instructions that return given values."""

from __future__ import annotations

import torch
from torch.utils import _pytree as pytree

from rushlight.emit.constants import ConstantBuffers, tensor_bytes
from rushlight.emit.errors import EmitError
from rushlight.emit.pytree import encode_treespec
from rushlight.emit.tensors import make_tensor
from rushlight.emit.values import Values, scalar_value
from rushlight.format.program import Chain, ContainerMetadata, ExecutionPlan
from rushlight.ir.spec import TensorSpec


def emit_getter(name: str, value: object, constants: ConstantBuffers) -> ExecutionPlan:
    """Emits a method that returns a constant value.

    Args:
        name: the name of the method.
        value: scalars, texts and tensors, in any containers (pytree).
        constants: receives the data of the tensors.

    Raises:
        EmitError: the value contains an object of another type.
    """
    leaves, tree = pytree.tree_flatten(value)
    values = Values()
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            tensor = leaf.detach().contiguous()
            spec = TensorSpec.from_tensor(tensor, const=True)
            values.fresh(make_tensor(spec, constants.file.add(tensor_bytes(tensor))))
            continue
        try:
            values.fresh(scalar_value(leaf))
        except EmitError as error:
            raise EmitError(f"the constant method {name!r}: {error}") from error
    return ExecutionPlan(
        name=name,
        container_meta_type=ContainerMetadata("", encode_treespec(tree)),
        values=values.items,
        inputs=[],
        outputs=list(range(len(leaves))),
        chains=[Chain([], [], [], None)],
        operators=[],
        delegates=[],
        non_const_buffer_sizes=[0],
    )
