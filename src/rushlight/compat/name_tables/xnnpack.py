"""The names of `executorch.backends.xnnpack`."""

from __future__ import annotations

from rushlight.compat.name_tables.table import QUERIES, TRANSFORMS, Names

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

MODULES: dict[str, Names] = {
    "executorch.backends.xnnpack": Names(
        names={
            "XnnpackBackend": "rushlight.backends.xnnpack.backend:XnnpackBackend",
            **{
                name: f"rushlight.backends.xnnpack.partitioner:{name}"
                for name in ("XnnpackDynamicallyQuantizedPartitioner", "XnnpackPartitioner")
            },
            **{
                name: f"rushlight.export.xnnpack_configs:{name}"
                for name in ("get_xnnpack_edge_compile_config", "get_xnnpack_executorch_backend_config")
            },
        }
    ),
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
        ("rushlight.backends.xnnpack.partitioner",),
        {"ALL_PARTITIONER_CONFIGS": f"{_CONFIGS}:ALL_PARTITIONER_CONFIGS"},
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
        (
            "rushlight.backends.xnnpack.annotators",
            "rushlight.quantize.pattern_quantizer",
            "rushlight.quantize.patterns",
        ),
        {
            "QuantizationConfig": "torchao.quantization.pt2e.quantizer:QuantizationConfig",
            "OperatorConfig": "torchao.quantization.pt2e.quantizer:OperatorConfig",
            "change_quantization_config": f"{QUERIES}:change_quantization_config",
            "is_relu_node": f"{QUERIES}:is_relu_node",
            "OP_TO_ANNOTATOR": "rushlight.backends.xnnpack.quantizer:OP_TO_ANNOTATOR",
            "propagate_annotation": "rushlight.backends.xnnpack.quantizer:propagate_annotation",
        },
    ),
    "executorch.backends.xnnpack.utils": Names(),
    "executorch.backends.xnnpack.utils.quant_utils": Names(("rushlight.compat.quantized_nodes",)),
    "executorch.backends.xnnpack.utils.utils": Names(
        (f"{TRANSFORMS}.constants", "rushlight.compat.xnnpack_helpers")
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
}
