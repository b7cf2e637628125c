"""The names of `executorch.exir.passes`."""

from __future__ import annotations

from rushlight.compat.name_tables.table import GRAPH_PASSES, PASSES, QUERIES, Names

MODULES: dict[str, Names] = {
    "executorch.exir.passes": Names((GRAPH_PASSES,), names=PASSES),
    **{
        f"executorch.exir.passes.{module}": Names((GRAPH_PASSES,), names=PASSES)
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
            "replace_edge_with_backend_pass",
            "replace_sym_size_op_pass",
            "replace_view_copy_with_view_pass",
            "scalar_to_tensor_pass",
            "sym_to_tensor_pass",
            "to_device_pass",
            "weights_to_outputs_pass",
        )
    },
    "executorch.exir.passes.replace_aten_with_edge_pass": Names(
        (GRAPH_PASSES,), PASSES | {"aten_to_edge": "rushlight.ir.edge_ops:to_edge_op"}
    ),
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
    "executorch.exir.passes.spec_prop_pass": Names(
        ("rushlight.passes.spec_prop",), {"make_spec": f"{QUERIES}:make_spec"}
    ),
    "executorch.exir.passes.external_constants_pass": Names(
        ("rushlight.passes.move_constants_to_files",), {"is_param_node": f"{QUERIES}:is_param_node"}
    ),
    "executorch.exir.passes.quantize_io_pass": Names(
        ("rushlight.passes.quantized_ends", "rushlight.compat.quantized_io")
    ),
    "executorch.exir.passes._quant_patterns_and_replacements": Names(
        names={
            "quantized_decomposed_lib": "torch.ao.quantization.fx._decomposed:quantized_decomposed_lib",
        },
        effects=("rushlight.ir.quantized_ops",),
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
}
