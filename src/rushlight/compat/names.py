"""A table of ExecuTorch's public modules and the Rushlight modules that have their contents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Names:
    """The contents of one module.

    Attributes:
        modules: the modules in which a name is searched, in order.
        names: names with their own `module:name`.
        effects: modules that are imported when this module is imported.
    """

    modules: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    effects: tuple[str, ...] = ()


_PASSES = {
    "DebugPass": "rushlight.compat.debug_pass:DebugPass",
    "PassRegistry": "rushlight.compat.pass_registry:PassRegistry",
    # Functions with the names of their modules.
    "insert_write_back_for_buffers_pass": "rushlight.compat.graph_passes:insert_write_back_for_buffers_pass",
    "remove_unused_parameters_pass": "rushlight.compat.graph_passes:remove_unused_parameters_pass",
    "weights_to_outputs_pass": "rushlight.compat.graph_passes:weights_to_outputs_pass",
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
    "FoldRedundantDequantizeQuantizePass": "rushlight.passes.fold_quantize_pairs:FoldQuantizePairsPass",
    "PassBase": "torch.fx.passes.infra.pass_base:PassBase",
    "PassResult": "torch.fx.passes.infra.pass_base:PassResult",
    "DynamicMemoryPlanningMode": "rushlight.compiler.config:DynamicMemoryPlanningMode",
    "DynamicShapePropPass": "rushlight.passes.sym_shapes:HintBasedSymShapeEvalPass",
    "LegalizePortableDimOrderPass": "rushlight.passes.legalize_dim_order:LegalizeDimOrderPass",
    "NormalizeViewCopyBasePass": "rushlight.passes.memory_views:NormalizeViewBasesPass",
    "RemoveGraphAssertsPass": "rushlight.passes.remove_asserts:RemoveAssertsPass",
    "RemoveMixedTypeOperators": "rushlight.passes.promote_dtypes:PromoteDtypesPass",
    "RemoveNoopPass": "rushlight.passes.remove_noops:RemoveNoopSlicesPass",
    "RemoveToCopyPass": "rushlight.passes.remove_noops:RemoveNoopConversionsPass",
    "ReplaceViewCopyWithViewPass": "rushlight.passes.memory_views:UseMemoryViewsPass",
}

_BACKEND = {
    "CompileSpec": "rushlight.delegate.backend:CompileSpec",
    "ExportedProgram": "torch.export:ExportedProgram",
}

_CALL = "torch._higher_order_ops.executorch_call_delegate"

_PROGRAM = ("rushlight.exir", "rushlight.compiler")

_PASSES_OF_XNNPACK = "rushlight.compat.xnnpack_passes"

_XNNPACK_PASSES = {
    "ChannelsLastTaggedReshapePass": f"{_PASSES_OF_XNNPACK}.layouts:ChannelsLastTaggedReshapePass",
    "Conv1dUnsqueezePass": f"{_PASSES_OF_XNNPACK}.convolutions:Conv1dUnsqueezePass",
    "ConvertToLinearPass": "rushlight.compat.transforms.linear:AddmmToLinearPass",
    "ConvertToSDPAPass": f"{_PASSES_OF_XNNPACK}.compositions:ConvertToSDPAPass",
    "ConvertToUpsampleBilinear2d": f"{_PASSES_OF_XNNPACK}.compositions:ConvertToUpsampleBilinear2d",
    "DecomposeBatchNorm": f"{_PASSES_OF_XNNPACK}.batch_norm:DecomposeBatchNormPass",
    "DecomposeConcatenate": f"{_PASSES_OF_XNNPACK}.concatenations:DecomposeConcatenatePass",
    "FuseActivationPass": f"{_PASSES_OF_XNNPACK}.activations:FuseActivationPass",
    "FuseBatchNormPass": "rushlight.compat.transforms.batch_norm:FuseBatchNormWithConvPass",
    "InsertPadQDQPass": f"{_PASSES_OF_XNNPACK}.padding:InsertPadQDQPass",
    "PReLUReshapePass": f"{_PASSES_OF_XNNPACK}.prelu:PReLUReshapePass",
    "PropagateCustomMetaPass": f"{_PASSES_OF_XNNPACK}.custom_metadata:PropagateCustomMetaPass",
    "RemoveCloneOpsTransform": "rushlight.compat.transforms.clones:RemoveCloneOpsPass",
    "RemoveGetItemPass": "rushlight.compat.transforms.items:RemoveGetItemPass",
    "RemoveNoopExpandCopyPass": "rushlight.passes.remove_noops:RemoveNoopExpandCopyPass",
    "RemoveRedundantCopyPass": f"{_PASSES_OF_XNNPACK}.copies:RemoveRedundantCopyPass",
    "XNNPACKRemoveCloneOpsTransform": f"{_PASSES_OF_XNNPACK}.clones:XNNPACKRemoveCloneOpsPass",
}

_CONFIGS = "rushlight.backends.xnnpack.configs"

_SUITE = "rushlight.testing.suite"

_TRANSFORMS = "rushlight.compat.transforms"

_STAGES = Names(("rushlight.testing.stages",))

_GRAPH_PASSES = "rushlight.compat.graph_passes"

_HELPERS = "rushlight.compat.exir_helpers"

_VARIANTS = "rushlight.compat.operator_variants"

_SAVED = "rushlight.compat.saved_programs"

_SERIALIZE = "rushlight.compat.serialize_helpers"

_PTE = {
    "PTEFile": "rushlight.format.pte:PTEFile",
    "_deserialize_pte_binary": f"{_SERIALIZE}:deserialize_pte_binary",
    "_serialize_pte_binary": f"{_SERIALIZE}:serialize_pte_binary",
}

_COMPARATORS = ("rushlight.compat.comparators", "rushlight.devtools.inspector.numerical_comparator")

MODULES: dict[str, Names] = {
    "executorch": Names(),
    "executorch.version": Names(names={"__version__": "rushlight:__version__"}),
    "executorch.exir": Names(
        _PROGRAM,
        {
            "Value": "typing:Any",
            "capture": "rushlight.compat.capture:capture",
            "ExirDynamoConfig": f"{_HELPERS}:ExirDynamoConfig",
            "ExirExportedProgram": "rushlight.compat.capture:EdgeProgram",
            "ExecutorchProgram": "rushlight.compiler.executorch:ExecutorchProgramManager",
            "load": f"{_SAVED}:load",
            "save": f"{_SAVED}:save",
        },
    ),
    "executorch.exir.program": Names((*_PROGRAM, _HELPERS, _GRAPH_PASSES)),
    "executorch.exir.program._program": Names(
        (*_PROGRAM, _HELPERS, _GRAPH_PASSES),
        {"_transform": f"{_GRAPH_PASSES}:transform_exported_program"},
    ),
    "executorch.exir._program_utils": Names((_HELPERS,)),
    "executorch.exir._warnings": Names((_HELPERS,)),
    "executorch.exir.common": Names((_HELPERS,)),
    "executorch.exir.debug_handle_utils": Names((_HELPERS,)),
    "executorch.exir.native": Names(),
    "executorch.exir.operator": Names(),
    "executorch.exir.operator.convert": Names(
        (_HELPERS, _VARIANTS),
        {
            "_get_overload_schema": f"{_VARIANTS}:get_overload_schema",
            "_pybind_schema_to_native_schema": f"{_VARIANTS}:native_schema",
        },
    ),
    "executorch.exir.operator.util": Names((_VARIANTS,)),
    "executorch.exir.scalar_type": Names(names={"ScalarType": "rushlight.format.program:ScalarType"}),
    "executorch.exir.sym_util": Names((_HELPERS,)),
    "executorch.exir.tensor_layout": Names(
        names={"TensorLayout": "rushlight.format.flat_tensor:TensorLayout"}
    ),
    "executorch.exir.tracer": Names((_HELPERS,)),
    "executorch.exir.version": Names(names={"__version__": "rushlight:__version__"}),
    "executorch.exir._serialize": Names((_SERIALIZE,), _PTE),
    "executorch.exir._serialize._cord": Names(("rushlight.compat.cord",)),
    "executorch.exir._serialize._dataclass": Names(
        names={
            "_DataclassEncoder": "rushlight.compat.dataclass_json:DataclassEncoder",
            "_json_to_dataclass": "rushlight.compat.dataclass_json:json_to_dataclass",
        }
    ),
    "executorch.exir._serialize._flatbuffer_program": Names(
        names={
            "_flatbuffer_to_program": "rushlight.compat.program_tables:flatbuffer_to_program",
            "_program_to_flatbuffer": "rushlight.compat.program_tables:program_to_flatbuffer",
        }
    ),
    "executorch.exir._serialize._serialize": Names((_SERIALIZE,)),
    "executorch.exir._serialize._named_data_store": Names(("rushlight.delegate.named_data",)),
    "executorch.exir._serialize._program": Names((_SERIALIZE,), _PTE),
    "executorch.exir._serialize.data_serializer": Names((_SERIALIZE,)),
    "executorch.exir._serialize.padding": Names((_SERIALIZE,)),
    "executorch.exir.serde": Names(),
    "executorch.exir.serde.export_serialize": Names((_SAVED,)),
    "executorch.exir.serde.serialize": Names((_SAVED,)),
    "executorch.exir.dialects.backend": Names(),
    "executorch.exir.dialects.backend._ops": Names(
        ("rushlight.ir.edge_ops",), {"_BACKEND_OP_LIB": "rushlight.ir.edge_ops:BACKEND_LIBRARIES"}
    ),
    "executorch.exir.emit._emit_program": Names(("rushlight.emit.program",)),
    "executorch.exir.emit._emitter": Names(("rushlight.emit.program",)),
    "executorch.exir.backend.compile_spec": Names(names=_BACKEND),
    "executorch.extension.flat_tensor": Names(),
    "executorch.extension.flat_tensor.serialize": Names((_SERIALIZE,)),
    "executorch.extension.flat_tensor.serialize.serialize": Names(
        (_SERIALIZE,),
        {"_deserialize_to_flat_tensor": "rushlight.compat.program_tables:deserialize_to_flat_tensor"},
    ),
    "executorch.extension.flat_tensor.serialize.flat_tensor_schema": Names(("rushlight.format.flat_tensor",)),
    "executorch.exir.capture": Names(("rushlight.compiler.config",)),
    "executorch.exir.capture._capture": Names(("rushlight.compat.capture",)),
    "executorch.exir.capture._config": Names(("rushlight.compiler.config",)),
    "executorch.exir.dialects": Names(),
    "executorch.exir.dialects._ops": Names(
        ("rushlight.ir.edge_ops",),
        {
            "_DialectNamespace": "rushlight.ir.edge_ops:DialectNamespace",
            "_OpNamespace": "rushlight.ir.edge_ops:OpNamespace",
        },
    ),
    "executorch.exir.dialects.edge": Names(),
    "executorch.exir.dialects.edge.dtype": Names(),
    "executorch.exir.dialects.edge.dtype.supported": Names(("rushlight.compat.edge_dtypes",)),
    "executorch.exir.dialects.edge.op": Names(),
    "executorch.exir.dialects.edge.op.api": Names((_VARIANTS,)),
    "executorch.exir.dialects.edge._ops": Names(
        ("rushlight.ir.edge_ops", "rushlight.ir.dtype_rules"),
        {
            "_edge_dialect_info": "rushlight.ir.dtype_rules:FURTHER_RULES",
            "EdgeDialectArgument": "rushlight.ir.edge_schema:EdgeArgument",
            "EdgeDialectFunctionSchema": "rushlight.ir.edge_schema:EdgeSchema",
        },
    ),
    "executorch.exir.dim_order_utils": Names(
        ("rushlight.ir.dim_order_ops",),
        {
            "get_memory_format": "rushlight.ir.dim_order_ops:memory_format_of",
            "get_dim_order": f"{_HELPERS}:get_dim_order",
        },
    ),
    "executorch.exir.dynamic_shape": Names(
        names={"DynamicMemoryPlanningMode": _PASSES["DynamicMemoryPlanningMode"]}
    ),
    "executorch.exir.emit": Names(("rushlight.emit.program",)),
    "executorch.exir.error": Names(
        ("rushlight.ir.errors",),
    ),
    "executorch.exir.graph_module": Names(
        ("rushlight.ir.control_flow",),
        {
            "_get_control_flow_submodules": "rushlight.ir.control_flow:control_flow_submodules",
            "_get_submodule": f"{_HELPERS}:get_submodule",
        },
    ),
    "executorch.exir.memory": Names(("rushlight.ir.memory_ops",)),
    "executorch.exir.memory_planning": Names(
        ("rushlight.memory.algorithms", "rushlight.compat.memory_checks"),
    ),
    "executorch.exir.pass_base": Names(
        ("rushlight.passes.export_pass", "rushlight.passes.program_pass", _HELPERS),
        {
            "PassType": "rushlight.passes.base:AnyPass",
            "EdgeOpOverload": "rushlight.ir.edge_ops:EdgeOpOverload",
            "PassResult": _PASSES["PassResult"],
            "PassBase": _PASSES["PassBase"],
        },
    ),
    "executorch.exir.pass_manager": Names(("rushlight.passes.pass_manager",)),
    "executorch.exir.passes": Names((_GRAPH_PASSES,), names=_PASSES),
    **{
        f"executorch.exir.passes.{module}": Names((_GRAPH_PASSES,), names=_PASSES)
        for module in (
            "const_prop_pass",
            "constant_prop_pass",
            "convert_constant_dim_order_pass",
            "cse_pass",
            "debug_handle_generator_pass",
            "dynamic_shape_prop_pass",
            "fold_redundant_qdq_pass",
            "insert_write_back_for_buffers_pass",
            "legalize_portable_dim_order_pass",
            "memory_format_ops_pass",
            "normalize_transpose_pass",
            "normalize_view_copy_base_pass",
            "pass_registry",
            "prune_empty_tensors_pass",
            "remove_graph_asserts_pass",
            "remove_mixed_type_operators",
            "remove_noop_pass",
            "remove_unused_parameters_pass",
            "replace_broken_ops_with_function_ops_pass",
            "replace_aten_with_edge_pass",
            "replace_edge_with_backend_pass",
            "replace_sym_size_op_pass",
            "replace_view_copy_with_view_pass",
            "scalar_to_tensor_pass",
            "sym_to_tensor_pass",
            "to_device_pass",
            "weights_to_outputs_pass",
        )
    },
    "executorch.exir.passes.dim_order_ops_registry": Names(
        ("rushlight.ir.dim_order_ops",), effects=("rushlight.ir.dim_order_ops",)
    ),
    "executorch.exir.passes.executorch_prim_ops_registry": Names(
        ("rushlight.ir.sym_ops",), effects=("rushlight.ir.sym_ops",)
    ),
    "executorch.exir.passes.memory_planning_pass": Names(("rushlight.memory.planning_pass",)),
    "executorch.exir.passes._device_copy_ops_registry": Names(
        ("rushlight.ir.device_copy_ops",), effects=("rushlight.ir.device_copy_ops",)
    ),
    "executorch.exir.passes.sym_shape_eval_pass": Names(("rushlight.passes.sym_shapes",)),
    "executorch.exir.passes.spec_prop_pass": Names(("rushlight.passes.spec_prop",)),
    "executorch.exir.passes.external_constants_pass": Names(("rushlight.passes.move_constants_to_files",)),
    "executorch.exir.passes.quantize_io_pass": Names(
        ("rushlight.passes.quantized_ends", "rushlight.compat.quantized_io")
    ),
    "executorch.exir.passes.quant_fusion_pass": Names(
        ("rushlight.compat.quantized_fusion",),
        {"_get_node_value_dict": "rushlight.compat.quantized_fusion:get_node_value_dict"},
    ),
    "executorch.exir.passes.init_mutable_pass": Names(("rushlight.passes.initialized_mutable_buffer",)),
    "executorch.exir.passes.propagate_device_config": Names(
        names={"PropagateDeviceConfig": "rushlight.compiler.config:PropagateDeviceConfig"}
    ),
    "executorch.exir.passes.propagate_device_pass": Names(
        ("rushlight.passes.propagate_device",),
        {
            "PropagateDeviceConfig": "rushlight.compiler.config:PropagateDeviceConfig",
            "_get_target_device_from_compile_specs": "rushlight.passes.propagate_device:target_device_of",
            "_parse_device_spec_value": "rushlight.passes.propagate_device:parse_device",
        },
    ),
    "executorch.exir.passes.reinplace": Names(
        ("rushlight.passes.reinplace",),
        {"_derive_edge_inplace_overload": "rushlight.passes.reinplace:inplace_operator"},
    ),
    "executorch.exir.print_program": Names(("rushlight.ir.text",)),
    "executorch.exir.schema": Names(("rushlight.format.program",)),
    "executorch.exir.tensor": Names(
        ("rushlight.ir.spec", _HELPERS),
        {
            "ALIGNMENT": "rushlight.ir.spec:DEFAULT_ALIGNMENT",
            "determine_tensor_dynanism": "rushlight.ir.spec:shape_dynamism",
        },
    ),
    "executorch.exir.delegate": Names(
        names={
            "executorch_call_delegate": f"{_CALL}:executorch_call_delegate",
            "is_lowered_module": f"{_CALL}:is_lowered_module",
            "get_lowered_module_name": f"{_CALL}:get_lowered_module_name",
        }
    ),
    "executorch.exir.lowered_backend_module": Names(
        ("rushlight.delegate.lowered", "rushlight.compat.submodules")
    ),
    "executorch.exir.verification": Names(),
    "executorch.exir.verification.arg_validator": Names(("rushlight.compat.arg_validator",)),
    "executorch.exir.verification.verifier": Names(
        ("rushlight.compat.verification",),
        {"SpecViolationError": "torch._export.verifier:SpecViolationError"},
    ),
    "executorch.exir.backend": Names(),
    "executorch.exir.backend.backend_api": Names(
        ("rushlight.compiler.to_backend", "rushlight.delegate.lowering", "rushlight.delegate.validation")
    ),
    "executorch.exir.backend.backend_details": Names(("rushlight.delegate.backend",), _BACKEND),
    "executorch.exir.backend.compile_spec_schema": Names(names=_BACKEND),
    "executorch.exir.backend.operator_support": Names(("rushlight.compat.operator_support",)),
    "executorch.exir.backend.partitioner": Names(("rushlight.delegate.partitioner",), _BACKEND),
    "executorch.exir.backend.utils": Names(
        (
            "rushlight.delegate.report",
            "rushlight.delegate.constants",
            "rushlight.delegate.debug",
            "rushlight.compiler.to_backend",
            "rushlight.compat.graph_comparison",
        )
    ),
    "executorch.exir.backend.canonical_partitioners": Names(),
    "executorch.exir.backend.canonical_partitioners.all_node_partitioner": Names(
        ("rushlight.compat.canonical_partitioners",)
    ),
    "executorch.exir.backend.canonical_partitioners.config_partitioner": Names(
        ("rushlight.compat.config_partitioner",)
    ),
    "executorch.exir.backend.canonical_partitioners.duplicate_constant_node_pass": Names(
        ("rushlight.compat.duplicate_nodes",)
    ),
    "executorch.exir.backend.canonical_partitioners.duplicate_dequant_node_pass": Names(
        ("rushlight.compat.duplicate_nodes",)
    ),
    "executorch.exir.backend.canonical_partitioners.group_partitioner": Names(
        ("rushlight.compat.canonical_partitioners",)
    ),
    "executorch.exir.backend.canonical_partitioners.pattern_op_partitioner": Names(
        ("rushlight.compat.canonical_partitioners",)
    ),
    "executorch.backends": Names(),
    "executorch.backends.openvino": Names(("rushlight.backends.openvino",)),
    "executorch.backends.openvino.partitioner": Names(("rushlight.backends.openvino.partitioner",)),
    "executorch.backends.openvino.preprocess": Names(("rushlight.backends.openvino.backend",)),
    "executorch.backends.test": Names(),
    "executorch.backends.test.graph_builder": Names(("rushlight.testing.graph_builder",)),
    "executorch.backends.test.program_builder": Names(("rushlight.testing.program_builder",)),
    "executorch.backends.test.harness": Names(("rushlight.testing.tester",)),
    "executorch.backends.test.harness.error_statistics": Names(("rushlight.testing.error_statistics",)),
    "executorch.backends.test.harness.tester": Names(("rushlight.testing.tester",)),
    "executorch.backends.test.harness.stages": _STAGES,
    **{
        f"executorch.backends.test.harness.stages.{stage}": _STAGES
        for stage in (
            "export",
            "partition",
            "quantize",
            "run_passes",
            "serialize",
            "stage",
            "to_edge",
            "to_edge_transform_and_lower",
            "to_executorch",
        )
    },
    "executorch.backends.test.suite": Names(
        names={
            "TestFlow": f"{_SUITE}.flow:TestFlow",
            "dtype_to_str": f"{_SUITE}.decorators:dtype_to_str",
            "get_test_flows": f"{_SUITE}.flows:all_flows",
            "runner_main": f"{_SUITE}.runner:runner_main",
        }
    ),
    "executorch.backends.test.suite.discovery": Names((f"{_SUITE}.discovery",)),
    "executorch.backends.test.suite.flow": Names((f"{_SUITE}.flow", f"{_SUITE}.flows")),
    "executorch.backends.test.suite.flows": Names(),
    "executorch.backends.test.suite.flows.portable": Names((f"{_SUITE}.flows",)),
    "executorch.backends.test.suite.flows.xnnpack": Names((f"{_SUITE}.flows",)),
    "executorch.backends.test.suite.operators": Names((f"{_SUITE}.decorators",)),
    "executorch.backends.test.suite.reporting": Names((f"{_SUITE}.reporting",)),
    "executorch.backends.test.suite.runner": Names((f"{_SUITE}.runner",)),
    "executorch.backends.transforms": Names((f"{_TRANSFORMS}.linear",)),
    "executorch.backends.transforms.addmm_mm_to_linear": Names(
        (f"{_TRANSFORMS}.linear",),
        {"AddmmToLinearTransform": f"{_TRANSFORMS}.linear:AddmmToLinearPass"},
    ),
    "executorch.backends.transforms.aten_to_dialect_pass": Names((f"{_TRANSFORMS}.dialects",)),
    "executorch.backends.transforms.canonicalize_view_copy_permute_pass": Names(
        (f"{_TRANSFORMS}.view_permutes",)
    ),
    "executorch.backends.transforms.channels_last_layout": Names((f"{_TRANSFORMS}.channels_last",)),
    "executorch.backends.transforms.channels_last_ops": Names(
        (f"{_TRANSFORMS}.channels_last",), effects=(f"{_TRANSFORMS}.channels_last",)
    ),
    "executorch.backends.transforms.collapse_view_copy": Names((f"{_TRANSFORMS}.views",)),
    "executorch.backends.transforms.convert_conv1d_to_conv2d_pass": Names((f"{_TRANSFORMS}.conv1d",)),
    "executorch.backends.transforms.convert_dtype_pass": Names((f"{_TRANSFORMS}.dtypes",)),
    "executorch.backends.transforms.decompose_channels_last_pass": Names((f"{_TRANSFORMS}.channels_last",)),
    "executorch.backends.transforms.decompose_sdpa": Names(
        names={
            "DecomposeScaledDotProductAttention": f"{_TRANSFORMS}.attention:"
            "DecomposeScaledDotProductAttentionPass"
        }
    ),
    "executorch.backends.transforms.dim_maps": Names((f"{_TRANSFORMS}.dim_maps",)),
    "executorch.backends.transforms.duplicate_dynamic_quant_chain": Names(
        ("rushlight.quantize.dynamic_chains",)
    ),
    "executorch.backends.transforms.enforce_contiguous_dim_order": Names(
        names={
            "EnforceContiguousDimOrder": f"{_TRANSFORMS}.dim_orders:EnforceContiguousDimOrderPass",
            "_is_contiguous": f"{_TRANSFORMS}.dim_orders:is_row_major",
            "_node_is_input_boundary_clone": f"{_TRANSFORMS}.dim_orders:is_input_clone",
            "_node_is_output_boundary_clone": f"{_TRANSFORMS}.dim_orders:is_output_clone",
        }
    ),
    "executorch.backends.transforms.fuse_batch_norm_with_conv": Names((f"{_TRANSFORMS}.batch_norm",)),
    "executorch.backends.transforms.fuse_cascaded_transpose_or_permute_ops": Names(
        names={
            "FuseCascadedTransposeOrPermuteOps": f"{_TRANSFORMS}.permute_chains:"
            "FuseCascadedTransposeOrPermuteOpsPass"
        }
    ),
    "executorch.backends.transforms.fuse_cascaded_view_ops": Names(
        names={"FuseCascadedViewOps": f"{_TRANSFORMS}.views:FuseCascadedViewOpsPass"}
    ),
    "executorch.backends.transforms.fuse_duplicate_users_pass": Names((f"{_TRANSFORMS}.duplicates",)),
    "executorch.backends.transforms.fuse_identical_input_transforms_pass": Names(
        (f"{_TRANSFORMS}.identical_inputs",)
    ),
    "executorch.backends.transforms.fuse_transpose_or_permute_op_pairs_pass": Names(
        (f"{_TRANSFORMS}.permute_chains",)
    ),
    "executorch.backends.transforms.fuse_view_copy": Names(
        names={"FuseViewCopyTransform": f"{_TRANSFORMS}.views:FuseViewCopyPass"}
    ),
    "executorch.backends.transforms.mean_to_sum_div": Names(
        names={"MeanToSumDiv": f"{_TRANSFORMS}.arithmetic:MeanToSumDivPass"}
    ),
    "executorch.backends.transforms.permute_pass_utils": Names(
        (f"{_TRANSFORMS}.permutes",),
        {
            "HierarchicalInplacePassInterface": f"{_TRANSFORMS}.permutes:HierarchicalInplacePass",
            "RemoveOrReplacePassInterface": f"{_TRANSFORMS}.permutes:RemoveOrReplacePass",
        },
    ),
    "executorch.backends.transforms.permute_view_meta": Names((f"{_TRANSFORMS}.view_permutes",)),
    "executorch.backends.transforms.postpone_permute_below_squeeze_view": Names(
        names={
            "PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView": f"{_TRANSFORMS}.permute_chains:"
            "PostponePermuteBelowSqueezeViewPass"
        }
    ),
    "executorch.backends.transforms.propagate_view_copy_permute_pass": Names((f"{_TRANSFORMS}.propagation",)),
    "executorch.backends.transforms.quantize_fused_convbn_bias_pass": Names((f"{_TRANSFORMS}.conv_biases",)),
    "executorch.backends.transforms.rank_0_to_rank_1": Names((f"{_TRANSFORMS}.arithmetic",)),
    "executorch.backends.transforms.remove_clone_ops": Names(
        names={"RemoveCloneOpsTransform": f"{_TRANSFORMS}.clones:RemoveCloneOpsPass"}
    ),
    "executorch.backends.transforms.remove_getitem_op": Names((f"{_TRANSFORMS}.items",)),
    "executorch.backends.transforms.remove_permutes_around_elementwise_ops": Names(
        names={
            "RemovePermutesAroundElementwiseOps": f"{_TRANSFORMS}.permute_regions:"
            "RemovePermutesAroundElementwiseOpsPass"
        }
    ),
    "executorch.backends.transforms.replace_channels_last_input_clones": Names(
        names={
            "ReplaceChannelsLastInputClones": f"{_TRANSFORMS}.dim_orders:ReplaceChannelsLastInputClonesPass",
            "_is_4d_channels_last": f"{_TRANSFORMS}.dim_orders:is_channels_last_image",
            "_is_4d_contiguous": f"{_TRANSFORMS}.dim_orders:is_row_major_image",
        }
    ),
    "executorch.backends.transforms.replace_nop_transpose_or_permute_with_view": Names(
        (f"{_TRANSFORMS}.permute_chains",)
    ),
    "executorch.backends.transforms.replace_ops_with_channels_last_variants": Names(
        (f"{_TRANSFORMS}.channels_last_variants",),
        {
            "ReplaceOpsWithChannelsLastVariants": f"{_TRANSFORMS}.channels_last_variants:"
            "ReplaceOpsWithChannelsLastVariantsPass",
            "_DEFAULT_OP_MAP": f"{_TRANSFORMS}.channels_last_variants:DEFAULT_OP_MAP",
            "_NCHW_TO_NHWC_PERM": "rushlight.compat.xnnpack_helpers:PERM_NCHW_TO_NHWC",
            "_NHWC_TO_NCHW_PERM": "rushlight.compat.xnnpack_helpers:PERM_NHWC_TO_NCHW",
        },
    ),
    "executorch.backends.transforms.replace_scalar_with_tensor": Names((f"{_TRANSFORMS}.arithmetic",)),
    "executorch.backends.transforms.replace_squeeze_unsqueeze_with_view": Names((f"{_TRANSFORMS}.views",)),
    "executorch.backends.transforms.utils": Names((f"{_TRANSFORMS}.constants",)),
    "executorch.backends.transforms.view_copy_to_squeeze_unsqueeze": Names((f"{_TRANSFORMS}.views",)),
    "executorch.backends.xnnpack": Names(),
    "executorch.backends.xnnpack._passes": Names((f"{_PASSES_OF_XNNPACK}.manager",), _XNNPACK_PASSES),
    **{
        f"executorch.backends.xnnpack._passes.{module}": Names(names={name: _XNNPACK_PASSES[name]})
        for module, name in (
            ("channels_last_tagged_reshape_pass", "ChannelsLastTaggedReshapePass"),
            ("conv1d_unsqueeze_pass", "Conv1dUnsqueezePass"),
            ("convert_to_linear", "ConvertToLinearPass"),
            ("convert_to_sdpa", "ConvertToSDPAPass"),
            ("convert_to_upsample_bilinear2d", "ConvertToUpsampleBilinear2d"),
            ("decompose_batch_norm", "DecomposeBatchNorm"),
            ("decompose_cat", "DecomposeConcatenate"),
            ("fuse_activation_pass", "FuseActivationPass"),
            ("fuse_batch_norm", "FuseBatchNormPass"),
            ("insert_pad_qdq", "InsertPadQDQPass"),
            ("prelu_reshape_pass", "PReLUReshapePass"),
            ("propagate_custom_meta_pass", "PropagateCustomMetaPass"),
            ("remove_noop_expand_copy_pass", "RemoveNoopExpandCopyPass"),
            ("remove_redundant_copy_pass", "RemoveRedundantCopyPass"),
        )
    },
    "executorch.backends.xnnpack._passes.xnnpack_pass": Names((f"{_PASSES_OF_XNNPACK}.manager",)),
    "executorch.backends.xnnpack.partition": Names(),
    "executorch.backends.xnnpack.partition.xnnpack_partitioner": Names(
        ("rushlight.backends.xnnpack.partitioner",)
    ),
    "executorch.backends.xnnpack.partition.graphs": Names(),
    "executorch.backends.xnnpack.partition.graphs.bilinear_2d": Names(
        names={
            "get_graphs": f"{_PASSES_OF_XNNPACK}.patterns:bilinear_2d_patterns",
            "get_graphs_dict": f"{_PASSES_OF_XNNPACK}.patterns:bilinear_2d_graphs",
        }
    ),
    "executorch.backends.xnnpack.partition.graphs.sdpa": Names(
        names={"get_graphs": f"{_PASSES_OF_XNNPACK}.patterns:sdpa_graphs"}
    ),
    "executorch.backends.xnnpack.partition.config": Names((_CONFIGS,)),
    "executorch.backends.xnnpack.partition.config.gemm_configs": Names((_CONFIGS,)),
    "executorch.backends.xnnpack.partition.config.generic_node_configs": Names((_CONFIGS,)),
    "executorch.backends.xnnpack.partition.config.node_configs": Names((_CONFIGS,)),
    "executorch.backends.xnnpack.partition.config.xnnpack_config": Names(
        (_CONFIGS,), {"ConfigPrecisionType": "rushlight.backends.xnnpack.nodes:ConfigPrecisionType"}
    ),
    "executorch.backends.xnnpack.serialization": Names(),
    "executorch.backends.xnnpack.serialization.xnnpack_graph_schema": Names(
        ("rushlight.backends.xnnpack.graph",)
    ),
    "executorch.backends.xnnpack.serialization.xnnpack_graph_serialize": Names(
        ("rushlight.compat.xnnpack_serialize",),
        {"_HEADER_BYTEORDER": "rushlight.compat.xnnpack_serialize:BYTE_ORDER"},
    ),
    "executorch.backends.xnnpack.quantizer": Names(),
    "executorch.backends.xnnpack.quantizer.xnnpack_quantizer": Names(
        ("rushlight.backends.xnnpack.quantizer",)
    ),
    "executorch.backends.xnnpack.quantizer.xnnpack_quantizer_utils": Names(
        ("rushlight.quantize.pattern_quantizer", "rushlight.quantize.patterns"),
        {
            "QuantizationConfig": "torchao.quantization.pt2e.quantizer:QuantizationConfig",
            "OperatorConfig": "torchao.quantization.pt2e.quantizer:OperatorConfig",
        },
    ),
    "executorch.backends.xnnpack.utils": Names(),
    "executorch.backends.xnnpack.utils.quant_utils": Names(("rushlight.compat.quantized_nodes",)),
    "executorch.backends.xnnpack.utils.utils": Names(
        (f"{_TRANSFORMS}.constants", "rushlight.compat.xnnpack_helpers")
    ),
    "executorch.backends.xnnpack.utils.xnnpack_constants": Names(("rushlight.compat.xnnpack_constants",)),
    "executorch.backends.xnnpack.utils.configs": Names(("rushlight.export.xnnpack_configs",)),
    "executorch.backends.xnnpack.test": Names(),
    "executorch.backends.xnnpack.test.tester": Names(("rushlight.testing.xnnpack",)),
    "executorch.backends.xnnpack.test.tester.tester": Names(("rushlight.testing.xnnpack",)),
    "executorch.backends.xnnpack.xnnpack_preprocess": Names(("rushlight.backends.xnnpack.backend",)),
    "executorch.backends.xnnpack.recipes": Names(
        ("rushlight.export.xnnpack",), effects=("rushlight.export.xnnpack",)
    ),
    "executorch.backends.xnnpack.recipes.xnnpack_recipe_provider": Names(("rushlight.export.xnnpack",)),
    "executorch.backends.xnnpack.recipes.xnnpack_recipe_types": Names(("rushlight.export.xnnpack",)),
    "executorch.devtools": Names(
        names={
            "BundledProgram": "rushlight.devtools.bundled_program:BundledProgram",
            "ETRecord": "rushlight.devtools.etrecord:ETRecord",
            "Inspector": "rushlight.devtools.inspector:Inspector",
            "generate_etrecord": "rushlight.devtools.etrecord:generate_etrecord",
            "inspector": "rushlight.devtools.inspector",
            "parse_etrecord": "rushlight.devtools.etrecord:parse_etrecord",
        }
    ),
    "executorch.devtools.bundled_program": Names(),
    "executorch.devtools.bundled_program.config": Names(("rushlight.devtools.bundled_program.config",)),
    "executorch.devtools.bundled_program.core": Names(("rushlight.devtools.bundled_program.core",)),
    "executorch.devtools.bundled_program.schema": Names(("rushlight.devtools.bundled_program.schema",)),
    "executorch.devtools.bundled_program.schema.bundled_program_schema": Names(
        ("rushlight.devtools.bundled_program.schema",)
    ),
    "executorch.devtools.bundled_program.serialize": Names(("rushlight.devtools.bundled_program.serialize",)),
    "executorch.devtools.bundled_program.version": Names(("rushlight.devtools.bundled_program.version",)),
    "executorch.devtools.etdump": Names(),
    "executorch.devtools.etdump.schema_flatcc": Names(("rushlight.devtools.etdump.schema_flatcc",)),
    "executorch.devtools.etdump.serialize": Names(("rushlight.devtools.etdump.serialize",)),
    "executorch.devtools.etrecord": Names(("rushlight.devtools.etrecord",)),
    "executorch.devtools.etrecord._etrecord": Names(("rushlight.devtools.etrecord.record",)),
    "executorch.devtools.inspector": Names(
        ("rushlight.devtools.inspector",),
        {"compare_results": "rushlight.devtools.inspector.results:compare_results"},
    ),
    "executorch.devtools.inspector._inspector": Names(
        ("rushlight.devtools.inspector.inspector", "rushlight.devtools.inspector")
    ),
    "executorch.devtools.inspector._inspector_utils": Names(
        ("rushlight.devtools.inspector.perf",),
        {
            "compare_results": "rushlight.devtools.inspector.results:compare_results",
            "DebugHandle": "rushlight.devtools.inspector.numerical_comparator:DebugHandle",
            "EDGE_DIALECT_GRAPH_KEY": "rushlight.devtools.inspector.inspector:EDGE_DIALECT_GRAPH_KEY",
        },
    ),
    "executorch.devtools.inspector.numerical_comparator": Names(_COMPARATORS),
    "executorch.devtools.inspector.numerical_comparator.l1_numerical_comparator": Names(_COMPARATORS),
    "executorch.devtools.inspector.numerical_comparator.mse_numerical_comparator": Names(_COMPARATORS),
    "executorch.devtools.inspector.numerical_comparator.snr_numerical_comparator": Names(_COMPARATORS),
    "executorch.devtools.inspector.numerical_comparator.numerical_comparator_base": Names(
        ("rushlight.devtools.inspector.numerical_comparator",)
    ),
    "executorch.devtools.intermediate_output_tap": Names(("rushlight.compat.intermediate_output_tap",)),
    **{
        f"executorch.devtools.intermediate_output_tap.{module}": Names(
            ("rushlight.compat.intermediate_output_tap",)
        )
        for module in ("_convenience", "_reducers", "_selectors", "_spec", "_strip_pass", "_tap_pass")
    },
    "executorch.devtools.pte_tool": Names(),
    "executorch.devtools.pte_tool.diff_pte": Names(("rushlight.compat.pte_tool",)),
    "executorch.devtools.size_analysis_tool": Names(),
    "executorch.devtools.size_analysis_tool.size_analysis_tool": Names(("rushlight.compat.size_analysis",)),
    "executorch.devtools.visualization": Names(("rushlight.compat.visualization",)),
    "executorch.devtools.visualization.visualization_utils": Names(("rushlight.compat.visualization",)),
    "executorch.devtools.backend_debug": Names(("rushlight.delegate.info",)),
    "executorch.devtools.backend_debug.delegation_info": Names(("rushlight.delegate.info",)),
    "executorch.export": Names(("rushlight.export",), {"export": "rushlight.export:export"}),
    "executorch.export.export": Names(("rushlight.export",)),
    "executorch.export.recipe": Names(("rushlight.export.recipe", "rushlight.export.recipe_parts")),
    "executorch.export.recipe_provider": Names(("rushlight.export.recipe",)),
    "executorch.export.recipe_registry": Names(
        ("rushlight.export.recipe",),
        {
            "register_backend_recipe_provider": "rushlight.export.recipe:"
            "recipe_registry.register_backend_recipe_provider"
        },
    ),
    "executorch.export.stages": Names(
        ("rushlight.export.stages", "rushlight.export.quantize_stages", "rushlight.export.stage")
    ),
    "executorch.export.types": Names(("rushlight.export.types",)),
    "executorch.extension": Names(),
    "executorch.extension.export_util": Names(("rushlight.compat.export_util",)),
    "executorch.extension.export_util.utils": Names(("rushlight.compat.export_util",)),
    "executorch.extension.llm": Names(),
    "executorch.extension.llm.custom_ops": Names(effects=("rushlight.ir.llm_ops",)),
    "executorch.extension.llm.custom_ops.custom_ops": Names(effects=("rushlight.ir.llm_ops",)),
    "executorch.extension.pytree": Names(("rushlight.compat.pytree",)),
    "executorch.extension.pybindings": Names(),
    "executorch.extension.pybindings.aten_lib": Names(("rushlight.runtime.aten_lib",)),
    "executorch.extension.pybindings.portable_lib": Names(("rushlight.runtime.portable_lib",)),
    "executorch.kernels": Names(),
    "executorch.kernels.portable": Names(),
    "executorch.kernels.quantized": Names(effects=("rushlight.ir.quantized_ops",)),
    "executorch.util": Names(),
    "executorch.util.activation_memory_profiler": Names(("rushlight.memory.trace",)),
    "executorch.runtime": Names(("rushlight.runtime",)),
}

MODULES["executorch.extension.pytree.pybindings"] = MODULES["executorch.extension.pytree"]
MODULES["executorch.extension.pybindings._C"] = MODULES["executorch.extension.pybindings.portable_lib"]

# Why other parts of ExecuTorch are not here, by the start of the name of their modules.
LEFT_OUT: dict[str, str] = {
    "executorch.backends.xnnpack.partition.config.quant_affine_configs": "configurations that keep torchao's "
    "affine operators whole; the compiler writes these as quantize and dequantize operators itself",
    "executorch.exir.backend.test": "ExecuTorch's tests; keep them beside the module, in its `__path__`",
    "executorch.exir.control_flow": "control flow of ExecuTorch's former tracer; write torch.cond",
    "executorch.exir.dialects.edge.arg": "a generator of sample inputs of ExecuTorch's tables of dtypes",
    "executorch.exir.dialects.edge.spec": "a generator of ExecuTorch's tables of dtypes",
    "executorch.exir.native": "the package format (.ptn) of ExecuTorch's own native backend",
    "executorch.exir.verification.interpreter": "an interpreter over an extension of ExecuTorch's tests; "
    "executorch.extension.pybindings.aten_lib runs programs with torch's kernels",
    "executorch.extension.llm": "a part of the runner of language models, their tokenizers or export tools; "
    "the operators of extension.llm.custom_ops exist, and torch.export captures models with them",
    "executorch.extension.training": "training on the device: outputs of a method own their memory here",
}

# What vendors' backends would need, by the start of the name of their modules.
VENDORS: dict[str, str] = {
    "executorch.backends.aoti": "a compiler of AOTInductor for the device",
    "executorch.backends.apple": "Apple's Core ML tools (coremltools), or MLX or Metal of macOS",
    "executorch.backends.arm": "Arm's tosa-tools, and the Vela compiler or the ML SDK for Vulkan",
    "executorch.backends.cadence": "Cadence's Xtensa tools, and kernels of its DSP libraries",
    "executorch.backends.cortex_m": "Arm's CMSIS-NN kernels for Cortex-M",
    "executorch.backends.cuda": "NVIDIA's CUDA toolkit, and AOTInductor with Triton",
    "executorch.backends.mediatek": "MediaTek's NeuroPilot SDK (mtk_converter, mtk_neuron)",
    "executorch.backends.mlx": "Apple's MLX",
    "executorch.backends.nxp": "NXP's eIQ Neutron SDK (neutron_converter)",
    "executorch.backends.qualcomm": "Qualcomm's AI Engine Direct (QNN) SDK",
    "executorch.backends.samsung": "Samsung's Exynos AI LiteCore (ENN) SDK",
    "executorch.backends.vulkan": "a Vulkan device, and a compiler of its shaders (glslc)",
    "executorch.backends.webgpu": "a WebGPU implementation such as Dawn",
}
