"""The options of the compiler."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportGraphSignature

from rushlight.ir.program import DynamicShapes
from rushlight.ir.verifier import Options, stands_for_executorch
from rushlight.memory.hierarchy import Memory, check_memories
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.passes.base import AnyPass
from rushlight.passes.sym_shapes import ConstraintBasedSymShapeEvalPass
from rushlight.passes.to_out_var import ToOutVarPass
from rushlight.target.kernel_table import KernelTable, host_kernel_table


class DynamicMemoryPlanningMode(IntEnum):
    """How memory of tensors with dynamic shapes is planned. Only `UPPER_BOUND` is supported."""

    UPPER_BOUND = 0
    SYMBOLIC = 1


@dataclass
class PropagateDeviceConfig:
    """Which copies between host and device memory a program does not contain.

    Args:
        skip_h2d_for_method_inputs: do not copy inputs that only a delegate reads. The caller must pass them
            in memory of the delegate's device.
        skip_d2h_for_method_outputs: do not copy results of delegates that are method outputs. They remain in
            memory of the device.
    """

    skip_h2d_for_method_inputs: bool = False
    skip_d2h_for_method_outputs: bool = False


@dataclass
class CaptureConfig:
    """The options of an old export function of ExecuTorch. torch.export replaces this function.

    Args:
        pt2_mode, enable_functionalization, enable_aot: must be True, because torch.export exports
            programs, and parameters are always inputs of their graphs.
        enable_dynamic_shape: if True, `dynamic_shapes` must define the dynamic dimensions.
        _dynamo_config: must be None.
        _unlift, _use_old_decomp_table: must be False.
    """

    pt2_mode: bool = True
    enable_functionalization: bool = True
    enable_dynamic_shape: bool = False
    enable_aot: bool = True
    _dynamo_config: Any = None
    _unlift: bool = False
    _use_old_decomp_table: bool = False

    def check(self, dynamic_shapes: DynamicShapes) -> None:
        """Checks that torch.export supports the options.

        Args:
            dynamic_shapes: the dynamic dimensions, in the format of torch.export.

        Raises:
            ValueError: torch.export does not support an option.
        """
        if self.enable_dynamic_shape and dynamic_shapes is None:
            raise ValueError(
                "enable_dynamic_shape=True has no effect without dynamic dimensions: pass them as "
                "dynamic_shapes"
            )
        expected = {
            "pt2_mode": True,
            "enable_functionalization": True,
            "enable_aot": True,
            "_dynamo_config": None,
            "_unlift": False,
            "_use_old_decomp_table": False,
        }
        for name, required in expected.items():
            given = getattr(self, name)
            if given is not required:
                raise ValueError(
                    f"{name}={given!r} is not supported, because torch.export exports programs; use "
                    f"{name}={required}"
                )


@dataclass
class EdgeCompileConfig:
    """The options for the conversion to edge programs.

    Attributes:
        _check_ir_validity: verify the ATen dialect and the Edge dialect.
        _skip_dim_order: keep operators with memory format arguments.
        _core_aten_ops_exception_list: operators outside Core ATen that the verifier accepts.
        preserve_ops: operators that are not decomposed.
        core_aten_only: reject ATen operators outside Core ATen. If False, all operators are accepted for
            which the target has kernels.
    """

    _check_ir_validity: bool = True
    _skip_dim_order: bool = False
    _core_aten_ops_exception_list: list[OpOverload] = field(default_factory=list)
    preserve_ops: list[OpOverload] = field(default_factory=list)
    core_aten_only: bool = True

    def options(self, preserve: Sequence[object] = ()) -> Options:
        """Returns the verifier's options.

        Args:
            preserve: operators that are not decomposed, in addition to `preserve_ops`.

        Returns:
            The options for `rushlight.ir.verifier`.
        """
        return Options(
            dim_order=not self._skip_dim_order,
            exceptions=frozenset(self._core_aten_ops_exception_list or ()),
            preserve=frozenset([*self.preserve_ops, *preserve]),
            core_only=self.core_aten_only,
            dtypes=self._check_ir_validity,
        )


def _optimizes() -> bool:
    """The default of `optimize`."""
    return not stands_for_executorch()


@dataclass
class ExecutorchBackendConfig:
    """The options for lowering edge programs and writing the program file.

    Args:
        passes: passes that run over each graph before lowering.
        memory_planning_pass: the planner of all methods, or a dict of planners by method name.
        propagate_device_config: which copies to and from devices the program does not contain: one value for
            all methods, or a dict by method name.
        memories: the memories of the device (see `rushlight.memory.hierarchy.Memory`). The default planner
            selects the memory of each tensor.
        to_out_var_pass: the pass that converts operators to out variants with allocated results.
        dynamic_memory_planning_mode: the memory of tensors with dynamic shapes is planned for the upper
            bounds of their sizes.
        emit_stacktrace: write the lines of the model's source code to the program.
        extract_delegate_segments: write each delegate payload to a separate segment.
        segment_alignment, constant_tensor_alignment, delegate_alignment: alignments in bytes, powers of two.
        sym_shape_eval_pass: the pass that computes upper bounds of sizes: one pass for all methods, or a dict
            by method name.
        remove_view_copy: let views of row-major tensors share the memory of their base.
        external_constants: store constants in other files. True selects one file for all constants. A
            function returns the name of the file for the placeholder of a constant; None keeps the constant
            in the program.
        external_mutable_weights: store trainable weights in another file.
        emit_mutable_buffer_names: write the names of mutable buffers.
        do_quant_fusion_and_const_prop: the same as `optimize`.
        run_reinplace_pass: replace operators that update a part of a large tensor (`index_put`) by their
            in-place variants if no later node reads the old value. The default memory planner computes
            elementwise operators in place without this option.
        enable_non_cpu_memory_planning: plan arguments and results of delegates in memory of their device (the
            compile spec "target_device"), and insert copies between host and device. If False, all tensors
            are planned in host memory.
        reinplace_extra_ops: further edge operators for `run_reinplace_pass`.
        optimize: run optimizations, such as folding of constants and batch norm. The default is False after
            `install_as_executorch()`, because users of ExecuTorch count the operators of lowered graphs.
            do_quant_fusion_and_const_prop has the same effect.
        digest: write a SHA-256 digest to the file. A loader checks the digest on request.
        target: the kernels with which the program must run. The default is the kernels of this runtime. None
            means that kernels are not checked, for programs that only another runtime loads.
    """

    passes: list[AnyPass] = field(default_factory=list)
    memory_planning_pass: Any = field(default_factory=MemoryPlanningPass)
    propagate_device_config: Any = field(default_factory=PropagateDeviceConfig)
    to_out_var_pass: Any = field(default_factory=ToOutVarPass)
    dynamic_memory_planning_mode: DynamicMemoryPlanningMode = DynamicMemoryPlanningMode.UPPER_BOUND
    emit_stacktrace: bool = False
    extract_delegate_segments: bool = True
    segment_alignment: int = 128
    constant_tensor_alignment: int | None = None
    delegate_alignment: int | None = None
    sym_shape_eval_pass: Any = field(default_factory=ConstraintBasedSymShapeEvalPass)
    remove_view_copy: bool = True
    external_constants: bool | Callable[[torch.fx.Node], str | None] = False
    external_mutable_weights: bool = False
    emit_mutable_buffer_names: bool = False
    do_quant_fusion_and_const_prop: bool = False
    run_reinplace_pass: bool = False
    enable_non_cpu_memory_planning: bool = True
    reinplace_extra_ops: frozenset[object] | None = None
    optimize: bool = field(default_factory=_optimizes)
    digest: bool = False
    target: KernelTable | None = field(default_factory=host_kernel_table)
    memories: Sequence[Memory] = ()

    def has_kernel(self, operator: str, dtype: str) -> bool:
        """Returns whether the target has a kernel for an operator.

        Args:
            operator: the name of an out variant, such as "aten::add.out".
            dtype: the dtype of the first argument, such as "float32".
        """
        target = self.target
        return target is not None and operator in target and target.mismatch(operator, [(0, dtype)]) is None

    def planner_of(self, method: str) -> Any:
        """Returns the memory planner of a method.

        Args:
            method: the name of the method.

        Returns:
            The planner from `memory_planning_pass`, or a default planner if the dict has no entry for the
            method. If other options of this configuration change the planner, it is a copy.
        """
        planner = for_method(self.memory_planning_pass, method, MemoryPlanningPass)
        wanted: dict[str, object] = {}
        if self.memories:
            wanted["memories"] = check_memories(self.memories)
        if hasattr(planner, "enable_non_cpu_memory_planning"):
            wanted["enable_non_cpu_memory_planning"] = self.enable_non_cpu_memory_planning
        changed = {name: value for name, value in wanted.items() if getattr(planner, name, None) != value}
        if changed:
            # The planner belongs to the user and must not change. A shallow copy appends to the same reports.
            planner = copy.copy(planner)
            vars(planner).update(changed)
        return planner

    def may_optimize(self, signature: ExportGraphSignature) -> bool:
        """Returns whether optimizations such as folding of constants may run.

        They must not run if constants are in other files, because their names must remain, and not in
        training graphs.

        Args:
            signature: the signature of the edge program of a method.

        Returns:
            True if `optimize` or `do_quant_fusion_and_const_prop` is set, constants are in the program, and
            the graph is not a training graph.

        Raises:
            ValueError: `do_quant_fusion_and_const_prop` is set for a training graph.
        """
        if self.do_quant_fusion_and_const_prop and signature.backward_signature is not None:
            raise ValueError(
                "do_quant_fusion_and_const_prop would change the weights of a joint graph for training; use "
                "do_quant_fusion_and_const_prop=False"
            )
        wanted = self.optimize or self.do_quant_fusion_and_const_prop
        return wanted and signature.backward_signature is None and not self.external_constants

    def check(self) -> None:
        """Checks the options.

        Raises:
            ValueError: an option is not supported or would have no effect.
        """
        if self.dynamic_memory_planning_mode is not DynamicMemoryPlanningMode.UPPER_BOUND:
            raise ValueError(
                f"dynamic_memory_planning_mode={self.dynamic_memory_planning_mode!r} is not supported: the "
                "memory of tensors with dynamic shapes is planned for their upper bounds (UPPER_BOUND)"
            )
        planners = self.memory_planning_pass
        if self.memories and not all(
            isinstance(planner, MemoryPlanningPass) and planner.memory_planning_algo is None
            for planner in (planners.values() if isinstance(planners, dict) else (planners,))
        ):
            raise ValueError(
                "memories has no effect with this memory planner: only the default planner selects memories; "
                "set only one of memory_planning_pass and memories"
            )
        check_memories(self.memories)


def for_method(choice: object, method: str, default: Callable[[], object]) -> Any:
    """Returns the value of an option for a method.

    Args:
        choice: one value for all methods, or a dict of values by method name.
        method: the name of the method.
        default: creates the value for a method that the dict does not contain.

    Returns:
        The value for the method.
    """
    if isinstance(choice, dict):
        return choice[method] if method in choice else default()
    return choice
