"""The type of the entries in name tables, and parts that several tables share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Names:
    """The contents of one ExecuTorch module.

    Attributes:
        modules: the Rushlight modules in which a name is searched, in order.
        names: for names in other modules or with other names, the text `module:name`.
        effects: modules that are imported with this module, for their side effects.
        early: whether names become attributes at the import of this module, instead of at their first use.
            pytest needs this of a plugin, because it reads the attributes that exist.
    """

    modules: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    effects: tuple[str, ...] = ()
    early: bool = False


PASSES = {
    "DebugPass": "rushlight.compat.debug_pass:DebugPass",
    "PassRegistry": "rushlight.compat.pass_registry:PassRegistry",
    # These functions have the same names as their modules.
    "insert_write_back_for_buffers_pass": "rushlight.compat.graph_passes:insert_write_back_for_buffers_pass",
    "remove_unused_parameters_pass": "rushlight.compat.graph_passes:remove_unused_parameters_pass",
    "weights_to_outputs_pass": "rushlight.compat.graph_passes:weights_to_outputs_pass",
    "QuantFusionPass": "rushlight.compat.quantized_fusion:QuantFusionPass",
    "RemoveNonCoreAtenOpGraphAssertsPass": "rushlight.passes.remove_asserts:RemoveAssertsPass",
    "MemoryPlanningPass": "rushlight.memory.planning_pass:MemoryPlanningPass",
    "ExportPass": "rushlight.passes.export_pass:ExportPass",
    "ExportedProgramPassManager": "rushlight.passes.pass_manager:ExportedProgramPassManager",
    "HintBasedSymShapeEvalPass": "rushlight.passes.sym_shapes:HintBasedSymShapeEvalPass",
    "ConstraintBasedSymShapeEvalPass": "rushlight.passes.sym_shapes:ConstraintBasedSymShapeEvalPass",
    "ToOutVarPass": "rushlight.passes.to_out_var:ToOutVarPass",
    "SpecPropPass": "rushlight.passes.spec_prop:SpecPropPass",
    "ScalarToTensorPass": "rushlight.passes.scalar_to_tensor:ScalarToTensorPass",
    "SymToTensorPass": "rushlight.passes.sym_to_tensor:SymToTensorPass",
    "DebugHandleGeneratorPass": "rushlight.passes.assign_debug_handles:AssignDebugHandlesPass",
    "PruneEmptyTensorsPass": "rushlight.passes.prune_empty_cat:PruneEmptyCatPass",
    "FoldRedundantDequantizeQuantizePass": "rushlight.compat.in_place_passes:"
    "FoldRedundantDequantizeQuantizePass",
    "PassBase": "torch.fx.passes.infra.pass_base:PassBase",
    "PassResult": "torch.fx.passes.infra.pass_base:PassResult",
    "DynamicMemoryPlanningMode": "rushlight.compiler.config:DynamicMemoryPlanningMode",
    "DynamicShapePropPass": "rushlight.passes.sym_shapes:HintBasedSymShapeEvalPass",
    "LegalizePortableDimOrderPass": "rushlight.passes.legalize_dim_order:LegalizeDimOrderPass",
    "NormalizeViewCopyBasePass": "rushlight.compat.in_place_passes:NormalizeViewCopyBasePass",
    "RemoveGraphAssertsPass": "rushlight.passes.remove_asserts:RemoveAssertsPass",
    "RemoveMixedTypeOperators": "rushlight.passes.promote_dtypes:PromoteDtypesPass",
    "RemoveNoopPass": "rushlight.passes.remove_noops:RemoveNoopSlicesPass",
    "RemoveToCopyPass": "rushlight.passes.remove_noops:RemoveNoopConversionsPass",
    "ReplaceViewCopyWithViewPass": "rushlight.passes.memory_views:UseMemoryViewsPass",
}


TRANSFORMS = "rushlight.compat.transforms"


GRAPH_PASSES = "rushlight.compat.graph_passes"


SERIALIZE = "rushlight.compat.serialize_helpers"


QUERIES = "rushlight.compat.graph_queries"


NATIVE = "rushlight.compat.native"
