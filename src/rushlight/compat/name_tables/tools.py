"""The names of `executorch.devtools`, `export`, `extension`, `kernels`, `runtime` and `util`."""

from __future__ import annotations

from rushlight.compat.name_tables.table import SERIALIZE, Names

_COMPARATORS = ("rushlight.compat.comparators", "rushlight.devtools.inspector.numerical_comparator")

_INSPECTOR = "rushlight.compat.inspector"

_INSPECTOR_CLASSES = {
    "Event": f"{_INSPECTOR}.events:Event",
    "EventBlock": f"{_INSPECTOR}.events:EventBlock",
    "Inspector": f"{_INSPECTOR}.inspector:Inspector",
    "PerfData": f"{_INSPECTOR}.events:PerfData",
    "compare_results": "rushlight.devtools.inspector.results:compare_results",
}

_TRAINING = {
    name: f"rushlight.runtime.training:{name}"
    for name in (
        "TrainingModule",
        "_load_for_executorch_for_training",
        "_load_for_executorch_for_training_from_buffer",
        "get_sgd_optimizer",
    )
}

_RUNNER_FUNCTIONS = {
    name: f"rushlight.llm.multimodal_runner:MultimodalRunner.{name}"
    for name in ("generate_hf", "generate_text_hf")
}

_LLM_EXPORT = "rushlight.compat.llm_export"
_LLM_QUANT = (
    f"{_LLM_EXPORT}.recipe",
    f"{_LLM_EXPORT}.weight_conversion",
    f"{_LLM_EXPORT}.weight_quantization",
)

_COMMANDS = "rushlight.compat.commands"
_LISTS = "rushlight.compat.codegen.operator_lists"
_HEADERS = "rushlight.compat.codegen.selection_headers"
_KERNEL_LISTS = "rushlight.compat.codegen.kernel_lists"
_CPP_TYPES = Names(("rushlight.compat.codegen.cpp_types",))

_LLM_OPS = Names(
    effects=(
        "rushlight.ir.llm_ops",
        "rushlight.ir.delta_rule_ops",
        "rushlight.ir.image_ops",
        "rushlight.ir.cross_attention_ops",
    )
)

_IMAGE_OPS = Names(
    ("rushlight.ir.image_ops",),
    {"preprocess_op_lib": "rushlight.ir.image_ops:LIBRARY"},
    effects=("rushlight.ir.image_ops",),
)

MODULES: dict[str, Names] = {
    "executorch.codegen": Names(),
    "executorch.codegen.api": Names(),
    **{
        f"executorch.codegen.api.{module}": _CPP_TYPES
        for module in ("et_cpp", "types", "types.signatures", "types.types", "unboxing")
    },
    "executorch.codegen.gen": Names(names={"main": "rushlight.compat.codegen.generator:main"}),
    "executorch.codegen.tools": Names(),
    "executorch.codegen.tools.combine_prim_ops_headers": Names(
        (_HEADERS,), {"main": f"{_HEADERS}:combine_prim_ops_headers_main"}
    ),
    "executorch.codegen.tools.gen_all_oplist": Names((_LISTS,), {"main": f"{_LISTS}:gen_all_oplist_main"}),
    "executorch.codegen.tools.gen_max_kernel_num": Names(
        (_HEADERS,),
        {
            "_count_prim_ops": f"{_HEADERS}:count_prim_ops",
            "_count_yaml_kernels": f"{_HEADERS}:count_yaml_kernels",
            "main": f"{_HEADERS}:gen_max_kernel_num_main",
        },
    ),
    "executorch.codegen.tools.gen_oplist": Names(
        (_LISTS,),
        {
            "_dump_yaml": f"{_LISTS}:dump_yaml",
            "_get_et_kernel_metadata_from_ops_yaml": f"{_LISTS}:get_et_kernel_metadata_from_ops_yaml",
            "_get_kernel_metadata_for_model": f"{_LISTS}:get_kernel_metadata_for_model",
            "_get_operators": f"{_LISTS}:get_operators",
            "main": f"{_LISTS}:gen_oplist_main",
        },
    ),
    "executorch.codegen.tools.gen_ops_def": Names(
        (_KERNEL_LISTS,), {"main": f"{_KERNEL_LISTS}:gen_ops_def_main"}
    ),
    "executorch.codegen.tools.gen_selected_op_variants": Names(
        (_HEADERS,), {"main": f"{_HEADERS}:write_selected_op_variants_main"}
    ),
    "executorch.codegen.tools.gen_selected_prim_ops": Names(
        (_HEADERS,), {"main": f"{_HEADERS}:write_selected_prim_ops_main"}
    ),
    "executorch.codegen.tools.merge_yaml": Names((_KERNEL_LISTS,), {"main": f"{_KERNEL_LISTS}:merge_main"}),
    "executorch.codegen.tools.yaml_util": Names((_KERNEL_LISTS,)),
    "executorch.codegen.tools.selective_build": Names(
        names={
            "_IOMetaData": f"{_LISTS}:IOMetaData",
            "_Program": "rushlight.format.program:Program",
            "_get_io_metadata_for_program_operators": f"{_LISTS}:io_metadata",
            "_get_program_from_buffer": f"{_LISTS}:program_from_buffer",
            "_get_program_operators": f"{_LISTS}:program_operators",
        }
    ),
    "executorch.extension.flat_tensor": Names(),
    "executorch.extension.flat_tensor.serialize": Names((SERIALIZE,)),
    "executorch.extension.flat_tensor.serialize.serialize": Names(
        (SERIALIZE,),
        {
            "_FLATBUFFER_ALIGNMENT": "rushlight.compat.extended_header:FLATBUFFER_ALIGNMENT",
            "_FLAT_TENSOR_VERSION": "rushlight.format.ptd:VERSION",
            "_deserialize_to_flat_tensor": "rushlight.compat.program_tables:deserialize_to_flat_tensor",
            "FlatTensorHeader": "rushlight.compat.extended_header:FlatTensorHeader",
        },
    ),
    "executorch.extension.flat_tensor.serialize.flat_tensor_schema": Names(("rushlight.format.flat_tensor",)),
    "executorch.devtools": Names(
        names={
            "BundledProgram": "rushlight.devtools.bundled_program:BundledProgram",
            "ETRecord": "rushlight.devtools.etrecord:ETRecord",
            "Inspector": f"{_INSPECTOR}.inspector:Inspector",
            "generate_etrecord": "rushlight.devtools.etrecord:generate_etrecord",
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
    "executorch.devtools.bundled_program.serialize": Names(
        (
            "rushlight.devtools.bundled_program.serialize",
            "rushlight.devtools.bundled_program.core",
            "rushlight.compat.dataclass_json",
        )
    ),
    "executorch.devtools.bundled_program.version": Names(("rushlight.devtools.bundled_program.version",)),
    "executorch.devtools.etdump": Names(),
    "executorch.devtools.etdump.schema_flatcc": Names(("rushlight.devtools.etdump.schema_flatcc",)),
    "executorch.devtools.etdump.serialize": Names(("rushlight.devtools.etdump.serialize",)),
    "executorch.devtools.etrecord": Names(("rushlight.devtools.etrecord",)),
    "executorch.devtools.etrecord._etrecord": Names(
        ("rushlight.devtools.etrecord", "rushlight.devtools.etrecord.record"),
        {
            "_get_reference_outputs": "rushlight.devtools.etrecord.record:reference_outputs_of",
            "_get_representative_inputs": "rushlight.devtools.etrecord.record:representative_inputs_of",
        },
    ),
    "executorch.devtools.debug_format": Names(),
    "executorch.devtools.debug_format.base_schema": Names((f"{_INSPECTOR}.graphs",)),
    "executorch.devtools.debug_format.et_schema": Names((f"{_INSPECTOR}.graphs",)),
    "executorch.devtools.inspector": Names(("rushlight.devtools.inspector",), _INSPECTOR_CLASSES),
    "executorch.devtools.inspector._inspector": Names(
        (
            f"{_INSPECTOR}.inspector",
            f"{_INSPECTOR}.events",
            f"{_INSPECTOR}.signatures",
            f"{_INSPECTOR}.debug_handles",
            f"{_INSPECTOR}.graphs",
        ),
        {"flatcc": "rushlight.devtools.etdump.schema_flatcc", **_INSPECTOR_CLASSES},
    ),
    "executorch.devtools.inspector.inspector_cli": Names(names={"main": f"{_COMMANDS}:inspector_main"}),
    "executorch.devtools.inspector._inspector_utils": Names(
        (
            f"{_INSPECTOR}.values",
            f"{_INSPECTOR}.debug_handles",
            f"{_INSPECTOR}.inspector",
            f"{_INSPECTOR}.events",
        ),
        {"compare_results": "rushlight.devtools.inspector.results:compare_results"},
    ),
    "executorch.devtools.inspector._intermediate_output_capturer": Names((f"{_INSPECTOR}.debug_handles",)),
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
    "executorch.devtools.pte_tool.diff_pte": Names(
        ("rushlight.compat.pte_tool",), {"main": f"{_COMMANDS}:diff_main"}
    ),
    "executorch.devtools.scripts": Names(),
    "executorch.devtools.scripts.generate_profiling_csv": Names(
        names={"main": f"{_COMMANDS}:csv_main", "generate_csv": f"{_COMMANDS}:generate_csv"}
    ),
    "executorch.devtools.size_analysis_tool": Names(),
    "executorch.devtools.size_analysis_tool.size_analysis_tool": Names(
        ("rushlight.compat.size_analysis",), {"main": f"{_COMMANDS}:size_main"}
    ),
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
    "executorch.export.target_recipes": Names(("rushlight.compat.target_recipes",)),
    "executorch.export.utils": Names(("rushlight.compat.target_recipes",)),
    "executorch.export.types": Names(("rushlight.export.types",)),
    "executorch.extension": Names(),
    "executorch.extension.audio": Names(),
    "executorch.extension.audio.mel_spectrogram": Names(("rushlight.compat.audio",)),
    "executorch.extension.export_util": Names(("rushlight.compat.export_util",)),
    "executorch.extension.export_util.utils": Names(("rushlight.compat.export_util",)),
    "executorch.extension.llm": Names(),
    "executorch.extension.llm.cache": Names(),
    "executorch.extension.llm.cache.reference_cache": Names(
        ("rushlight.compat.reference_caches", "rushlight.compat.update_and_attend")
    ),
    "executorch.extension.llm.cache.update_and_attend": Names(("rushlight.compat.update_and_attend",)),
    "executorch.extension.llm.custom_ops": _LLM_OPS,
    "executorch.extension.llm.custom_ops.custom_ops": _LLM_OPS,
    "executorch.extension.llm.custom_ops.op_tile_crop_aot": _IMAGE_OPS,
    "executorch.extension.llm.custom_ops.preprocess_custom_ops": _IMAGE_OPS,
    "executorch.extension.llm.export": Names(
        names={
            "ExportableGGUFTensor": f"{_LLM_EXPORT}.gguf:ExportableGGUFTensor",
            "ExportableInt4Tensor": f"{_LLM_EXPORT}.int4:ExportableInt4Tensor",
            "LLMEdgeManager": f"{_LLM_EXPORT}.builder:LLMEdgeManager",
        }
    ),
    "executorch.extension.llm.export.builder": Names((f"{_LLM_EXPORT}.builder",)),
    "executorch.extension.llm.export.config": Names(),
    "executorch.extension.llm.export.config.llm_config": Names((f"{_LLM_EXPORT}.config",)),
    "executorch.extension.llm.export.export_llm": Names((f"{_LLM_EXPORT}.export_llm",)),
    "executorch.extension.llm.export.export_passes": Names(
        names={
            "RemoveRedundantTransposes": f"{_LLM_EXPORT}.passes:RemoveRedundantTransposesPass",
            "ReplaceSDPAWithCustomSDPAPass": f"{_LLM_EXPORT}.passes:ReplaceSDPAWithCustomSDPAPass",
        }
    ),
    "executorch.extension.llm.export.gguf": Names(
        (f"{_LLM_EXPORT}.gguf",),
        {
            "_max_uniform_group_size": f"{_LLM_EXPORT}.gguf:merged_groups",
            **{f"{q}_GROUP_SIZE": f"{_LLM_EXPORT}.gguf:{q}.group_size" for q in ("Q4_K", "Q5_K", "Q6_K")},
            **{f"_{q}_BLOCK_BYTES": f"{_LLM_EXPORT}.gguf:{q}.size" for q in ("Q4_K", "Q5_K", "Q6_K")},
        },
    ),
    "executorch.extension.llm.export.int4": Names((f"{_LLM_EXPORT}.int4",)),
    "executorch.extension.llm.export.load": Names(
        (f"{_LLM_EXPORT}.weight_conversion", f"{_LLM_EXPORT}.checkpoints")
    ),
    "executorch.extension.llm.export.partitioner_lib": Names(
        (f"{_LLM_EXPORT}.partitioners", f"{_LLM_EXPORT}.vendors")
    ),
    "executorch.extension.llm.export.quant": Names(_LLM_QUANT),
    "executorch.extension.llm.export.quant.convert": Names((_LLM_QUANT[1],)),
    "executorch.extension.llm.export.quant.quantize": Names((_LLM_QUANT[2],)),
    "executorch.extension.llm.export.quant.recipe": Names((_LLM_QUANT[0],)),
    "executorch.extension.llm.export.quantize": Names((f"{_LLM_EXPORT}.weights",)),
    "executorch.extension.llm.export.quantizer_lib": Names(
        (f"{_LLM_EXPORT}.quantizers", f"{_LLM_EXPORT}.vendors")
    ),
    "executorch.extension.llm.runner": Names(("rushlight.llm",), _RUNNER_FUNCTIONS),
    "executorch.extension.llm.runner._llm_runner": Names(("rushlight.llm",)),
    "executorch.extension.pytree": Names(("rushlight.compat.pytree",)),
    "executorch.extension.pybindings": Names(),
    "executorch.extension.pybindings.aten_lib": Names(("rushlight.runtime.aten_lib",)),
    "executorch.extension.pybindings.portable_lib": Names(("rushlight.runtime.portable_lib",)),
    "executorch.extension.training": Names(names=_TRAINING),
    "executorch.extension.training.pybindings": Names(),
    "executorch.extension.training.pybindings._training_lib": Names(
        names={
            "ExecuTorchSGD": "rushlight.runtime.training:SGD",
            "get_sgd_optimizer": "rushlight.runtime.training:get_sgd_optimizer",
        }
    ),
    "executorch.extension.training.pybindings._training_module": Names(("rushlight.runtime.training",)),
    "executorch.extension.training.examples": Names(),
    "executorch.extension.training.examples.XOR": Names(),
    "executorch.extension.training.examples.XOR.export_model": Names(("rushlight.compat.training_examples",)),
    "executorch.extension.training.examples.XOR.model": Names(("rushlight.compat.training_examples",)),
    "executorch.kernels": Names(),
    "executorch.kernels.portable": Names(),
    "executorch.kernels.quantized": Names(effects=("rushlight.ir.quantized_ops",)),
    "executorch.util": Names(),
    "executorch.util.collect_env": Names(names={"main": f"{_COMMANDS}:environment_main"}),
    "executorch.util.activation_memory_profiler": Names(("rushlight.memory.trace",)),
    "executorch.runtime": Names(("rushlight.runtime", "rushlight.runtime.pybindings")),
}

MODULES["executorch.extension.pytree.pybindings"] = MODULES["executorch.extension.pytree"]
MODULES["executorch.extension.pybindings._C"] = MODULES["executorch.extension.pybindings.portable_lib"]
