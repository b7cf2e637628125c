"""The stages of an export from torch.export to the program file."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_manager import PassManager

from rushlight.compiler.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compiler.edge import EdgeProgramManager, Passes, to_edge, to_edge_transform_and_lower
from rushlight.delegate.info import DelegationInfo, get_delegation_info
from rushlight.delegate.partitioner import Partitioner
from rushlight.export.recipe_parts import LoweringRecipe
from rushlight.export.stage import FixedStage, PipelineArtifact
from rushlight.export.types import StageType
from rushlight.frontend.export import export_module
from rushlight.passes.base import AnyPass

Partitioners = Sequence[Partitioner] | Mapping[str, Sequence[Partitioner]]
EdgePasses = Sequence[Callable[[str, ExportedProgram], Sequence[AnyPass]]]


def _mutating(partitioners: Any) -> Any:
    """Returns copies of partitioners that may change graphs, which recipes allow, in the same containers."""
    if partitioners is None:
        return None
    if isinstance(partitioners, Mapping):
        return {name: _mutating(items) for name, items in partitioners.items()}
    if isinstance(partitioners, Partitioner):
        partitioners = copy.copy(partitioners)
        partitioners.changes_graph = True
        return partitioners
    return [_mutating(item) for item in partitioners] if isinstance(partitioners, Sequence) else partitioners


class TorchExportStage(FixedStage):
    """Exports modules.

    The input is a dict from method name to module, the output a dict from method name to exported program.

    Args:
        aten_transform_passes: functions `(method name, program) -> program` that run on each exported
            program.
        strict: the option `strict` of torch.export.
    """

    TYPE = StageType.TORCH_EXPORT
    AFTER = (StageType.SOURCE_TRANSFORM, StageType.QUANTIZE)
    MAY_BE_FIRST = True

    def __init__(
        self,
        aten_transform_passes: Sequence[Callable[[str, ExportedProgram], ExportedProgram]] | None = None,
        strict: bool = True,
    ) -> None:
        super().__init__()
        self._aten_transform_passes = aten_transform_passes
        self.strict = strict

    def run(self, artifact: PipelineArtifact) -> None:
        """Exports each module and runs the passes.

        Args:
            artifact: modules by method name; its context has example inputs and dynamic shapes.

        Raises:
            ValueError: a method has no example inputs, or a pass is not callable.
        """
        examples = artifact.get_context("example_inputs")
        shapes = artifact.get_context("dynamic_shapes", {})
        programs = {}
        with torch.no_grad():
            for name, model in artifact.data.items():
                if name not in examples:
                    raise ValueError(f"Example inputs for method {name} not found.")
                program = export_module(
                    model,
                    examples[name][0],
                    dynamic_shapes=shapes.get(name),
                    strict=self.strict,
                    in_evaluation_mode=False,
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
    """Calls the functions that make passes, for each method.

    Returns:
        The passes by method name, or None if there are no passes. If a function returns a pass manager, the
        first one is returned, and all other passes are ignored.
    """
    passes: dict[str, list[object]] = {}
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
    """The delegation info of a stage that lowers to backends."""

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
        """The delegation info of `forward`, or of the first method in alphabetical order."""
        return self._artifact.get_context("delegation_info") if self._artifact else None

    @property
    def delegation_info_by_method(self) -> dict[str, DelegationInfo]:
        """The delegation info of every method."""
        return self._artifact.get_context("delegation_info_by_method") if self._artifact else {}


class EdgeTransformAndLowerStage(_DelegationReport, FixedStage):
    """Converts exported programs to edge programs, transforms them, and lowers them to backends.

    Args:
        partitioners: the partitioners in order, for all methods or by method name.
        transform_passes: functions `(method name, program) -> passes`.
        compile_config: options of the conversion to the edge dialect.
    """

    TYPE = StageType.TO_EDGE_TRANSFORM_AND_LOWER
    AFTER = (StageType.TORCH_EXPORT,)
    MAY_BE_FIRST = True

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
        """Makes the stage that a recipe describes."""
        recipe = lowering_recipe or LoweringRecipe()
        return cls(recipe.partitioners, recipe.edge_transform_passes, recipe.edge_compile_config)

    def run(self, artifact: PipelineArtifact) -> None:
        """Converts, transforms and lowers the programs.

        Args:
            artifact: exported programs by method name.
        """
        manager = to_edge_transform_and_lower(
            artifact.data,
            partitioner=_mutating(self._partitioners),
            transform_passes=_resolve_passes(self._transform_passes, artifact.data),
            constant_methods=artifact.get_context("constant_methods"),
            compile_config=self._compile_config,
            generate_etrecord=artifact.get_context("generate_etrecord", False),
        )
        self._artifact = artifact.copy_with_new_data(manager)
        self._report(self._artifact, manager)


class ToEdgeStage(FixedStage):
    """Converts exported programs to edge programs.

    Args:
        edge_compile_config: options of the conversion.
    """

    TYPE = StageType.TO_EDGE
    AFTER = (StageType.TORCH_EXPORT,)
    MAY_BE_FIRST = True

    def __init__(self, edge_compile_config: EdgeCompileConfig | None = None) -> None:
        super().__init__()
        self._edge_compile_config = edge_compile_config

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> ToEdgeStage:
        """Makes the stage that a recipe describes."""
        return cls((lowering_recipe or LoweringRecipe()).edge_compile_config)

    def run(self, artifact: PipelineArtifact) -> None:
        """Converts the programs.

        Args:
            artifact: exported programs by method name.
        """
        manager = to_edge(
            artifact.data,
            constant_methods=artifact.get_context("constant_methods"),
            compile_config=self._edge_compile_config,
            generate_etrecord=artifact.get_context("generate_etrecord", False),
        )
        self._artifact = artifact.copy_with_new_data(manager)


class EdgeProgramManagerTransformStage(FixedStage):
    """Runs passes on edge programs.

    Args:
        edge_transform_passes: functions `(method name, program) -> passes`.
        edge_manager_transform_passes: functions `(manager) -> passes`.
    """

    TYPE = StageType.EDGE_PROGRAM_MANAGER_TRANSFORM
    AFTER = (StageType.TO_EDGE, StageType.TO_EDGE_TRANSFORM_AND_LOWER)

    def __init__(
        self,
        edge_transform_passes: EdgePasses | None = None,
        edge_manager_transform_passes: Sequence[Callable[[EdgeProgramManager], Passes | None]] | None = None,
    ) -> None:
        super().__init__()
        self._edge_transform_passes = edge_transform_passes or []
        self._edge_manager_transform_passes = edge_manager_transform_passes or []

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> EdgeProgramManagerTransformStage:
        """Makes the stage that a recipe describes."""
        recipe = lowering_recipe or LoweringRecipe()
        return cls(recipe.edge_transform_passes, recipe.edge_manager_transform_passes)

    def run(self, artifact: PipelineArtifact) -> None:
        """Runs the passes.

        Args:
            artifact: the edge program manager.

        Raises:
            TypeError: the result of the previous stage is not an edge program manager.
        """
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


class ToBackendStage(_DelegationReport, FixedStage):
    """Lowers edge programs to backends, with one partitioner after another.

    Args:
        partitioners: the partitioners in order, for all methods or by method name.
    """

    TYPE = StageType.TO_BACKEND
    AFTER = (StageType.TO_EDGE, StageType.EDGE_PROGRAM_MANAGER_TRANSFORM)

    def __init__(self, partitioners: Partitioners | None = None) -> None:
        super().__init__()
        self._partitioners = partitioners

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> ToBackendStage:
        """Makes the stage that a recipe describes."""
        return cls((lowering_recipe or LoweringRecipe()).partitioners)

    def run(self, artifact: PipelineArtifact) -> None:
        """Lowers the programs.

        Args:
            artifact: the edge program manager.

        Raises:
            RuntimeError: there is no edge program manager.
        """
        manager = artifact.data
        if manager is None:
            raise RuntimeError("Edge program manager is not set.")
        for partitioner in self._rounds():
            manager = manager.to_backend(_mutating(partitioner))
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


class ExecutorchStage(FixedStage):
    """Makes the program file from edge programs.

    Args:
        backend_config: options of memory planning and of the file.
    """

    TYPE = StageType.TO_EXECUTORCH
    AFTER = (
        StageType.TO_EDGE_TRANSFORM_AND_LOWER,
        StageType.TO_BACKEND,
        StageType.EDGE_PROGRAM_MANAGER_TRANSFORM,
    )

    def __init__(self, backend_config: ExecutorchBackendConfig | None) -> None:
        super().__init__()
        self._backend_config = backend_config

    def run(self, artifact: PipelineArtifact) -> None:
        """Plans memory and emits the program.

        Args:
            artifact: the edge program manager.

        Raises:
            RuntimeError: there is no edge program manager.
        """
        if artifact.data is None:
            raise RuntimeError("Edge program manager is not set.")
        self._artifact = artifact.copy_with_new_data(artifact.data.to_executorch(self._backend_config))
