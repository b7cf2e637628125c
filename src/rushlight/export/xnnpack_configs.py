"""The configurations that suit programs for XNNPACK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.compile.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.passes.remove_noops import RemoveNoopSlices


def get_xnnpack_edge_compile_config(skip_dim_order: bool = False) -> EdgeCompileConfig:
    """Edge programs for XNNPACK, whose operators need not all be Core ATen."""
    return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=skip_dim_order)


def get_transform_passes(additional_passes: Sequence[Any] | None = None) -> list[Any]:
    """Passes to run before lowering: slices that take everything go, then those given."""
    return [RemoveNoopSlices(), *(additional_passes or ())]


def get_xnnpack_executorch_backend_config(
    additional_passes: Sequence[Any] | None = None,
) -> ExecutorchBackendConfig:
    """Program files whose delegates' payloads are segments."""
    return ExecutorchBackendConfig(passes=list(additional_passes or ()), extract_delegate_segments=True)
