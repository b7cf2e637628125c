"""Export sessions, which run the stages of a recipe on a model."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.edge import EdgeProgramManager
from rushlight.compiler.executorch import ExecutorchProgramManager
from rushlight.export.quantize_stages import QuantizeStage, SourceTransformStage
from rushlight.export.recipe import ExportRecipe
from rushlight.export.recipe_parts import Mode
from rushlight.export.stage import PipelineArtifact, Stage
from rushlight.export.stages import (
    EdgeProgramManagerTransformStage,
    EdgeTransformAndLowerStage,
    ExecutorchStage,
    ToBackendStage,
    ToEdgeStage,
    TorchExportStage,
)
from rushlight.export.types import StageType
from rushlight.format.program import Program
from rushlight.ir.program import DynamicShapes

logger = logging.getLogger(__name__)

# By type of the model: the stages that must not run on it again, and the reason for error messages.
_COMPLETED: dict[str, tuple[frozenset[StageType], str]] = {
    "GraphModule": (
        frozenset({StageType.SOURCE_TRANSFORM, StageType.QUANTIZE}),
        "GraphModule is already quantized",
    ),
    "ExportedProgram": (
        frozenset({StageType.SOURCE_TRANSFORM, StageType.QUANTIZE, StageType.TORCH_EXPORT}),
        "ExportedProgram is already exported",
    ),
}
# The stages whose result is an edge program manager, in reverse order.
_EDGE_STAGES = (
    StageType.TO_EDGE_TRANSFORM_AND_LOWER,
    StageType.TO_BACKEND,
    StageType.EDGE_PROGRAM_MANAGER_TRANSFORM,
    StageType.TO_EDGE,
)


def export(
    model: object,
    example_inputs: Sequence[tuple[object, ...]] | Mapping[str, Sequence[tuple[object, ...]]] | None = None,
    export_recipe: ExportRecipe | None = None,
    name: str | None = None,
    dynamic_shapes: DynamicShapes = None,
    constant_methods: dict[str, Callable[..., object]] | None = None,
    artifact_dir: str | None = None,
    generate_etrecord: bool = False,
) -> ExportSession:
    """Exports a model and returns the session with the results.

    The arguments are those of `ExportSession`. The results are available from its `get_...` methods.

    Returns:
        A session whose stages have run.

    Raises:
        ValueError: the inputs or the recipe do not fit the model.
        TypeError: `model` is not a model.
    """
    session = ExportSession(
        model=model,
        example_inputs=example_inputs,
        export_recipe=export_recipe,
        name=name,
        dynamic_shapes=dynamic_shapes,
        constant_methods=constant_methods,
        artifact_dir=artifact_dir,
        generate_etrecord=generate_etrecord,
    )
    session.export()
    return session


class ExportSession:
    """Runs the stages that convert a model to a program file, and keeps the result of each stage.

    Args:
        model: a torch.nn.Module, a quantized GraphModule, an ExportedProgram, a dict from method name to one
            of these, or the path of a saved ExportedProgram.
        example_inputs: tuples of inputs. torch.export uses the first tuple, and calibration uses all of them.
            For several methods, this is a dict from method name to tuples. An ExportedProgram needs none.
        export_recipe: the options of the export; None means the defaults.
        name: a name for the session. It is stored in the context of the artifacts.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export. For several methods, this is a
            dict from method name to dimensions.
        constant_methods: methods that return a constant, by name.
        artifact_dir: a folder for stages that the user registers. It is stored in the context of the
            artifacts.
        generate_etrecord: keep the programs for the developer tools, as an ETRecord (`get_etrecord`).

    Raises:
        ValueError: the inputs or the recipe do not fit the model.
        TypeError: `model` is not a model.
    """

    def __init__(
        self,
        model: Any,
        example_inputs: Sequence[tuple[Any, ...]] | Mapping[str, Sequence[tuple[Any, ...]]] | None = None,
        export_recipe: ExportRecipe | None = None,
        name: str | None = None,
        dynamic_shapes: DynamicShapes = None,
        constant_methods: dict[str, Callable[..., Any]] | None = None,
        artifact_dir: str | None = None,
        generate_etrecord: bool = False,
    ) -> None:
        if isinstance(model, str):
            model = torch.export.load(model)
        self._input_model_type = _kind_of(model)
        self._model = model if isinstance(model, dict) else {"forward": model}
        if example_inputs is None and self._input_model_type != "ExportedProgram":
            raise ValueError(
                f"example_inputs are required when model is {self._input_model_type}. "
                "Only ExportedProgram inputs can omit example_inputs."
            )
        self._example_inputs = _by_method(example_inputs)
        self._dynamic_shapes = _by_method(dynamic_shapes)
        unknown = self._dynamic_shapes.keys() - self._model.keys()
        if unknown and self._input_model_type != "ExportedProgram":
            raise ValueError(
                f"dynamic_shapes contains {sorted(unknown)[0]!r}, which is not a method: the methods are "
                f"{', '.join(self._model)}. Pass the shapes as a tuple, or as {{'forward': shapes}}"
            )
        self._export_recipe = export_recipe or ExportRecipe()
        self._pipeline_stages = self._export_recipe.pipeline_stages or self._get_default_pipeline()
        self._stage_registry = self._build_stages(self._pipeline_stages)
        self._stage_to_artifacts: dict[StageType, PipelineArtifact] = {}
        self._run_context: dict[str, Any] = {
            "example_inputs": self._example_inputs,
            "dynamic_shapes": self._dynamic_shapes,
            "constant_methods": constant_methods,
            "export_recipe": self._export_recipe,
            "session_name": name,
            "artifact_dir": artifact_dir,
            "generate_etrecord": generate_etrecord,
        }

    def _get_default_pipeline(self) -> list[StageType]:
        completed, _ = _COMPLETED.get(self._input_model_type, (frozenset(), ""))
        stages = [
            stage
            for stage in (StageType.SOURCE_TRANSFORM, StageType.QUANTIZE, StageType.TORCH_EXPORT)
            if stage not in completed
        ]
        stages.append(StageType.TO_EDGE_TRANSFORM_AND_LOWER)
        lowering = self._export_recipe.lowering_recipe
        if lowering is not None and lowering.edge_manager_transform_passes:
            stages.append(StageType.EDGE_PROGRAM_MANAGER_TRANSFORM)
        return [*stages, StageType.TO_EXECUTORCH]

    def _build_stages(self, stages: Sequence[StageType]) -> dict[StageType, Stage]:
        recipe = self._export_recipe
        quantization, lowering = recipe.quantization_recipe, recipe.lowering_recipe
        make: dict[StageType, Callable[[], Stage]] = {
            StageType.SOURCE_TRANSFORM: lambda: SourceTransformStage(
                quantization, in_place=recipe.source_transform_in_place
            ),
            StageType.QUANTIZE: lambda: QuantizeStage(quantization),
            StageType.TORCH_EXPORT: lambda: TorchExportStage(
                recipe.aten_transform_passes and list(recipe.aten_transform_passes), strict=recipe.strict
            ),
            StageType.TO_EDGE_TRANSFORM_AND_LOWER: lambda: EdgeTransformAndLowerStage.from_recipe(lowering),
            StageType.TO_EDGE: lambda: ToEdgeStage.from_recipe(lowering),
            StageType.EDGE_PROGRAM_MANAGER_TRANSFORM: (
                lambda: EdgeProgramManagerTransformStage.from_recipe(lowering)
            ),
            StageType.TO_BACKEND: lambda: ToBackendStage.from_recipe(lowering),
            StageType.TO_EXECUTORCH: lambda: ExecutorchStage(_backend_config(recipe)),
        }
        return {stage: make[stage]() for stage in stages if stage in make}

    def register_stage(self, stage_type: StageType, stage: Stage) -> None:
        """Registers the stage that runs for a stage type.

        Args:
            stage_type: the type. A new type must also be in `pipeline_stages` of the recipe.
            stage: the stage. It replaces an earlier stage of this type.
        """
        self._stage_registry[stage_type] = stage

    def get_registered_stage(self, stage_type: StageType) -> Stage | None:
        """Returns the stage of a type, or None."""
        return self._stage_registry.get(stage_type)

    def get_all_registered_stages(self) -> dict[StageType, Stage]:
        """Returns the stages by type."""
        return self._stage_registry

    def _validate_pipeline_sequence(self, stages: Sequence[StageType]) -> None:
        """Checks that each stage is allowed at its position.

        Raises:
            ValueError: a stage is not allowed. The message names it.
        """
        if not stages:
            raise ValueError("Pipeline stages cannot be empty")
        completed, why = _COMPLETED.get(self._input_model_type, (frozenset(), ""))
        superfluous = ", ".join(stage.name for stage in stages if stage in completed)
        if superfluous:
            raise ValueError(
                f"Cannot run {superfluous} stage(s) with {self._input_model_type} input. {why}. "
                f"Remove {superfluous} from pipeline_stages."
            )
        for position, kind in enumerate(stages):
            stage = self._stage_registry.get(kind)
            if stage is None:
                raise ValueError(
                    f"Stage {kind} not found in registry, register it using session.register_stage()"
                )
            if position == 0:
                if not stage.can_start_pipeline:
                    raise ValueError(f"Stage {kind} cannot start a pipeline. ")
                continue
            allowed, before = stage.valid_predecessor_stages, stages[position - 1]
            if allowed and before not in allowed:
                raise ValueError(
                    f"Invalid transition from {before} to {kind}. Valid predecessors for {kind}: {allowed}"
                )

    def _run_pipeline(self) -> None:
        self._validate_pipeline_sequence(stages=self._pipeline_stages)
        self._stage_to_artifacts.clear()
        artifact = PipelineArtifact(data=self._model, context=self._run_context)
        for kind in self._pipeline_stages:
            stage = self._stage_registry[kind]
            start = time.perf_counter()
            stage.run(artifact)
            elapsed = (time.perf_counter() - start) * 1000
            artifact = stage.get_artifacts()
            artifact.add_context("duration_ms", int(elapsed))
            self._stage_to_artifacts[kind] = artifact
            logger.info("%s took %d ms", kind.value if isinstance(kind, StageType) else kind, elapsed)

    def export(self) -> None:
        """Runs all stages. If the order of the stages is invalid, the results of an earlier run are kept."""
        self._run_pipeline()

    def get_stage_artifacts(self) -> dict[StageType, PipelineArtifact]:
        """Returns the result of each stage that has run, by type."""
        return self._stage_to_artifacts

    def _result(self, kind: StageType, missing: str) -> Any:
        artifact = self._stage_to_artifacts.get(kind)
        if artifact is None or artifact.data is None:
            raise RuntimeError(missing)
        return artifact.data

    def get_exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """Returns the exported program of a method.

        Raises:
            RuntimeError: the export stage has not run.
            KeyError: there is no method of this name.
        """
        programs = self._result(
            StageType.TORCH_EXPORT, "Exported program is not available. Run Torch Export Stage first."
        )
        if method_name not in programs:
            raise KeyError(
                f"Method name '{method_name}' not found in exported programs. "
                f"Available methods: {list(programs)}"
            )
        program: ExportedProgram = programs[method_name]
        return program

    def get_edge_program_manager(self) -> EdgeProgramManager:
        """Returns the edge programs of the last stage whose result contains edge programs.

        Raises:
            RuntimeError: no such stage has run.
        """
        for kind in _EDGE_STAGES:
            artifact = self._stage_to_artifacts.get(kind)
            if artifact is not None and artifact.data is not None:
                manager: EdgeProgramManager = artifact.data
                return manager
        raise RuntimeError(
            "Edge program manager is not available. Run one of the edge stages first: "
            + ", ".join(kind.name for kind in _EDGE_STAGES)
        )

    def get_executorch_program_manager(self) -> ExecutorchProgramManager:
        """Returns the manager of the program file.

        Raises:
            RuntimeError: the stage TO_EXECUTORCH has not run.
        """
        manager: ExecutorchProgramManager = self._result(
            StageType.TO_EXECUTORCH,
            "Executorch program manager is not initialized. Run Executorch Stage first.",
        )
        return manager

    def get_executorch_program(self) -> Program:
        """Returns the program as dataclasses.

        Raises:
            RuntimeError: the stage TO_EXECUTORCH has not run.
        """
        return self.get_executorch_program_manager().executorch_program

    def get_pte_buffer(self) -> bytes:
        """Returns the bytes of the program file.

        Raises:
            RuntimeError: the stage TO_EXECUTORCH has not run.
        """
        return self.get_executorch_program_manager().buffer

    def save_to_pte(self, output_name: str) -> None:
        """Writes the program file, and its data files into the same folder.

        Args:
            output_name: the path of the program file. The suffix `.pte` is appended if it is missing.
        """
        assert output_name, "save_to_pte needs the path of a file"
        path = output_name if output_name.endswith(".pte") else f"{output_name}.pte"
        manager = self.get_executorch_program_manager()
        manager.save(path)
        manager.write_tensor_data_to_file(os.path.dirname(path) or ".")

    def get_example_input(self, method_name: str = "forward") -> tuple[object, ...]:
        """Returns the first example inputs of a method.

        Raises:
            KeyError: there is no method of this name.
            ValueError: the method has no example inputs.
        """
        if method_name not in self._example_inputs:
            raise KeyError(f"Method name '{method_name}' not found in example inputs")
        examples: Sequence[tuple[object, ...]] = self._example_inputs[method_name]
        if not examples:
            raise ValueError(f"Example inputs list for method {method_name} is empty")
        return examples[0]

    def run_method(
        self, method_name: str = "forward", example_inputs: tuple[object, ...] | None = None
    ) -> Sequence[Any]:
        """Runs a method of the program file in the native runtime.

        Args:
            method_name: the name of the method.
            example_inputs: the inputs; None means the first example inputs of the method.

        Returns:
            The outputs as a flat list.
        """
        from rushlight.runtime import Runtime, Verification

        program = Runtime.get().load_program(self.get_pte_buffer(), verification=Verification.Minimal)
        method = program.load_method(method_name)
        if method is None:
            raise RuntimeError(f"Failed to load method '{method_name}' from the program")
        inputs = self.get_example_input(method_name) if example_inputs is None else example_inputs
        outputs: Sequence[object] = method.execute(inputs)
        return outputs

    def print_delegation_info(self) -> None:
        """Prints for each method and operator how many calls are lowered to backends.

        Raises:
            RuntimeError: no lowering stage has run.
        """
        stages = [
            kind
            for kind in (StageType.TO_EDGE_TRANSFORM_AND_LOWER, StageType.TO_BACKEND)
            if kind in self._stage_to_artifacts
        ]
        if not stages:
            raise RuntimeError("No delegation info available, run the lowering stage first")
        artifact = self._stage_to_artifacts[stages[-1]]
        by_method = artifact.get_context("delegation_info_by_method") or {}
        if not by_method:
            print("No delegation info available")
        for name, info in sorted(by_method.items()):
            print(f"Delegation info for method '{name}':")
            print(info.get_summary())
            print(info.table())

    def get_etrecord(self) -> Any:
        """Returns the ETRecord for the developer tools.

        Raises:
            RuntimeError: the session was not made with `generate_etrecord=True`.
        """
        return self.get_executorch_program_manager().get_etrecord()


def _kind_of(model: object) -> str:
    if isinstance(model, dict):
        if not model:
            raise ValueError("the dict of models is empty: at least one method is needed")
        return _kind_of(next(iter(model.values())))
    for kind in (ExportedProgram, GraphModule):
        if isinstance(model, kind):
            return str(kind.__name__)
    if isinstance(model, torch.nn.Module):
        return "nn.Module"
    raise TypeError(f"Unsupported model type: {type(model)}")


def _by_method(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"forward": value}


def _backend_config(recipe: ExportRecipe) -> ExecutorchBackendConfig | None:
    """Returns the options of the program file. In debug mode, they include stack traces."""
    config = recipe.executorch_backend_config
    if recipe.mode is not Mode.DEBUG:
        return config
    return replace(config or ExecutorchBackendConfig(), emit_stacktrace=True)
