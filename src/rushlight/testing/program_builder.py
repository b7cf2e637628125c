"""Builds exported programs operator by operator, for tests of passes over programs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

import torch
from torch._export.verifier import Verifier
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.utils._pytree import tree_flatten

from rushlight.compat.verification import EXIREdgeDialectVerifier
from rushlight.compiler import EdgeCompileConfig, EdgeProgramManager
from rushlight.passes.export_pass import ProxyValue
from rushlight.testing.graph_builder import GraphBuilder


class IrMode(Enum):
    """The dialect of a program."""

    EXIR = auto()
    ATEN = auto()


class ProgramBuilder(GraphBuilder):
    """Builds an exported program from calls. It can have parameters, buffers and constants.

    Args:
        mode: the dialect; None means the edge dialect.
        _core_aten_ops_exception_list: operators that the verifier also accepts.
        fake_tensor_mode: the mode of the fake tensors; None creates a mode.
    """

    def __init__(
        self,
        mode: IrMode | None = None,
        _core_aten_ops_exception_list: list[OpOverload] | None = None,
        fake_tensor_mode: FakeTensorMode | None = None,
    ) -> None:
        super().__init__(fake_tensor_mode)
        self.mode = mode or IrMode.EXIR
        self._core_aten_ops_exception_list = list(_core_aten_ops_exception_list or ())
        self.input_specs: list[InputSpec] = []
        self.output_specs: list[OutputSpec] = []
        self.constants: dict[str, torch.Tensor] = {}
        self.state_dict: dict[str, torch.Tensor] = {}

    def insert_input_spec(self, target: str, input_kind: InputKind, value: torch.Tensor) -> None:
        """Adds an input to the signature.

        Args:
            target: the name of the input, and of its tensor in the state.
            input_kind: the kind of the input.
            value: the tensor of a parameter, buffer or constant.
        """
        persistent = True if input_kind is InputKind.BUFFER else None
        argument = TensorArgument(target)
        self.input_specs.append(InputSpec(input_kind, argument, target=target, persistent=persistent))
        if input_kind is InputKind.PARAMETER and not isinstance(value, torch.nn.Parameter):
            value = torch.nn.Parameter(value, requires_grad=False)
        if input_kind in (InputKind.PARAMETER, InputKind.BUFFER):
            self.state_dict[target] = value
        elif input_kind is InputKind.CONSTANT_TENSOR:
            self.constants[target] = value

    def placeholder(  # type: ignore[override]
        self, target: str, fake_tensor: torch.Tensor, input_kind: InputKind = InputKind.USER_INPUT
    ) -> ProxyValue:
        """Adds an input.

        Args:
            target: the name of the input.
            fake_tensor: the tensor of a parameter, buffer or constant. For other kinds, a tensor with the
                dtype and shape of the input.
            input_kind: the kind of the input.
        """
        placeholder = super().placeholder(target, fake_tensor)
        self.insert_input_spec(target, input_kind, fake_tensor)
        return placeholder

    def output(  # type: ignore[override]
        self,
        results: Sequence[ProxyValue],
        output_kinds: Sequence[OutputKind] | None = None,
        output_targets: Sequence[str | None] | None = None,
    ) -> ProxyValue:
        """Adds the outputs. This must be the last call.

        Args:
            results: the values.
            output_kinds: the kind of each output; None means USER_OUTPUT for all.
            output_targets: the buffer, parameter or input to which each output is written, or None.
        """
        kinds = output_kinds or [OutputKind.USER_OUTPUT] * len(results)
        targets = output_targets or [None] * len(results)
        for result, kind, target in zip(results, kinds, targets, strict=True):
            self.output_specs.append(OutputSpec(kind, TensorArgument(result.node.name), target=target))
        return super().output(results)

    def get_verifiers(self) -> list[type[Verifier]] | None:
        """Returns the verifiers of the program; None means torch's verifiers."""
        if self.mode is IrMode.ATEN:
            return None
        exceptions = self._core_aten_ops_exception_list
        config = EdgeCompileConfig(_check_ir_validity=False, _core_aten_ops_exception_list=exceptions)
        return [
            EXIREdgeDialectVerifier(
                edge_compile_config=config, core_aten_ops_exception_list=exceptions, class_only=True
            )
        ]

    def get_program(self) -> ExportedProgram:
        """Returns the program."""
        module = self.get_graph_module()
        signature = ExportGraphSignature(self.input_specs, self.output_specs)
        in_spec = tree_flatten((tuple(signature.user_inputs), {}))[1]
        out_spec = tree_flatten(tuple(signature.user_outputs))[1]
        call = ModuleCallSignature(inputs=[], outputs=[], in_spec=in_spec, out_spec=out_spec)
        return ExportedProgram(
            root=module,
            graph=module.graph,
            graph_signature=signature,
            constants=dict(self.constants),
            state_dict=self.state_dict,
            range_constraints={},
            module_call_graph=[ModuleCallEntry("", call)],
            verifiers=self.get_verifiers(),
        )

    def get_edge_program(self) -> EdgeProgramManager:
        """Returns a manager with the program as its method `forward`."""
        return EdgeProgramManager(
            self.get_program(), core_aten_ops_exception_list=self._core_aten_ops_exception_list
        )
