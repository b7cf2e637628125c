"""Compile configurations for programs with XNNPACK."""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.compiler.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.passes.base import AnyPass
from rushlight.passes.remove_noops import RemoveNoopExpandCopyPass, RemoveNoopSlicesPass


def get_xnnpack_edge_compile_config(skip_dim_order: bool = False) -> EdgeCompileConfig:
    """Returns the options to convert programs to the edge dialect for XNNPACK.

    They accept operators outside of Core ATen.

    Args:
        skip_dim_order: keep operators with memory formats instead of dim orders.
    """
    return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=skip_dim_order)


def get_transform_passes(additional_passes: Sequence[AnyPass] | None = None) -> list[AnyPass]:
    """Returns the passes to run before lowering: slices that select everything and expansions to the same
    shape are removed, then the given passes run.

    Args:
        additional_passes: further passes.
    """
    return [RemoveNoopSlicesPass(), RemoveNoopExpandCopyPass(), *(additional_passes or ())]


def get_xnnpack_executorch_backend_config(
    additional_passes: Sequence[AnyPass] | None = None,
) -> ExecutorchBackendConfig:
    """Returns the options of program files that store the payloads of backends as separate segments.

    Args:
        additional_passes: further passes.
    """
    return ExecutorchBackendConfig(passes=list(additional_passes or ()), extract_delegate_segments=True)
