"""The names of `executorch.exir`, without those of its passes."""

from __future__ import annotations

from rushlight.compat.name_tables.table import GRAPH_PASSES, NATIVE, PASSES, QUERIES, SERIALIZE, Names

_BACKEND = {
    "CompileSpec": "rushlight.delegate.backend:CompileSpec",
    "ExportedProgram": "torch.export:ExportedProgram",
}

_CALL = "torch._higher_order_ops.executorch_call_delegate"

_PROGRAM = ("rushlight.exir", "rushlight.compiler")

_HELPERS = "rushlight.compat.exir_helpers"
_LOWERING = "rushlight.compat.lowering_passes"

_DECOMPOSITIONS = "rushlight.compat.decompositions"

_VARIANTS = "rushlight.compat.operator_variants"

_DEMO = "rushlight.testing.demo_backend"

_SAVED = "rushlight.compat.saved_programs"

_VERSION = "rushlight.compat.version"

_PTE = {
    "PTEFile": "rushlight.compat.program_files:PTEFile",
    "_PTEFile": "rushlight.compat.program_files:PTEFile",
    "_deserialize_pte_binary": f"{SERIALIZE}:deserialize_pte_binary",
    "_serialize_pte_binary": f"{SERIALIZE}:serialize_pte_binary",
}

_TORCH_SERDE = {
    name: f"torch._export.serde.serialize:{name}"
    for name in (
        "_reconstruct_fake_tensor",
        "GraphModuleDeserializer",
        "GraphModuleSerializer",
        "serialize_torch_artifact",
    )
}

_CAPTURE = {name: f"rushlight.compat.capture:{name}" for name in ("CallSpec", "capture")}

_FORMER = {
    "ExirExportedProgram": "rushlight.compat.capture:EdgeProgram",
    "ExecutorchProgram": "rushlight.compat.capture:ExecutorchProgram",
}

_EMITTER = {"EmitterOutput": "rushlight.compat.emitter_output:EmitterOutput"}

MODULES: dict[str, Names] = {
    "executorch": Names(),
    "executorch.version": Names((_VERSION,), {"__version__": f"{_VERSION}:__version__"}),
    "executorch.exir": Names(
        _PROGRAM,
        {
            "Value": "typing:Any",
            **_CAPTURE,
            "ExirDynamoConfig": f"{_HELPERS}:ExirDynamoConfig",
            "edge_to_executorch_passes": f"{_LOWERING}:edge_to_executorch_passes",
            **_FORMER,
            "load": f"{_SAVED}:load",
            "save": f"{_SAVED}:save",
        },
    ),
    "executorch.exir.program": Names(
        (*_PROGRAM, _HELPERS, GRAPH_PASSES, _LOWERING, "rushlight.compat.fake_program"), _FORMER
    ),
    "executorch.exir.program._fake_program": Names(("rushlight.compat.fake_program",)),
    "executorch.exir.program._program": Names(
        (*_PROGRAM, _HELPERS, GRAPH_PASSES, _LOWERING),
        {
            **_FORMER,
            "_transform": f"{GRAPH_PASSES}:transform_exported_program",
            "_default_decomposition_table": f"{_DECOMPOSITIONS}:default_decomposition_table",
            "_remove_invalid_ops_for_not_decompose": f"{_DECOMPOSITIONS}:keepable_operators",
        },
    ),
    "executorch.exir._program_utils": Names((_HELPERS,)),
    "executorch.exir._warnings": Names((_HELPERS,)),
    "executorch.exir.common": Names((_HELPERS,)),
    "executorch.exir.debug_handle_utils": Names((_HELPERS,)),
    "executorch.exir.native": Names((f"{NATIVE}.lowering",)),
    "executorch.exir.native.native": Names(
        (f"{NATIVE}.lowering",),
        {
            "_check_delegate_contract": f"{NATIVE}.wrapper:check_delegate_contract",
            "_validate_merged_program": f"{NATIVE}.lowering:check_program",
        },
    ),
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
    "executorch.exir.types": Names(
        names={name: f"{_HELPERS}:{name}" for name in ("LeafValueSpec", "ScalarSpec", "ValueSpec")}
    ),
    "executorch.exir.tracer": Names(
        (_HELPERS,),
        {"_default_decomposition_table": f"{_DECOMPOSITIONS}:default_decomposition_table"},
    ),
    "executorch.exir.version": Names(
        names={
            "__version__": f"{_VERSION}:__version__",
            "EXECUTORCH_SCHEMA_VERSION": "rushlight.emit.program:SCHEMA_VERSION",
        }
    ),
    "executorch.exir._serialize": Names((SERIALIZE,), _PTE),
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
    "executorch.exir._serialize._serialize": Names((SERIALIZE,)),
    "executorch.exir._serialize._ptn": Names((f"{NATIVE}.package",)),
    "executorch.exir._serialize._named_data_store": Names(("rushlight.delegate.named_data",)),
    "executorch.exir._serialize._program": Names(
        (SERIALIZE,),
        {
            **_PTE,
            "_ExtendedHeader": "rushlight.compat.extended_header:ExtendedHeader",
            "_get_extended_header": "rushlight.compat.extended_header:get_extended_header",
            "_program_to_json": "rushlight.compat.extended_header:program_to_json",
        },
    ),
    "executorch.exir._serialize.data_serializer": Names((SERIALIZE,)),
    "executorch.exir._serialize.padding": Names((SERIALIZE,)),
    "executorch.exir.serde": Names(),
    "executorch.exir.serde.export_serialize": Names(
        (_SAVED,), {"_CURRENT_DESERIALIZER": f"{_SAVED}:CURRENT_DESERIALIZERS", **_TORCH_SERDE}
    ),
    "executorch.exir.serde.serialize": Names((_SAVED,)),
    "executorch.exir.dialects.backend": Names(),
    "executorch.exir.dialects.backend._ops": Names(
        ("rushlight.ir.edge_ops",), {"_BACKEND_OP_LIB": "rushlight.ir.edge_ops:BACKEND_LIBRARIES"}
    ),
    "executorch.exir.emit._emit_program": Names(("rushlight.emit.program",), _EMITTER),
    "executorch.exir.emit._emitter": Names(("rushlight.emit.program",)),
    "executorch.exir.backend.compile_spec": Names(names=_BACKEND),
    "executorch.exir.capture": Names(("rushlight.compiler.config",), _CAPTURE),
    "executorch.exir.capture._capture": Names(("rushlight.compat.capture",), _CAPTURE),
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
            "get_memory_format": f"{_HELPERS}:get_memory_format",
            "get_dim_order": f"{_HELPERS}:get_dim_order",
        },
    ),
    "executorch.exir.dynamic_shape": Names(
        names={"DynamicMemoryPlanningMode": PASSES["DynamicMemoryPlanningMode"]}
    ),
    "executorch.exir.emit": Names(("rushlight.emit.program",), _EMITTER),
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
        (
            "rushlight.memory.algorithms",
            "rushlight.compat.memory_checks",
            "rushlight.compat.shared_objects",
        ),
        {
            f"get_{kind}": f"{QUERIES}:get_{kind}"
            for kind in (
                "cond_nodes",
                "while_nodes",
                "map_nodes",
                "scan_nodes",
                "input_specs",
                "return_specs",
            )
        },
    ),
    "executorch.exir.banked_memory_planning": Names(("rushlight.compat.banked_memory_planning",)),
    "executorch.exir.pass_base": Names(
        ("rushlight.passes.export_pass", "rushlight.passes.program_pass", _HELPERS),
        {
            "PassType": "rushlight.passes.base:AnyPass",
            "EdgeOpOverload": "rushlight.ir.edge_ops:EdgeOpOverload",
            "PassResult": PASSES["PassResult"],
            "PassBase": PASSES["PassBase"],
        },
    ),
    "executorch.exir.pass_manager": Names(("rushlight.passes.pass_manager",)),
    "executorch.exir.print_program": Names(
        ("rushlight.ir.program_text", "rushlight.ir.text"),
        {"pretty_print_stacktraces": f"{_HELPERS}:pretty_print_stacktraces"},
    ),
    "executorch.exir.schema": Names(("rushlight.format.program",)),
    "executorch.exir.tensor": Names(
        ("rushlight.ir.spec", _HELPERS),
        {
            "ALIGNMENT": "rushlight.ir.spec:DEFAULT_ALIGNMENT",
            "determine_tensor_dynanism": "rushlight.ir.spec:shape_dynamism",
            "layout_enum": f"{QUERIES}:layout_enum",
            "memory_format_enum": f"{QUERIES}:memory_format_enum",
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
        (
            "rushlight.delegate.lowered",
            "rushlight.compat.submodules",
            "rushlight.compat.submodule_programs",
        )
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
    "executorch.exir.backend.test": Names(),
    "executorch.exir.backend.test.backend_with_compiler_demo": Names(
        names={name: f"{_DEMO}:{name}" for name in ("BackendWithCompilerDemo", "DemoOp")}
    ),
    "executorch.exir.backend.test.op_partitioner_demo": Names((_DEMO,)),
    "executorch.exir.backend.test.demos": Names(),
    "executorch.exir.backend.test.demos.rpc": Names(),
    "executorch.exir.backend.test.demos.rpc.executor_backend_partitioner": Names(
        names={
            "AnyDelegateSupport": f"{_DEMO}:AnyDelegateSupport",
            "AnyOperatorSupport": f"{_DEMO}:AllOperatorSupport",
            "ExecutorBackend": f"{_DEMO}:ExecutorBackend",
            "ExecutorBackendPartitioner": f"{_DEMO}:ExecutorBackendPartitioner",
        }
    ),
    "executorch.exir.backend.test.demos.rpc.executor_backend_preprocess": Names(
        names={"ExecutorBackend": f"{_DEMO}:ExecutorBackend"}
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
}
