"""The names of `executorch.backends`, without those of XNNPACK."""

from __future__ import annotations

from rushlight.compat.name_tables.table import NATIVE, TRANSFORMS, Names

_SUITE = "rushlight.testing.suite"

_STAGES = Names(("rushlight.testing.stages",))

_NATIVE_PROGRAMS = Names(
    (f"{NATIVE}.programs", f"{NATIVE}.tables", f"{NATIVE}.checks", f"{NATIVE}.values"),
    {
        "_build_output_specs": f"{NATIVE}.programs:output_specs_of",
        "_compile_to_bytes": f"{NATIVE}.tables:encode_program",
        "_dim_order": f"{NATIVE}.values:dim_order_of",
        "_named_arguments": f"{NATIVE}.arguments:named_arguments",
        "_node_outputs": f"{NATIVE}.nodes:node_outputs",
        "_output_alias_of": f"{NATIVE}.arguments:aliased_argument",
        "_same_tensor": f"{NATIVE}.programs:same_tensor",
        "_to_arg_value": f"{NATIVE}.arguments:argument_value",
    },
)

MODULES: dict[str, Names] = {
    "executorch.backends": Names(),
    "executorch.backends.native": Names((f"{NATIVE}.passes",)),
    "executorch.backends.native.partitioner": Names(
        (f"{NATIVE}.partitioner",), {"_SUPPORTED_NON_CORE_OPS": f"{NATIVE}.partitioner:FURTHER_OPS"}
    ),
    "executorch.backends.native.passes": Names((f"{NATIVE}.passes",)),
    "executorch.backends.native.passes.reinplace": Names((f"{NATIVE}.passes",)),
    "executorch.backends.native.preprocess": Names(
        (f"{NATIVE}.backend",), {"_parse_compile_specs": f"{NATIVE}.backend:parse_options"}
    ),
    "executorch.backends.native.serialization": _NATIVE_PROGRAMS,
    "executorch.backends.native.serialization.graph_serialize": _NATIVE_PROGRAMS,
    "executorch.backends.native.serialization.schema": Names((f"{NATIVE}.schema",)),
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
    "executorch.backends.test.suite.conftest": Names((f"{_SUITE}.pytest_plugin",), early=True),
    "executorch.backends.test.suite.discovery": Names((f"{_SUITE}.discovery",)),
    "executorch.backends.test.suite.flow": Names((f"{_SUITE}.flow", f"{_SUITE}.flows")),
    "executorch.backends.test.suite.flows": Names(),
    "executorch.backends.test.suite.flows.portable": Names((f"{_SUITE}.flows",)),
    "executorch.backends.test.suite.flows.xnnpack": Names((f"{_SUITE}.flows",)),
    "executorch.backends.test.suite.operators": Names((f"{_SUITE}.decorators",)),
    "executorch.backends.test.suite.reporting": Names((f"{_SUITE}.reporting",)),
    "executorch.backends.test.suite.runner": Names((f"{_SUITE}.runner",)),
    "executorch.backends.transforms": Names((f"{TRANSFORMS}.linear",)),
    "executorch.backends.transforms.addmm_mm_to_linear": Names(
        (f"{TRANSFORMS}.linear",),
        {"AddmmToLinearTransform": f"{TRANSFORMS}.linear:AddmmToLinearPass"},
    ),
    "executorch.backends.transforms.aten_to_dialect_pass": Names((f"{TRANSFORMS}.dialects",)),
    "executorch.backends.transforms.canonicalize_view_copy_permute_pass": Names(
        (f"{TRANSFORMS}.view_permutes",)
    ),
    "executorch.backends.transforms.channels_last_layout": Names((f"{TRANSFORMS}.channels_last",)),
    "executorch.backends.transforms.channels_last_ops": Names(
        (f"{TRANSFORMS}.channels_last",), effects=(f"{TRANSFORMS}.channels_last",)
    ),
    "executorch.backends.transforms.collapse_view_copy": Names((f"{TRANSFORMS}.views",)),
    "executorch.backends.transforms.convert_conv1d_to_conv2d_pass": Names((f"{TRANSFORMS}.conv1d",)),
    "executorch.backends.transforms.convert_dtype_pass": Names((f"{TRANSFORMS}.dtypes",)),
    "executorch.backends.transforms.decompose_channels_last_pass": Names((f"{TRANSFORMS}.channels_last",)),
    "executorch.backends.transforms.decompose_sdpa": Names(
        names={
            "DecomposeScaledDotProductAttention": f"{TRANSFORMS}.attention:"
            "DecomposeScaledDotProductAttentionPass"
        }
    ),
    "executorch.backends.transforms.dim_maps": Names((f"{TRANSFORMS}.dim_maps",)),
    "executorch.backends.transforms.duplicate_dynamic_quant_chain": Names(
        ("rushlight.quantize.dynamic_chains",)
    ),
    "executorch.backends.transforms.enforce_contiguous_dim_order": Names(
        names={
            "EnforceContiguousDimOrder": f"{TRANSFORMS}.dim_orders:EnforceContiguousDimOrderPass",
            "_is_contiguous": f"{TRANSFORMS}.dim_orders:is_row_major",
            "_node_is_input_boundary_clone": f"{TRANSFORMS}.dim_orders:is_input_clone",
            "_node_is_output_boundary_clone": f"{TRANSFORMS}.dim_orders:is_output_clone",
        }
    ),
    "executorch.backends.transforms.fuse_batch_norm_with_conv": Names((f"{TRANSFORMS}.batch_norm",)),
    "executorch.backends.transforms.fuse_cascaded_transpose_or_permute_ops": Names(
        names={
            "FuseCascadedTransposeOrPermuteOps": f"{TRANSFORMS}.permute_chains:"
            "FuseCascadedTransposeOrPermuteOpsPass"
        }
    ),
    "executorch.backends.transforms.fuse_cascaded_view_ops": Names(
        names={"FuseCascadedViewOps": f"{TRANSFORMS}.views:FuseCascadedViewOpsPass"}
    ),
    "executorch.backends.transforms.fuse_duplicate_users_pass": Names((f"{TRANSFORMS}.duplicates",)),
    "executorch.backends.transforms.fuse_identical_input_transforms_pass": Names(
        (f"{TRANSFORMS}.identical_inputs",)
    ),
    "executorch.backends.transforms.fuse_transpose_or_permute_op_pairs_pass": Names(
        (f"{TRANSFORMS}.permute_chains",)
    ),
    "executorch.backends.transforms.fuse_view_copy": Names(
        names={"FuseViewCopyTransform": f"{TRANSFORMS}.views:FuseViewCopyPass"}
    ),
    "executorch.backends.transforms.mean_to_sum_div": Names(
        names={"MeanToSumDiv": f"{TRANSFORMS}.arithmetic:MeanToSumDivPass"}
    ),
    "executorch.backends.transforms.permute_pass_utils": Names(
        (f"{TRANSFORMS}.permutes",),
        {
            "HierarchicalInplacePassInterface": f"{TRANSFORMS}.permutes:HierarchicalInplacePass",
            "RemoveOrReplacePassInterface": f"{TRANSFORMS}.permutes:RemoveOrReplacePass",
        },
    ),
    "executorch.backends.transforms.permute_view_meta": Names((f"{TRANSFORMS}.view_permutes",)),
    "executorch.backends.transforms.postpone_permute_below_squeeze_view": Names(
        names={
            "PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView": f"{TRANSFORMS}.permute_chains:"
            "PostponePermuteBelowSqueezeViewPass"
        }
    ),
    "executorch.backends.transforms.propagate_view_copy_permute_pass": Names((f"{TRANSFORMS}.propagation",)),
    "executorch.backends.transforms.quantize_fused_convbn_bias_pass": Names((f"{TRANSFORMS}.conv_biases",)),
    "executorch.backends.transforms.rank_0_to_rank_1": Names((f"{TRANSFORMS}.arithmetic",)),
    "executorch.backends.transforms.remove_clone_ops": Names(
        names={"RemoveCloneOpsTransform": f"{TRANSFORMS}.clones:RemoveCloneOpsPass"}
    ),
    "executorch.backends.transforms.remove_getitem_op": Names((f"{TRANSFORMS}.items",)),
    "executorch.backends.transforms.remove_permutes_around_elementwise_ops": Names(
        names={
            "RemovePermutesAroundElementwiseOps": f"{TRANSFORMS}.permute_regions:"
            "RemovePermutesAroundElementwiseOpsPass"
        }
    ),
    "executorch.backends.transforms.replace_channels_last_input_clones": Names(
        names={
            "ReplaceChannelsLastInputClones": f"{TRANSFORMS}.dim_orders:ReplaceChannelsLastInputClonesPass",
            "_is_4d_channels_last": f"{TRANSFORMS}.dim_orders:is_channels_last_image",
            "_is_4d_contiguous": f"{TRANSFORMS}.dim_orders:is_row_major_image",
        }
    ),
    "executorch.backends.transforms.replace_nop_transpose_or_permute_with_view": Names(
        (f"{TRANSFORMS}.permute_chains",)
    ),
    "executorch.backends.transforms.replace_ops_with_channels_last_variants": Names(
        (f"{TRANSFORMS}.channels_last_variants",),
        {
            "ReplaceOpsWithChannelsLastVariants": f"{TRANSFORMS}.channels_last_variants:"
            "ReplaceOpsWithChannelsLastVariantsPass",
            "_DEFAULT_OP_MAP": f"{TRANSFORMS}.channels_last_variants:DEFAULT_OP_MAP",
            "_NCHW_TO_NHWC_PERM": "rushlight.compat.xnnpack_helpers:PERM_NCHW_TO_NHWC",
            "_NHWC_TO_NCHW_PERM": "rushlight.compat.xnnpack_helpers:PERM_NHWC_TO_NCHW",
        },
    ),
    "executorch.backends.transforms.replace_scalar_with_tensor": Names((f"{TRANSFORMS}.arithmetic",)),
    "executorch.backends.transforms.replace_squeeze_unsqueeze_with_view": Names((f"{TRANSFORMS}.views",)),
    "executorch.backends.transforms.utils": Names((f"{TRANSFORMS}.constants",)),
    "executorch.backends.transforms.view_copy_to_squeeze_unsqueeze": Names((f"{TRANSFORMS}.views",)),
}
