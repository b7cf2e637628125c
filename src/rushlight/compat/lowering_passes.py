"""ExecuTorch's lists of the passes that lower edge programs."""

from __future__ import annotations

from rushlight.compat.graph_passes import EdgeToBackendOpsPass
from rushlight.compiler.config import EdgeCompileConfig, ExecutorchBackendConfig, for_method
from rushlight.compiler.pipelines import device_pass, view_passes
from rushlight.passes.base import AnyPass
from rushlight.passes.legalize_dim_order import LegalizeDimOrderPass
from rushlight.passes.remove_asserts import RemoveAssertsPass
from rushlight.passes.spec_prop import SpecPropPass
from rushlight.passes.sym_shapes import ConstraintBasedSymShapeEvalPass


def pre_memory_planning_passes(config: ExecutorchBackendConfig, name: str | None = None) -> list[AnyPass]:
    """Returns the last passes of `edge_to_executorch_passes`, which choose views, sizes and out variants."""
    method = name or ""
    sizes = for_method(config.sym_shape_eval_pass, method, ConstraintBasedSymShapeEvalPass)
    return [*view_passes(config, method), sizes, config.to_out_var_pass]


def edge_to_executorch_passes(
    config: ExecutorchBackendConfig,
    name: str | None = None,
    edge_compile_config: EdgeCompileConfig | None = None,
) -> list[AnyPass]:
    """Returns the passes over graph modules that lower an edge program before its memory is planned.

    `to_executorch` also runs passes over programs between them.

    Args:
        config: the options. Its passes are first in the list.
        name: the name of the method.
        edge_compile_config: the options of the edge program.
    """
    skips_dim_order = (edge_compile_config or EdgeCompileConfig())._skip_dim_order
    return [
        *config.passes,
        *(() if skips_dim_order else (LegalizeDimOrderPass(),)),
        SpecPropPass(),
        device_pass(config, name or ""),
        EdgeToBackendOpsPass(),
        RemoveAssertsPass(),
        *pre_memory_planning_passes(config, name),
    ]
