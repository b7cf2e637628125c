"""The stages that convert a module to the bytes of a program. Each stage is an object with a result.

`rushlight.testing.Tester` runs the stages in order. The stages of a backend derive from these classes, and
set their own defaults.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import torch
from torch._export.pass_base import PassType
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.utils._pytree import tree_flatten
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import Quantizer
from typing_extensions import override

from rushlight.compiler import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)
from rushlight.delegate.partitioner import Partitioner
from rushlight.delegate.validation import validation_disabled
from rushlight.ir.program_text import pretty_print, print_program
from rushlight.passes.sym_shapes import ConstraintBasedSymShapeEvalPass
from rushlight.passes.transform import transform_program
from rushlight.quantize.dynamic_chains import DuplicateDynamicQuantChainPass
from rushlight.runtime.portable_lib import Verification, _load_for_executorch_from_buffer

Inputs = Sequence[Any]
"""The positional inputs of a model: tensors, numbers, or nested containers (pytrees) of these."""


class StageType(Enum):
    """The kinds of stages, in the order of a pipeline."""

    QUANTIZE = 0
    EXPORT = 1
    RUN_PASSES = 2
    TO_EDGE = 3
    TO_EDGE_TRANSFORM_AND_LOWER = 4
    PARTITION = 5
    TO_EXECUTORCH = 6
    SERIALIZE = 7
    INITIAL_MODEL = 8


class Stage(ABC):
    """One step of a pipeline."""

    @abstractmethod
    def stage_type(self) -> StageType:
        """Returns the kind of the stage."""

    @abstractmethod
    def run(self, artifact: Any, inputs: Inputs | None = None) -> None:
        """Creates the artifact of this stage.

        Args:
            artifact: the artifact of the previous stage, or the module.
            inputs: example inputs, for stages that export or calibrate.
        """

    @property
    @abstractmethod
    def artifact(self) -> Any:
        """The artifact of the stage. It is the input of the next stage."""

    @property
    @abstractmethod
    def graph_module(self) -> Any:
        """The graph module of the artifact."""

    def run_artifact(self, inputs: Inputs) -> Any:
        """Runs the artifact in Python and returns its results."""
        artifact = self.artifact
        if isinstance(artifact, ExportedProgram):
            return artifact.module()(*inputs)
        return artifact.exported_program().module()(*inputs)

    def artifact_str(self) -> object:
        """Returns the text that `dump_artifact` prints."""
        artifact = self.artifact
        return artifact.exported_program() if isinstance(artifact, EdgeProgramManager) else artifact

    def stage_banner(self) -> str:
        """Returns the header line of a printed artifact. It contains the name of the stage."""
        return f"{'#' * 36} {type(self).__name__} {'#' * 36}\n"

    def dump_artifact(self, path_to_dump: str | None) -> None:
        """Appends the artifact as text to a file.

        Args:
            path_to_dump: the file; None means standard output.
        """
        text = f"{self.stage_banner()}\n{self.artifact_str()}\n"
        if path_to_dump:
            with open(path_to_dump, "a") as file:
                file.write(text)
        else:
            print(text)


class Quantize(Stage):
    """Quantizes a module with a pt2e quantizer, and calibrates it on the example inputs.

    Args:
        quantizer: the quantizer.
        quantization_config: the configuration for all operators; None keeps the configurations of the
            quantizer.
        calibrate: run the prepared module, so that its observers see values.
        calibration_samples: the inputs of these runs; None means the example inputs.
        is_qat: prepare for quantization-aware training instead.
        set_global: call `quantizer.set_global` with the configuration.
        fold_quantize: store quantized weights instead of quantizing them at run time.
    """

    def __init__(
        self,
        quantizer: Quantizer | None = None,
        quantization_config: Any = None,
        calibrate: bool = True,
        calibration_samples: Sequence[Inputs] | None = None,
        is_qat: bool | None = False,
        set_global: bool = True,
        fold_quantize: bool = True,
    ) -> None:
        self.quantizer: Any = quantizer
        self.quantization_config = quantization_config
        self.calibrate = calibrate
        self.calibration_samples = calibration_samples
        self.is_qat = is_qat
        self.fold_quantize = fold_quantize
        self.converted_graph: GraphModule | None = None
        if quantization_config is not None and set_global:
            if quantizer is None:
                raise ValueError("a quantization configuration needs a quantizer")
            quantizer.set_global(quantization_config)

    @override
    def stage_type(self) -> StageType:
        return StageType.QUANTIZE

    @override
    def run(self, artifact: torch.nn.Module, inputs: Inputs | None = None) -> None:
        if inputs is None:
            raise ValueError("the Quantize stage needs example inputs")
        if self.is_qat:
            artifact.train()
        exported = torch.export.export(artifact, tuple(inputs), strict=True)
        # Guards for sizes in the graph would prevent the later export with dynamic sizes.
        captured = exported.module(check_guards=False)
        prepare = prepare_qat_pt2e if self.is_qat else prepare_pt2e
        prepared = prepare(captured, self.quantizer)
        if self.calibrate:
            samples = self.calibration_samples if self.calibration_samples is not None else [inputs]
            for sample in samples:
                prepared(*sample)
        converted = convert_pt2e(prepared, fold_quantize=self.fold_quantize)
        result = DuplicateDynamicQuantChainPass()(converted)
        assert result is not None
        self.converted_graph = result.graph_module

    @property
    @override
    def artifact(self) -> GraphModule | None:
        return self.converted_graph

    @property
    @override
    def graph_module(self) -> GraphModule | None:
        return self.converted_graph

    @override
    def run_artifact(self, inputs: Inputs) -> Any:
        assert self.converted_graph is not None
        return self.converted_graph(*inputs)


class Quantize_(Stage):
    """Quantizes the weights of a module in place with `torchao.quantization.quantize_`.

    Args:
        config: torchao's configuration.
        filter_fn: returns for a module and its name whether to quantize it; None means linear layers.
    """

    def __init__(self, config: Any, filter_fn: Callable[[torch.nn.Module, str], bool] | None = None) -> None:
        self.config = config
        self.filter_fn = filter_fn
        self.quantized_module: torch.nn.Module | None = None

    @override
    def stage_type(self) -> StageType:
        return StageType.QUANTIZE

    @override
    def run(self, artifact: torch.nn.Module, inputs: Inputs | None = None) -> None:
        from torchao.quantization.quant_api import quantize_
        from torchao.utils import unwrap_tensor_subclass

        quantize_(artifact, self.config, self.filter_fn)
        unwrap_tensor_subclass(artifact)
        self.quantized_module = artifact

    @property
    @override
    def artifact(self) -> torch.nn.Module | None:
        return self.quantized_module

    @property
    @override
    def graph_module(self) -> torch.nn.Module | None:
        return self.quantized_module

    @override
    def run_artifact(self, inputs: Inputs) -> Any:
        assert self.quantized_module is not None
        return self.quantized_module(*inputs)


class Export(Stage):
    """Exports a module with torch.export.

    Args:
        dynamic_shapes: the dynamic dimensions, in the format of torch.export.
    """

    def __init__(self, dynamic_shapes: Any = None) -> None:
        self.dynamic_shapes = dynamic_shapes
        self.exported_program: ExportedProgram | None = None

    @override
    def stage_type(self) -> StageType:
        return StageType.EXPORT

    @override
    def run(self, artifact: torch.nn.Module, inputs: Inputs | None = None) -> None:
        self.exported_program = torch.export.export(
            artifact, tuple(inputs or ()), dynamic_shapes=self.dynamic_shapes, strict=True
        )

    @property
    @override
    def artifact(self) -> ExportedProgram:
        assert self.exported_program is not None
        return self.exported_program

    @property
    @override
    def graph_module(self) -> GraphModule:
        module: GraphModule = self.artifact.graph_module
        return module


class _EdgeStage(Stage):
    """A stage whose artifact is a manager of edge programs."""

    edge_dialect_program: EdgeProgramManager | None = None

    @property
    @override
    def artifact(self) -> EdgeProgramManager:
        assert self.edge_dialect_program is not None
        return self.edge_dialect_program

    @property
    @override
    def graph_module(self) -> GraphModule:
        module: GraphModule = self.artifact.exported_program().graph_module
        return module


class ToEdge(_EdgeStage):
    """Converts an exported program to an edge program.

    Args:
        edge_compile_config: options of the conversion; None means the defaults.
    """

    def __init__(self, edge_compile_config: EdgeCompileConfig | None = None) -> None:
        self.edge_compile_conf = edge_compile_config or EdgeCompileConfig()

    @override
    def stage_type(self) -> StageType:
        return StageType.TO_EDGE

    @override
    def run(self, artifact: ExportedProgram, inputs: Inputs | None = None) -> None:
        self.edge_dialect_program = to_edge(artifact, compile_config=self.edge_compile_conf)


class Partition(_EdgeStage):
    """Lowers partitions of an edge program to a backend.

    Args:
        partitioner: selects the partitions.
    """

    def __init__(self, partitioner: Partitioner) -> None:
        self.partitioner = partitioner

    @override
    def stage_type(self) -> StageType:
        return StageType.PARTITION

    @override
    def run(self, artifact: EdgeProgramManager, inputs: Inputs | None = None) -> None:
        with validation_disabled():
            self.edge_dialect_program = artifact.to_backend(self.partitioner)

    @property
    def delegate_module(self) -> EdgeProgramManager | None:
        """The artifact, with the name from ExecuTorch."""
        return self.edge_dialect_program


class ToEdgeTransformAndLower(_EdgeStage):
    """Converts an exported program to an edge program, and lowers partitions of it to backends.

    Args:
        default_partitioner_cls: creates the partitioner if no `partitioners` are given.
        partitioners: the partitioners in order.
        edge_compile_config: options of the conversion; None means the defaults without verification of the
            dialect.
    """

    def __init__(
        self,
        default_partitioner_cls: Callable[[], Partitioner] | None = None,
        partitioners: Sequence[Partitioner] | None = None,
        edge_compile_config: EdgeCompileConfig | None = None,
    ) -> None:
        default = [default_partitioner_cls()] if default_partitioner_cls and not partitioners else []
        self.partitioners: list[Partitioner] = list(partitioners or default)
        self.edge_compile_conf = edge_compile_config or EdgeCompileConfig(_check_ir_validity=False)

    @override
    def stage_type(self) -> StageType:
        return StageType.TO_EDGE_TRANSFORM_AND_LOWER

    @override
    def run(
        self, artifact: ExportedProgram, inputs: Inputs | None = None, generate_etrecord: bool = False
    ) -> None:
        self.edge_dialect_program = to_edge_transform_and_lower(
            artifact,
            partitioner=self.partitioners,
            compile_config=self.edge_compile_conf,
            generate_etrecord=generate_etrecord,
        )


class RunPasses(Stage):
    """Runs passes over an edge program or an exported program.

    Args:
        pass_manager_cls: for edge programs. It is called with a program and classes of passes, and returns an
            object whose method `transform()` returns the transformed program.
        pass_list: the classes of the passes.
        pass_functions: functions that are called after the passes, with a program, and return a program.
    """

    def __init__(
        self,
        pass_manager_cls: Callable[..., Any],
        pass_list: Sequence[Callable[[], PassType]] | None = None,
        pass_functions: Sequence[Callable[[ExportedProgram], ExportedProgram]] | None = None,
    ) -> None:
        self.pass_manager_cls = pass_manager_cls
        self.pass_list = pass_list
        self.pass_functions = pass_functions
        self.edge_or_aten_program: EdgeProgramManager | ExportedProgram | None = None

    @override
    def stage_type(self) -> StageType:
        return StageType.RUN_PASSES

    @override
    def run(self, artifact: EdgeProgramManager | ExportedProgram, inputs: Inputs | None = None) -> None:
        is_edge = isinstance(artifact, EdgeProgramManager)
        program = artifact.exported_program() if isinstance(artifact, EdgeProgramManager) else artifact
        if self.pass_list and is_edge:
            program = self.pass_manager_cls(program, self.pass_list).transform()
        elif self.pass_list:
            program = transform_program(program, [make() for make in self.pass_list])
        for function in self.pass_functions or ():
            program = function(program)
        if isinstance(artifact, EdgeProgramManager):
            artifact._edge_programs["forward"] = program
            self.edge_or_aten_program = artifact
        else:
            self.edge_or_aten_program = program

    @property
    @override
    def artifact(self) -> EdgeProgramManager | ExportedProgram:
        assert self.edge_or_aten_program is not None
        return self.edge_or_aten_program

    @property
    @override
    def graph_module(self) -> GraphModule:
        artifact = self.artifact
        program = artifact.exported_program() if isinstance(artifact, EdgeProgramManager) else artifact
        module: GraphModule = program.graph_module
        return module


class ToExecutorch(Stage):
    """Plans memory and emits the program.

    Args:
        config: options of the program file; None means that memory is planned for the upper bounds of
            dynamic sizes.
    """

    def __init__(self, config: ExecutorchBackendConfig | None = None) -> None:
        self.config = config or ExecutorchBackendConfig(
            extract_delegate_segments=True, sym_shape_eval_pass=ConstraintBasedSymShapeEvalPass()
        )
        self.executorch_program: ExecutorchProgramManager | None = None

    @override
    def stage_type(self) -> StageType:
        return StageType.TO_EXECUTORCH

    @override
    def run(self, artifact: EdgeProgramManager, inputs: Inputs | None = None) -> None:
        self.executorch_program = artifact.to_executorch(self.config)

    @property
    @override
    def artifact(self) -> ExecutorchProgramManager:
        assert self.executorch_program is not None
        return self.executorch_program

    @property
    @override
    def graph_module(self) -> GraphModule:
        module: GraphModule = self.artifact.exported_program().graph_module
        return module

    @override
    def dump_artifact(self, path_to_dump: str | None) -> None:
        """Appends the tables and instructions of the program to a file, as text.

        Args:
            path_to_dump: the file; None means standard output.
        """
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(open(path_to_dump, "a")) if path_to_dump else None
            print(self.stage_banner(), file=file)
            program = self.artifact.executorch_program
            pretty_print(program, out=file)
            print_program(program, show_meminfo=True, mark_dynamic_shape_tensor=True, out=file)


class Serialize(Stage):
    """Writes the program and runs it."""

    def __init__(self) -> None:
        self.buffer: bytes | None = None

    @override
    def stage_type(self) -> StageType:
        return StageType.SERIALIZE

    @override
    def run(self, artifact: ExecutorchProgramManager, inputs: Inputs | None = None) -> None:
        self.buffer = artifact.buffer

    @property
    @override
    def artifact(self) -> bytes:
        assert self.buffer is not None
        return self.buffer

    @property
    @override
    def graph_module(self) -> None:
        return None

    @override
    def run_artifact(self, inputs: Inputs) -> Any:
        """Runs the program in the runtime.

        Returns:
            The results of `forward`, as a list of tensors that own their memory.
        """
        module = _load_for_executorch_from_buffer(self.artifact, program_verification=Verification.Minimal)
        return module.run_method("forward", tuple(tree_flatten(tuple(inputs))[0]))

    @override
    def dump_artifact(self, path_to_dump: str | None) -> None:
        """Writes the bytes of the program to a .pte file.

        Args:
            path_to_dump: the file.

        Raises:
            RuntimeError: no file is given.
        """
        if not path_to_dump:
            raise RuntimeError(
                "path_to_dump is needed: the Serialize stage writes the bytes of a program only to files"
            )
        with open(path_to_dump, "wb") as file:
            file.write(self.artifact)
