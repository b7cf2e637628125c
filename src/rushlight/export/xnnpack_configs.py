"""Compile configurations for programs with XNNPACK."""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.compiler.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.passes.base import AnyPass
from rushlight.passes.remove_noops import RemoveNoopExpandCopyPass, RemoveNoopSlicesPass


def get_xnnpack_edge_compile_config(skip_dim_order: bool = False) -> EdgeCompileConfig:
    """Returns the options of the conversion to the edge dialect for XNNPACK.

    With these options, programs may contain operators that are not in Core ATen.

    Args:
        skip_dim_order: keep operators with memory formats instead of dim orders.
    """
    return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=skip_dim_order)


def get_transform_passes(additional_passes: Sequence[AnyPass] | None = None) -> list[AnyPass]:
    """Returns the passes to run before lowering.

    The passes remove slices that select all elements and expansions to the same shape.

    Args:
        additional_passes: passes to append.
    """
    return [RemoveNoopSlicesPass(), RemoveNoopExpandCopyPass(), *(additional_passes or ())]


def get_xnnpack_executorch_backend_config(
    additional_passes: Sequence[AnyPass] | None = None,
) -> ExecutorchBackendConfig:
    """Returns the options of program files that store the payloads of backends as separate segments.

    Args:
        additional_passes: the passes of the configuration (`ExecutorchBackendConfig.passes`).
    """
    return ExecutorchBackendConfig(passes=list(additional_passes or ()), extract_delegate_segments=True)
