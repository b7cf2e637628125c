"""The options of the compiler."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
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


class DynamicMemoryPlanningMode(Enum):
    """How memory of tensors with dynamic shapes is planned; the only mode is their upper bounds."""

    UPPER_BOUND = 0


@dataclass
class PropagateDeviceConfig:
    """The copies between host and device memory that a program leaves out.

    Args:
        skip_h2d_for_method_inputs: the caller passes inputs that only a delegate reads in memory of its
            device.
        skip_d2h_for_method_outputs: delegate results that are method outputs stay on the device.
    """

    skip_h2d_for_method_inputs: bool = False
    skip_d2h_for_method_outputs: bool = False


@dataclass
class CaptureConfig:
    """Options of an old capture front end of ExecuTorch, which torch.export replaces.

    Args:
        pt2_mode, enable_functionalization: must be True, because torch.export captures programs.
        enable_dynamic_shape: if True, `dynamic_shapes` must say which dimensions are dynamic.
        enable_aot: parameters become inputs of the graph. They always do.
        _dynamo_config: must be None.
        _unlift, _use_old_decomp_table: must be False.
    """

    pt2_mode: bool = True
    enable_functionalization: bool = True
    enable_dynamic_shape: bool = False
    enable_aot: bool = False
    _dynamo_config: Any = None
    _unlift: bool = False
    _use_old_decomp_table: bool = False

    def check(self, dynamic_shapes: DynamicShapes) -> None:
        """Checks that a capture by torch.export fulfils the options.

        Args:
            dynamic_shapes: the dynamic dimensions, in the format of torch.export.

        Raises:
            ValueError: torch.export cannot fulfil an option.
        """
        if not isinstance(self.enable_aot, bool):
            raise ValueError(f"enable_aot={self.enable_aot!r} is no bool")
        if self.enable_dynamic_shape and dynamic_shapes is None:
            raise ValueError(
                "enable_dynamic_shape=True has no effect by itself: give the dynamic dimensions as "
                "dynamic_shapes"
            )
        expected = {
            "pt2_mode": True,
            "enable_functionalization": True,
            "_dynamo_config": None,
            "_unlift": False,
            "_use_old_decomp_table": False,
        }
        for name, only in expected.items():
            given = getattr(self, name)
            if given is not only:
                raise ValueError(
                    f"{name}={given!r} has no effect: torch.export captures programs; leave it {only}"
                )


@dataclass
class EdgeCompileConfig:
    """The options for making edge programs.

    Attributes:
        _check_ir_validity: verify the ATen and Edge dialects.
        _skip_dim_order: keep operators with memory format arguments.
        _core_aten_ops_exception_list: operators outside Core ATen to accept.
        preserve_ops: operators that are not decomposed.
        core_aten_only: refuse all other ATen operators; if False, only the target's kernel table decides.
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
        )


def _optimizes() -> bool:
    """Whether constants and batch norm are folded by default."""
    return not stands_for_executorch()


@dataclass
class ExecutorchBackendConfig:
    """The options for lowering edge programs and writing the program file.

    Args:
        passes: passes that run over each graph before lowering.
        memory_planning_pass: the planner of all methods, or a dict of planners by method name.
        propagate_device_config: which copies to and from devices are left out; one value for all methods, or
            a dict by method name.
        memories: the memories of the device, see `rushlight.memory.hierarchy.Memory`; the default planner
            chooses the memory of each tensor.
        to_out_var_pass: the pass that gives operators allocations for their results.
        dynamic_memory_planning_mode: tensors of dynamic shape are planned at their upper bounds.
        emit_stacktrace: write the source lines of the user's Python into the program.
        extract_delegate_segments: write each delegate payload to a separate segment.
        segment_alignment, constant_tensor_alignment, delegate_alignment: bytes, powers of two.
        sym_shape_eval_pass: the pass that finds upper bounds; one pass for all methods, or a dict by method
            name.
        remove_view_copy: views of row-major tensors share the memory of their base.
        external_constants: True, or a function from a constant's placeholder to the name of its file (None
            keeps the constant in the program).
        external_mutable_weights: trained weights stay outside the program.
        emit_mutable_buffer_names: write the names of mutable buffers.
        do_quant_fusion_and_const_prop: the same as `optimize`.
        run_reinplace_pass: replace operators that update a part of a large tensor (`index_put`) by their
            in-place operators where no later node reads the old value. The default memory planner computes
            elementwise operators in place without this option.
        enable_non_cpu_memory_planning: delegates with a device (the compile spec "target_device") get
            arguments and results in memory of the device, with copies between host and device. If False, all
            tensors are planned in host memory.
        reinplace_extra_ops: further edge operators for `run_reinplace_pass`.
        optimize: fold constants and batch norm. It is off by default after `install_as_executorch()`, because
            users of ExecuTorch count the operators of lowered graphs; do_quant_fusion_and_const_prop turns it
            on.
        digest: write a SHA-256 digest into the file; a loader verifies it on request.
        target: the kernel table on which the program must run, by default the table of this package's
            runtime. None checks no kernels, which is right for programs that only another runtime loads.
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
            dtype: the dtype of the operator's first argument, such as "float32".
        """
        target = self.target
        return target is not None and operator in target and target.mismatch(operator, [(0, dtype)]) is None

    def planner_of(self, method: str) -> Any:
        """Returns the memory planner of a method.

        Args:
            method: the name of the method.

        Returns:
            The planner of `memory_planning_pass`, or a default planner if a dict has none for the method. It
            is a copy if other options of this configuration change it.
        """
        planner = for_method(self.memory_planning_pass, method, MemoryPlanningPass)
        wanted: dict[str, object] = {}
        if self.memories:
            wanted["memories"] = check_memories(self.memories)
        if hasattr(planner, "enable_non_cpu_memory_planning"):
            wanted["enable_non_cpu_memory_planning"] = self.enable_non_cpu_memory_planning
        changed = {name: value for name, value in wanted.items() if getattr(planner, name, None) != value}
        if changed:
            # The planner belongs to the user; the shallow copy appends to the same reports.
            planner = copy.copy(planner)
            vars(planner).update(changed)
        return planner

    def may_optimize(self, signature: ExportGraphSignature) -> bool:
        """Returns whether constants may be folded: not if their names are a contract, nor in training graphs.

        Args:
            signature: the signature of the edge program of a method.

        Returns:
            True if `optimize` or `do_quant_fusion_and_const_prop` is set, constants are stored inside the
            program, and the graph is no training graph.

        Raises:
            ValueError: `do_quant_fusion_and_const_prop` is set for a training graph.
        """
        if self.do_quant_fusion_and_const_prop and signature.backward_signature is not None:
            raise ValueError(
                "do_quant_fusion_and_const_prop would change the weights of a joint graph, which is for "
                "training; leave it False"
            )
        wanted = self.optimize or self.do_quant_fusion_and_const_prop
        return wanted and signature.backward_signature is None and not self.external_constants

    def check(self) -> None:
        """Checks that every option has an effect.

        Raises:
            ValueError: an option would have no effect.
        """
        if self.dynamic_memory_planning_mode is not DynamicMemoryPlanningMode.UPPER_BOUND:
            raise ValueError(
                f"dynamic_memory_planning_mode={self.dynamic_memory_planning_mode!r} is not supported: "
                "tensors of dynamic shape are planned at their upper bounds (UPPER_BOUND)"
            )
        planners = self.memory_planning_pass
        if self.memories and not all(
            isinstance(planner, MemoryPlanningPass) and planner.memory_planning_algo is None
            for planner in (planners.values() if isinstance(planners, dict) else (planners,))
        ):
            raise ValueError(
                "memories has no effect with this memory planner: only the default one chooses memories; "
                "leave memory_planning_pass as it is or memories empty"
            )
        check_memories(self.memories)


def for_method(choice: object, method: str, default: Callable[[], object]) -> Any:
    """Returns the value of an option for a method.

    Args:
        choice: one value for all methods, or a dict of values by method name.
        method: the name of the method.
        default: makes the value of a method that the dict does not contain.

    Returns:
        The value for the method.
    """
    if isinstance(choice, dict):
        return choice[method] if method in choice else default()
    return choice
