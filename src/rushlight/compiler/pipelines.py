"""The stages of the compilation of a method, from the exported program to the planned program.

The functions of this module run in the order of their definitions. `EdgeProgramManager.to_backend` lowers
partitions to backends between `core_to_edge` and `edge_to_planned`. The last stage, `planned_to_program`,
writes all planned methods to one program. `compiler/edge.py` and `compiler/executorch.py` call these
functions. They do not change programs in other ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch.export import ExportedProgram
from torch.fx import GraphModule

from rushlight.compiler.config import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    PropagateDeviceConfig,
    for_method,
)
from rushlight.compiler.plan_memory import (
    PlanMemoryPass,
    caller_owns_memory,
    caller_owns_outputs,
    state_is_planned,
)
from rushlight.compiler.preserve import CoreProgram
from rushlight.delegate.partitioner import Partitioner
from rushlight.emit.program import EmitterOutput, emit_program
from rushlight.emit.state import EmitOptions
from rushlight.frontend.affine import LowerQuantizedTensorsPass, uses_quantized_tensors
from rushlight.frontend.decompose import read_facts
from rushlight.frontend.edge import ToEdgeDialectPass
from rushlight.frontend.export import RemoveUnusedParametersPass
from rushlight.ir.facts import MethodProgram, facts_of
from rushlight.ir.fake import complete_values
from rushlight.ir.program import copy_program
from rushlight.ir.progress import working
from rushlight.ir.verifier import ATEN, EDGE, Options, edge_verifier, stands_for_executorch, verify
from rushlight.memory.frees import FreeUnboundedPass
from rushlight.memory.write_back import WriteBackMutationsPass
from rushlight.passes.apply_cache_updates import ApplyCacheUpdatesPass, updates_caches
from rushlight.passes.assign_debug_handles import AssignDebugHandlesPass
from rushlight.passes.base import AnyPass, graph_modules
from rushlight.passes.call_mutating_ops import CallMutatingOpsPass
from rushlight.passes.complex_numbers import ComplexNumbersPass
from rushlight.passes.fold_batch_norm import FoldBatchNormPass
from rushlight.passes.fold_constants import FoldConstantsPass
from rushlight.passes.fold_quantize_pairs import FoldQuantizePairsPass
from rushlight.passes.functional_views import FunctionalViewsPass
from rushlight.passes.fuse_quantized import FuseQuantizedPass
from rushlight.passes.legalize_dim_order import LegalizeDimOrderPass
from rushlight.passes.memory_views import NormalizeViewBasesPass, UseMemoryViewsPass
from rushlight.passes.merge_branches import MergeBranchesPass
from rushlight.passes.move_constants_to_files import MoveConstantsToFilesPass, default_file
from rushlight.passes.order_states import OrderStatesPass
from rushlight.passes.promote_dtypes import PromoteDtypesPass
from rushlight.passes.propagate_device import PropagateDevicePass
from rushlight.passes.prune_empty_cat import PruneEmptyCatPass
from rushlight.passes.rebase_strided_views import RebaseStridedViewsPass
from rushlight.passes.reinplace import ReinplacePass
from rushlight.passes.remove_asserts import METADATA_ASSERTS, RemoveAssertsPass
from rushlight.passes.remove_copies import RemoveCopiesPass
from rushlight.passes.remove_dead_code import RemoveDeadCodePass
from rushlight.passes.remove_noops import (
    RemoveNoopConversionsPass,
    RemoveNoopCopiesPass,
    RemoveNoopSlicesPass,
    SqueezeStaticDimsPass,
)
from rushlight.passes.runner import run_passes
from rushlight.passes.scalar_to_tensor import ScalarToTensorPass
from rushlight.passes.settle_body_layouts import SettleBodyLayoutsPass
from rushlight.passes.simplify_permutes import SimplifyPermutesPass
from rushlight.passes.spec_prop import AllocationSpecPropPass, MarkConstantsPass, SpecPropPass
from rushlight.passes.sym_shapes import ConstraintBasedSymShapeEvalPass
from rushlight.passes.sym_to_tensor import SymToTensorPass
from rushlight.passes.use_prim_ops import UsePrimOpsPass
from rushlight.passes.weights_to_outputs import WeightsToOutputsPass
from rushlight.passes.widen_selections import WidenSelectionsPass


def exported_to_plain(program: ExportedProgram, shared_state: Mapping[str, str]) -> ExportedProgram:
    """Converts tensor subclasses of an exported program to plain tensors, and records shared state.

    Args:
        program: the result of torch.export.
        shared_state: for the qualified name of a buffer, the name of the state that the buffer shares with
            other methods.
    """
    if shared_state:  # so that no partitioner treats such a buffer as a constant
        program = copy_program(program, read_facts(program, shared_state))
    if updates_caches(program.graph_module):
        program = run_passes(program, [ApplyCacheUpdatesPass()]).exported_program
    if uses_quantized_tensors(program):
        program = run_passes(program, [LowerQuantizedTensorsPass()]).exported_program
    return program


def plain_to_core(
    program: ExportedProgram, config: EdgeCompileConfig, partitioners: Sequence[Partitioner] = ()
) -> CoreProgram:
    """Decomposes a program to Core ATen, except operators that the user or a partitioner preserves.

    Partitioners may transform the program before the decomposition.

    Args:
        program: a program of plain tensors.
        config: contains the operators that the user preserves.
        partitioners: the partitioners in the order of their use.
    """
    with working("decompose operators"):
        return CoreProgram(program, partitioners, config.preserve_ops)


def core_to_edge(
    core: MethodProgram, config: EdgeCompileConfig, preserve: Sequence[object] = ()
) -> MethodProgram:
    """Converts a Core ATen program to the Edge dialect. The Core ATen program must not be used afterwards.

    Args:
        core: the program.
        config: the options of the dialect.
        preserve: operators that partitioners preserve.

    Raises:
        ExportError: the program has operators outside Core ATen.
    """
    options = config.options(preserve)
    # No pass causes operators outside Core ATen. The manager checks for them later.
    rules = replace(options, core_only=False)
    core = _run(
        core,
        ATEN,
        rules,
        [
            *([OrderStatesPass()] if stands_for_executorch() else []),
            RemoveUnusedParametersPass(),
            RemoveAssertsPass(METADATA_ASSERTS),
            WidenSelectionsPass(),
            RebaseStridedViewsPass(),
            FunctionalViewsPass(),
            SettleBodyLayoutsPass(),
            ComplexNumbersPass(),
            ScalarToTensorPass(),
            SymToTensorPass(),
            RemoveNoopSlicesPass(),
            SqueezeStaticDimsPass(),
            PruneEmptyCatPass(),
            RemoveNoopConversionsPass(),
            # The plans of CpuBackend update a buffer in place where it is copied to.
            *([RemoveNoopCopiesPass()] if stands_for_executorch() else []),
            FoldQuantizePairsPass(),
            PromoteDtypesPass(),
            RemoveDeadCodePass(),
        ],
    )
    to_edge = ToEdgeDialectPass(options.dim_order, edge_verifier(options, enabled=False))
    edge = _run(core, EDGE, rules, [to_edge, RemoveDeadCodePass(), AssignDebugHandlesPass()])
    edge._verifiers = [edge_verifier(options, enabled=config._check_ir_validity)]
    return edge


def edge_to_planned(
    program: ExportedProgram,
    config: ExecutorchBackendConfig,
    method: str,
    dim_order: bool,
    shared_state: Mapping[str, str],
) -> MethodProgram:
    """Lowers an edge program to out variants with a memory plan. The edge program is not changed.

    Args:
        program: the edge program. It may call lowered modules.
        config: the options.
        method: the name of the method.
        dim_order: whether the program uses the operators of the dim order dialect.
        shared_state: for the qualified name of a buffer, the name of the state that the buffer shares with
            other methods.
    """
    facts = replace(facts_of(program), shared_state=dict(shared_state))
    planned = copy_program(program, facts)
    for module in graph_modules(planned.graph_module):  # users may have changed graphs in place
        complete_values(module)
    planner = config.planner_of(method)
    shapes = for_method(config.sym_shape_eval_pass, method, ConstraintBasedSymShapeEvalPass)
    optimizations: list[AnyPass] = [
        SimplifyPermutesPass(),
        FuseQuantizedPass(config.has_kernel),
        MergeBranchesPass(),
        FoldBatchNormPass(),
        RemoveCopiesPass(),
        FoldConstantsPass(),
    ]
    reinplaces = config.run_reinplace_pass or bool(config.reinplace_extra_ops)
    file_of = default_file if config.external_constants is True else config.external_constants or None
    return _run(
        planned,
        None,
        None,
        [
            *(optimizations if config.may_optimize(program.graph_signature) else []),
            *([ReinplacePass(config.reinplace_extra_ops or ())] if reinplaces else []),
            WeightsToOutputsPass(),
            *config.passes,
            CallMutatingOpsPass(),
            *([LegalizeDimOrderPass()] if dim_order else []),
            SpecPropPass(),
            MarkConstantsPass(),
            device_pass(config, method),
            UsePrimOpsPass(),
            RemoveAssertsPass(),
            *view_passes(config, method),
            shapes,
            config.to_out_var_pass,
            AllocationSpecPropPass(),
            MoveConstantsToFilesPass(file_of, config.external_mutable_weights),
            WriteBackMutationsPass(
                in_place=state_is_planned(planner), copy_views=caller_owns_outputs(planner)
            ),
            FreeUnboundedPass(),
            PlanMemoryPass(planner),
        ],
    )


def device_pass(config: ExecutorchBackendConfig, method: str) -> PropagateDevicePass:
    """Returns the pass that inserts copies between devices, with the options of a method."""
    device = for_method(config.propagate_device_config, method, PropagateDeviceConfig)
    return PropagateDevicePass(
        device.skip_h2d_for_method_inputs,
        device.skip_d2h_for_method_outputs,
        config.enable_non_cpu_memory_planning,
    )


def view_passes(config: ExecutorchBackendConfig, method: str) -> list[AnyPass]:
    """Returns the passes that replace copies by views, or none if the options of the method exclude views."""
    if not config.remove_view_copy:
        return []
    views = UseMemoryViewsPass(copies_arguments=caller_owns_memory(config.planner_of(method)))
    return [NormalizeViewBasesPass(), RemoveDeadCodePass(), views]


def planned_to_program(
    programs: Mapping[str, ExportedProgram],
    config: ExecutorchBackendConfig,
    constant_methods: Mapping[str, object] | None,
) -> EmitterOutput:
    """Emits planned programs as the methods of one program in memory. The planned programs are not changed.

    Args:
        programs: the planned programs by method name.
        config: the options.
        constant_methods: the values of constant methods, by name.

    Raises:
        EmitError: an instruction or a value cannot be written, or the target does not have a kernel.
    """
    options = EmitOptions(
        stack_traces=config.emit_stacktrace,
        target=config.target,
        state_names=config.emit_mutable_buffer_names,
    )
    with working("write the program"):
        return emit_program(programs, prim_getters=constant_methods, options=options)


def _run(
    program: MethodProgram, dialect: str | None, options: Options | None, passes: Sequence[AnyPass]
) -> MethodProgram:
    """Runs passes on a program that nothing else uses. The passes may change it."""

    def check(module: GraphModule) -> None:
        if dialect is not None:
            verify(module, dialect, options)

    result = run_passes(program, passes, verify=check, owned=True).exported_program
    assert isinstance(result, MethodProgram)
    return result
