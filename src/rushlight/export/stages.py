"""The stages of an export: each takes an artifact and leaves its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_manager import PassManager
from torchao.quantization import quantize_
from torchao.quantization.pt2e import (
    allow_exported_model_train_eval,
    move_exported_model_to_eval,
    move_exported_model_to_train,
)
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import ComposableQuantizer, Quantizer
from torchao.utils import unwrap_tensor_subclass

from rushlight.compile.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compile.edge import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from rushlight.delegate.info import DelegationInfo, get_delegation_info
from rushlight.delegate.partitioner import Partitioner
from rushlight.delegate.to_backend import validation_disabled
from rushlight.export.recipe_parts import GraphPass, LoweringRecipe, QuantizationRecipe
from rushlight.export.stage import PipelineArtifact, Stage
from rushlight.export.types import StageType

Partitioners = Sequence[Partitioner] | Mapping[str, Sequence[Partitioner]]
EdgePasses = Sequence[Callable[[str, ExportedProgram], Any]]


class SourceTransformStage(Stage):
    """Models → models whose weights torchao's `quantize_` has quantized; the same ones if the recipe has no
    such step."""

    def __init__(self, quantization_recipe: QuantizationRecipe | None, in_place: bool = False) -> None:
        super().__init__()
        self._quantization_recipe = quantization_recipe
        self._in_place = in_place
        self._transformed_models: dict[str, torch.nn.Module] = {}

    @property
    def stage_type(self) -> StageType:
        return StageType.SOURCE_TRANSFORM

    @property
    def valid_predecessor_stages(self) -> list[StageType]:
        return []

    @property
    def can_start_pipeline(self) -> bool:
        return True

    def run(self, artifact: PipelineArtifact) -> None:
        configs = self._quantization_recipe and self._quantization_recipe.ao_quantization_configs
        if not configs:
            self._artifact = artifact
            return
        if len(configs) > 1:
            raise ValueError(
                f"{len(configs)} torchao quantization configs: they cannot be composed reliably, give one"
            )
        models = artifact.data if self._in_place else copy.deepcopy(artifact.data)
        for model in models.values():
            quantize_(model, configs[0].ao_base_config, configs[0].filter_fn)
            unwrap_tensor_subclass(model)
        self._transformed_models = models
        self._artifact = artifact.copy_with_new_data(models)


class QuantizeStage(Stage):
    """Models → quantized graph modules (torchao's pt2e flow); the same ones if there is no quantizer."""

    def __init__(self, quantization_recipe: QuantizationRecipe | None) -> None:
        super().__init__()
        self._quantization_recipe = quantization_recipe

    @property
    def stage_type(self) -> StageType:
        return StageType.QUANTIZE

    @property
    def valid_predecessor_stages(self) -> list[StageType]:
        return [StageType.SOURCE_TRANSFORM]

    @property
    def can_start_pipeline(self) -> bool:
        return True

    def run(self, artifact: PipelineArtifact) -> None:
        recipe = self._quantization_recipe
        if recipe is None or not recipe.quantizers:
            self._artifact = artifact
            return
        examples = artifact.get_context("example_inputs")
        quantized = {}
        for name, model in artifact.data.items():
            if not examples.get(name):
                raise ValueError(f"Example inputs for method {name} not found or empty.")
            quantized[name] = self._quantize(model, examples[name], recipe)
        self._artifact = artifact.copy_with_new_data(quantized)

    def _quantize(
        self, model: torch.nn.Module, examples: Sequence[tuple[Any, ...]], recipe: QuantizationRecipe
    ) -> torch.nn.Module:
        """Captured, prepared, calibrated or trained, converted; the recipe's passes between."""
        if recipe.is_qat:
            model.train()
        graph: Any = torch.export.export(
            model,
            examples[0],
            dynamic_shapes=_free_batch(examples[0]) if recipe.dynamic_batch_size else None,
            strict=True,
        ).module()
        graph = self._apply_passes(graph, recipe.pre_prepare_passes)
        quantizer = self._get_quantizer_for_prepare_pt2e(recipe.quantizers or [])
        if recipe.is_qat:
            if recipe.train_fn is None:
                raise ValueError("train_fn must be provided when is_qat=True")
            prepared = self._apply_passes(prepare_qat_pt2e(graph, quantizer), recipe.post_prepare_passes)
            allow_exported_model_train_eval(prepared)
            move_exported_model_to_train(prepared)
            recipe.train_fn(prepared)
            move_exported_model_to_eval(prepared)
        else:
            prepared = self._apply_passes(prepare_pt2e(graph, quantizer), recipe.post_prepare_passes)
            calibration = recipe.calibration_inputs_fn() if recipe.calibration_inputs_fn else examples
            for inputs in calibration:
                prepared(*inputs)
        prepared = self._apply_passes(prepared, recipe.pre_convert_passes)
        converted: torch.nn.Module = self._apply_passes(convert_pt2e(prepared), recipe.post_convert_passes)
        return converted

    def _get_quantizer_for_prepare_pt2e(self, quantizers: Sequence[Any]) -> Any:
        """The one quantizer, several of torchao's composed. Raises ValueError where they do not compose."""
        ours = [item for item in quantizers if isinstance(item, Quantizer)]
        if not quantizers:
            raise ValueError("No quantizers detected")
        if ours and len(ours) < len(quantizers):
            raise ValueError("Mixed quantizer types are not supported")
        if ours:
            return ComposableQuantizer(ours)
        if len(quantizers) > 1:
            raise ValueError("Multiple quantizers of torch.ao.quantization.quantizer not supported")
        return quantizers[0]

    @staticmethod
    def _apply_passes(model: Any, passes: Sequence[GraphPass] | None) -> Any:
        for item in passes or ():
            try:
                model = item(model)
            except Exception as error:
                raise RuntimeError(f"QuantizeStage: Pass '{item!r}' raised an error: {error}") from error
        return model


def _free_batch(inputs: Sequence[Any]) -> tuple[dict[int, Any] | None, ...]:
    batch = torch.export.Dim("batch", min=1)
    return tuple({0: batch} if isinstance(item, torch.Tensor) else None for item in inputs)


class TorchExportStage(Stage):
    """Models by method name → exported programs."""

    def __init__(
        self,
        aten_transform_passes: Sequence[Callable[[str, ExportedProgram], ExportedProgram]] | None = None,
        strict: bool = True,
    ) -> None:
        super().__init__()
        self._aten_transform_passes = aten_transform_passes
        self.strict = strict

    @property
    def stage_type(self) -> StageType:
        return StageType.TORCH_EXPORT

    @property
    def valid_predecessor_stages(self) -> list[StageType]:
        return [StageType.SOURCE_TRANSFORM, StageType.QUANTIZE]

    @property
    def can_start_pipeline(self) -> bool:
        return True

    def run(self, artifact: PipelineArtifact) -> None:
        examples = artifact.get_context("example_inputs")
        shapes = artifact.get_context("dynamic_shapes", {})
        programs = {}
        with torch.no_grad():
            for name, model in artifact.data.items():
                if name not in examples:
                    raise ValueError(f"Example inputs for method {name} not found.")
                program = torch.export.export(
                    model, examples[name][0], dynamic_shapes=shapes.get(name), strict=self.strict
                )
                for transform in self._aten_transform_passes or ():
                    if not callable(transform):
                        raise ValueError(
                            "Aten transform passes must be a callable that can transform and return an "
                            f"exported program, not {transform!r}"
                        )
                    program = transform(name, program)
                programs[name] = program
        self._artifact = artifact.copy_with_new_data(programs)


def _resolve_passes(
    makers: EdgePasses | None, programs: Mapping[str, ExportedProgram]
) -> PassManager | dict[str, list[Any]] | None:
    """The passes for every method; the first pass manager that is offered stands for all. None: no passes."""
    passes: dict[str, list[Any]] = {}
    for name, program in programs.items():
        for make in makers or ():
            if not callable(make):
                raise ValueError(f"Transform passes must be a callable that resolves to passes, not {make!r}")
            made = make(name, program)
            if isinstance(made, PassManager):
                return made
            passes.setdefault(name, []).extend(made)
    return {name: items for name, items in passes.items() if items} or None


class _DelegationReport:
    """What a stage that lowers tells of its result."""

    _artifact: PipelineArtifact | None

    def _report(self, artifact: PipelineArtifact, manager: EdgeProgramManager) -> None:
        by_method = {
            name: get_delegation_info(manager.exported_program(name).graph_module)
            for name in sorted(manager.methods)
        }
        artifact.add_context("delegation_info_by_method", by_method)
        first = next(iter(by_method.values()), None)
        artifact.add_context("delegation_info", by_method.get("forward", first))

    @property
    def delegation_info(self) -> Any:
        """Of `forward`, or of the first method by name."""
        return self._artifact.get_context("delegation_info") if self._artifact else None

    @property
    def delegation_info_by_method(self) -> dict[str, DelegationInfo]:
        return self._artifact.get_context("delegation_info_by_method") if self._artifact else {}


class EdgeTransformAndLowerStage(_DelegationReport, Stage):
    """Exported programs → edge programs, transformed and lowered."""

    def __init__(
        self,
        partitioners: Partitioners | None = None,
        transform_passes: EdgePasses | None = None,
        compile_config: EdgeCompileConfig | None = None,
    ) -> None:
        super().__init__()
        self._partitioners = partitioners
        self._transform_passes = transform_passes
        self._compile_config = compile_config

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> EdgeTransformAndLowerStage:
        recipe = lowering_recipe or LoweringRecipe()
        return cls(recipe.partitioners, recipe.edge_transform_passes, recipe.edge_compile_config)

    @property
    def stage_type(self) -> StageType:
        return StageType.TO_EDGE_TRANSFORM_AND_LOWER

    @property
    def valid_predecessor_stages(self) -> list[StageType]:
        return [StageType.TORCH_EXPORT]

    @property
    def can_start_pipeline(self) -> bool:
        return True

    def run(self, artifact: PipelineArtifact) -> None:
        with validation_disabled():
            manager = to_edge_transform_and_lower(
                artifact.data,
                partitioner=self._partitioners,
                transform_passes=_resolve_passes(self._transform_passes, artifact.data),
                constant_methods=artifact.get_context("constant_methods"),
                compile_config=self._compile_config,
                generate_etrecord=artifact.get_context("generate_etrecord", False),
            )
        self._artifact = artifact.copy_with_new_data(manager)
        self._report(self._artifact, manager)


class ToEdgeStage(Stage):
    """Exported programs → edge programs."""

    def __init__(self, edge_compile_config: EdgeCompileConfig | None = None) -> None:
        super().__init__()
        self._edge_compile_config = edge_compile_config

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> ToEdgeStage:
        return cls((lowering_recipe or LoweringRecipe()).edge_compile_config)

    @property
    def stage_type(self) -> StageType:
        return StageType.TO_EDGE

    @property
    def valid_predecessor_stages(self) -> list[StageType]:
        return [StageType.TORCH_EXPORT]

    @property
    def can_start_pipeline(self) -> bool:
        return True

    def run(self, artifact: PipelineArtifact) -> None:
        manager = to_edge(
            artifact.data,
            constant_methods=artifact.get_context("constant_methods"),
            compile_config=self._edge_compile_config,
            generate_etrecord=artifact.get_context("generate_etrecord", False),
        )
        self._artifact = artifact.copy_with_new_data(manager)


class EdgeProgramManagerTransformStage(Stage):
    """Edge programs → edge programs, by passes that may look at all of them."""

    def __init__(
        self,
        edge_transform_passes: EdgePasses | None = None,
        edge_manager_transform_passes: Sequence[Callable[[EdgeProgramManager], Any]] | None = None,
    ) -> None:
        super().__init__()
        self._edge_transform_passes = edge_transform_passes or []
        self._edge_manager_transform_passes = edge_manager_transform_passes or []

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> EdgeProgramManagerTransformStage:
        recipe = lowering_recipe or LoweringRecipe()
        return cls(recipe.edge_transform_passes, recipe.edge_manager_transform_passes)

    @property
    def stage_type(self) -> StageType:
        return StageType.EDGE_PROGRAM_MANAGER_TRANSFORM

    @property
    def valid_predecessor_stages(self) -> list[StageType]:
        return [StageType.TO_EDGE, StageType.TO_EDGE_TRANSFORM_AND_LOWER]

    @property
    def can_start_pipeline(self) -> bool:
        return False

    def run(self, artifact: PipelineArtifact) -> None:
        manager = artifact.data
        if not isinstance(manager, EdgeProgramManager):
            raise TypeError(f"Expected EdgeProgramManager but got {type(manager)}")
        passes = _resolve_passes(
            self._edge_transform_passes,
            {name: manager.exported_program(name) for name in manager.methods},
        )
        if passes is not None:
            manager = manager.transform(passes)
        for make in self._edge_manager_transform_passes:
            made = make(manager)
            if made:
                manager = manager.transform(made)
        changed = manager is not artifact.data
        self._artifact = artifact.copy_with_new_data(manager) if changed else artifact


class ToBackendStage(_DelegationReport, Stage):
    """Edge programs → edge programs with calls to lowered modules, partitioner by partitioner."""

    def __init__(self, partitioners: Partitioners | None = None) -> None:
        super().__init__()
        self._partitioners = partitioners

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> ToBackendStage:
        return cls((lowering_recipe or LoweringRecipe()).partitioners)

    @property
    def stage_type(self) -> StageType:
        return StageType.TO_BACKEND

    @property
    def valid_predecessor_stages(self) -> list[StageType]:
        return [StageType.TO_EDGE, StageType.EDGE_PROGRAM_MANAGER_TRANSFORM]

    @property
    def can_start_pipeline(self) -> bool:
        return False

    def run(self, artifact: PipelineArtifact) -> None:
        manager = artifact.data
        if manager is None:
            raise RuntimeError("Edge program manager is not set.")
        with validation_disabled():
            for partitioner in self._rounds():
                manager = manager.to_backend(partitioner)
        self._artifact = artifact.copy_with_new_data(manager)
        self._report(self._artifact, manager)

    def _rounds(self) -> list[Partitioner | dict[str, Partitioner]]:
        if isinstance(self._partitioners, Mapping):
            names = list(self._partitioners)
            return [
                {name: item for name, item in zip(names, items, strict=True) if item is not None}
                for items in zip_longest(*self._partitioners.values())
            ]
        return list(self._partitioners or ())


class ExecutorchStage(Stage):
    """Edge programs → the manager of the program file."""

    def __init__(self, backend_config: ExecutorchBackendConfig | None) -> None:
        super().__init__()
        self._backend_config = backend_config

    @property
    def stage_type(self) -> StageType:
        return StageType.TO_EXECUTORCH

    @property
    def valid_predecessor_stages(self) -> list[StageType]:
        return [
            StageType.TO_EDGE_TRANSFORM_AND_LOWER,
            StageType.TO_BACKEND,
            StageType.EDGE_PROGRAM_MANAGER_TRANSFORM,
        ]

    @property
    def can_start_pipeline(self) -> bool:
        return False

    def run(self, artifact: PipelineArtifact) -> None:
        if artifact.data is None:
            raise RuntimeError("Edge program manager is not set.")
        self._artifact = artifact.copy_with_new_data(artifact.data.to_executorch(self._backend_config))
