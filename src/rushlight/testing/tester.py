"""Runs a module through the stages of a backend, and checks the result of each stage."""

from __future__ import annotations

import logging
import random
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.testing import FileCheck
from typing_extensions import Self

from rushlight.ir.dim_order_ops import memory_format_of
from rushlight.testing.error_statistics import ErrorStatistics
from rushlight.testing.stages import (
    Export,
    Inputs,
    Partition,
    Quantize,
    RunPasses,
    Serialize,
    Stage,
    StageType,
    ToEdge,
    ToEdgeTransformAndLower,
    ToExecutorch,
)

logger = logging.getLogger(__name__)

LARGEST_SIZE = 1000
"""The upper limit of random sizes of dynamic dimensions."""

_FOLLOWERS: dict[StageType, list[StageType]] = {
    StageType.QUANTIZE: [StageType.EXPORT],
    StageType.EXPORT: [StageType.RUN_PASSES, StageType.TO_EDGE, StageType.TO_EDGE_TRANSFORM_AND_LOWER],
    StageType.TO_EDGE_TRANSFORM_AND_LOWER: [StageType.RUN_PASSES, StageType.TO_EXECUTORCH],
    StageType.TO_EDGE: [StageType.PARTITION, StageType.RUN_PASSES],
    StageType.RUN_PASSES: [
        StageType.PARTITION,
        StageType.TO_EDGE_TRANSFORM_AND_LOWER,
        StageType.TO_EXECUTORCH,
    ],
    StageType.PARTITION: [StageType.TO_EXECUTORCH],
    StageType.TO_EXECUTORCH: [StageType.SERIALIZE],
    StageType.SERIALIZE: [],
}


class StatisticsCallback(Protocol):
    """A function that is called with the error statistics of each compared output."""

    def __call__(self, statistics: ErrorStatistics, /) -> object:
        """Receives the error statistics of one output."""


class Tester:
    """Quantizes, exports, lowers and runs a module, and compares the results.

    Each method runs a stage or checks the graph of the last stage. It returns the tester, so that calls can
    be chained. The tester of a backend is a derived class with its own stages.

    Args:
        module: the module.
        example_inputs: the positional inputs of the module.
        stage_classes: for each type, the class of the default stage; None means the base classes.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export.
        training: set the module to training mode instead of evaluation mode.
    """

    __test__ = False  # pytest collects classes whose name starts with Test

    def __init__(
        self,
        module: torch.nn.Module,
        example_inputs: Inputs,
        stage_classes: Mapping[StageType, Callable[..., Stage]] | None = None,
        dynamic_shapes: Any = None,
        training: bool = False,
    ) -> None:
        module.train(training)
        self.stage_classes = dict(stage_classes or Tester.default_stage_classes())
        self.original_module = module
        self.example_inputs = example_inputs
        self.dynamic_shapes = dynamic_shapes
        self.stages: dict[StageType, Stage | None] = OrderedDict.fromkeys(StageType)
        self.pipeline = {stage: list(followers) for stage, followers in _FOLLOWERS.items()}
        self.cur: StageType | None = None
        self.reference_output: Any = None
        self.quantization_scale: float | None = None
        self.stage_output: Any = None

    @staticmethod
    def default_stage_classes() -> dict[StageType, Callable[..., Stage]]:
        """Returns the base class of each stage."""
        return {
            StageType.EXPORT: Export,
            StageType.QUANTIZE: Quantize,
            StageType.PARTITION: Partition,
            StageType.RUN_PASSES: RunPasses,
            StageType.SERIALIZE: Serialize,
            StageType.TO_EDGE: ToEdge,
            StageType.TO_EDGE_TRANSFORM_AND_LOWER: ToEdgeTransformAndLower,
            StageType.TO_EXECUTORCH: ToExecutorch,
        }

    def quantize(self, quantize_stage: Stage | None = None) -> Self:
        """Quantizes the module."""
        return self._run_stage(
            quantize_stage or self._get_default_stage(StageType.QUANTIZE), self.example_inputs
        )

    def export(self, export_stage: Stage | None = None) -> Self:
        """Exports the module."""
        stage = export_stage or self._get_default_stage(StageType.EXPORT, dynamic_shapes=self.dynamic_shapes)
        return self._run_stage(stage, self.example_inputs)

    def to_edge(self, to_edge_stage: Stage | None = None) -> Self:
        """Converts the program to the edge dialect."""
        return self._run_stage(to_edge_stage or self._get_default_stage(StageType.TO_EDGE))

    def to_edge_transform_and_lower(
        self, to_edge_and_transform_stage: Stage | None = None, generate_etrecord: bool = False
    ) -> Self:
        """Converts the program to the edge dialect and lowers it."""
        return self._run_stage(
            to_edge_and_transform_stage or self._get_default_stage(StageType.TO_EDGE_TRANSFORM_AND_LOWER),
            generate_etrecord=generate_etrecord,
        )

    def run_passes(self, run_passes_stage: Stage | None = None) -> Self:
        """Runs passes over the program."""
        return self._run_stage(run_passes_stage or self._get_default_stage(StageType.RUN_PASSES))

    def partition(self, partition_stage: Stage | None = None) -> Self:
        """Lowers partitions of an edge program."""
        return self._run_stage(partition_stage or self._get_default_stage(StageType.PARTITION))

    def to_executorch(self, to_executorch_stage: Stage | None = None) -> Self:
        """Plans memory and emits the program."""
        return self._run_stage(to_executorch_stage or self._get_default_stage(StageType.TO_EXECUTORCH))

    def serialize(self, serialize_stage: Stage | None = None) -> Self:
        """Writes the program as bytes."""
        return self._run_stage(serialize_stage or self._get_default_stage(StageType.SERIALIZE))

    def _get_default_stage(self, stage_type: StageType, *args: Any, **kwargs: Any) -> Stage:
        stage_class = self.stage_classes.get(stage_type)
        if stage_class is None:
            raise RuntimeError(f"{type(self).__name__} has no class for the stage {stage_type.name}")
        return stage_class(*args, **kwargs)

    def _run_stage(
        self, stage_instance: Stage, inputs: Inputs | None = None, *args: Any, **kwargs: Any
    ) -> Self:
        assert isinstance(stage_instance, Stage), f"{stage_instance} is not a stage"
        run: Callable[..., None] = stage_instance.run
        run(self._pre(stage_instance), *args, inputs=inputs, **kwargs)
        self._post(stage_instance)
        return self

    def _pre(self, stage: Stage) -> Any:
        """Returns the input of a stage, and checks that the stage may run next."""
        stage_type = stage.stage_type()
        assert stage_type in self.stages, f"unknown stage {stage_type}"
        assert self.stages[stage_type] is None, f"the stage {stage_type.name} has run already"
        artifact: Any = self.original_module
        if self.cur is not None:
            allowed = self.pipeline.get(self.cur, [])
            names = ", ".join(follower.name for follower in allowed) or "no stage"
            assert stage_type in allowed, (
                f"the stage {stage_type.name} cannot follow {self.cur.name}; {names} can"
            )
            artifact = self.get_artifact()
        self.cur = stage_type
        return artifact

    def _post(self, stage: Stage) -> None:
        self.stages[stage.stage_type()] = stage

    def _stage(self, stage: StageType | None = None) -> Stage:
        """The executed stage of a type; None means the last executed stage."""
        chosen = self.cur if stage is None else stage
        found = None if chosen is None else self.stages[chosen]
        if found is None:
            raise RuntimeError(f"the stage {'' if chosen is None else chosen.name} has not run yet")
        return found

    def get_artifact(self, stage: StageType | None = None) -> Any:
        """Returns the artifact of a stage.

        Args:
            stage: the type of the stage; None means the last one.
        """
        return self._stage(stage).artifact

    def dump_artifact(self, path: str | None = None, stage: StageType | None = None) -> Self:
        """Writes the artifact of a stage.

        Args:
            path: the file; None means standard output.
            stage: the type of the stage; None means the last one.
        """
        self._stage(stage).dump_artifact(path)
        return self

    def visualize(self, reuse_server: bool = True, stage: StageType | None = None, **kwargs: Any) -> Self:
        """Opens the artifact of a stage in the model explorer, from the package `ai-edge-model-explorer`.

        Args:
            reuse_server: show the graph in a running server.
            stage: the type of the stage; None means the last one.
            kwargs: further arguments of `model_explorer`.
        """
        from rushlight.compat.visualization import visualize

        visualize(self.get_artifact(stage), reuse_server=reuse_server, **kwargs)
        return self

    def _code(self) -> str:
        return str(self._stage().graph_module.code)

    def check(self, input: Sequence[str]) -> Self:
        """Checks that the code of the graph contains each of the texts."""
        for text in input:
            FileCheck().check(text).run(self._code())
        return self

    def check_not(self, input: Sequence[str]) -> Self:
        """Checks that the code of the graph contains none of the texts."""
        for text in input:
            FileCheck().check_not(text).run(self._code())
        return self

    def check_count(self, input: Mapping[str, int]) -> Self:
        """Checks how often the code of the graph contains each text."""
        for text, count in input.items():
            FileCheck().check_count(text, count, exactly=True).run(self._code())
        return self

    def check_node_count(self, input: Mapping[Any, int]) -> Self:
        """Checks how many nodes of the graph call each target."""
        module: GraphModule = self._stage().graph_module
        found = Counter(node.target for node in module.graph.nodes if node.op == "call_function")
        for target, count in input.items():
            assert found[target] == count, (
                f"{found[target]} nodes call {target} instead of {count}; the graph calls "
                + ", ".join(f"{name} ({times})" for name, times in found.items())
            )
        return self

    def generate_random_inputs(self) -> Iterator[tuple[torch.Tensor, ...]]:
        """Yields normally distributed inputs with the dtypes and memory formats of the example inputs.

        Dynamic dimensions have random sizes within their bounds, at most 1000.
        """
        sizes: dict[str, int] = {}
        inputs = []
        for position, example in enumerate(self.example_inputs):
            assert isinstance(example, torch.Tensor), (
                f"input {position} is not a tensor, and random inputs are tensors; pass inputs="
            )
            shape = list(example.shape)
            dims = self.dynamic_shapes[position] if self.dynamic_shapes is not None else None
            for axis, dim in (dims or {}).items():
                shape[axis] = _random_size(dim, sizes)
            values = torch.randn(shape).to(example.dtype)
            inputs.append(values.to(memory_format=memory_format_of(list(example.dim_order()))))
        yield tuple(inputs)

    def run_method_and_compare_outputs(
        self,
        stage: StageType | None = None,
        inputs: Inputs | None = None,
        num_runs: int = 1,
        atol: float = 1e-03,
        rtol: float = 1e-03,
        qtol: float = 0,
        statistics_callback: StatisticsCallback | None = None,
        artifact_dir: str | None = None,
        artifact_name: str | None = None,
    ) -> Self:
        """Runs the artifact of a stage, and compares its outputs with the exported program's outputs.

        Args:
            stage: the type of the stage; None means the last one.
            inputs: the inputs; None means random ones.
            num_runs: the number of runs on random inputs.
            atol: the absolute tolerance.
            rtol: the relative tolerance.
            qtol: a further absolute tolerance, in units of the scale of the last dequantization.
            statistics_callback: called with the error statistics of each output.
            artifact_dir: a folder for files with the inputs and the reference outputs of the first run.
            artifact_name: the prefix of the names of these files.

        Raises:
            AssertionError: an output differs.
        """
        reference = self._stage(StageType.EXPORT).artifact
        for run in range(num_runs if inputs is None else 1):
            given = inputs if inputs is not None else next(self.generate_random_inputs())
            expected, scale = self._calculate_reference_output(reference, given)
            results = self._stage(stage).run_artifact(given)
            self.reference_output, self.quantization_scale = expected, scale
            self.stage_output = results
            self._compare_outputs(expected, results, scale, atol, rtol, qtol, statistics_callback)
            if artifact_dir and artifact_name and run == 0:
                self._dump_golden_artifacts(artifact_dir, artifact_name, given, expected)
        return self

    @staticmethod
    def _dump_golden_artifacts(
        artifact_dir: str, artifact_name: str, inputs: Inputs, reference_output: Any
    ) -> None:
        """Writes tensors as raw elements: inputs in their dim order, outputs in contiguous order."""
        folder = Path(artifact_dir)
        folder.mkdir(parents=True, exist_ok=True)
        groups = {"input": list(inputs), "expected_output": _as_list(reference_output)}
        for kind, values in groups.items():
            for position, value in enumerate(values):
                if isinstance(value, torch.Tensor):
                    suffix = f"_{position}" if len(values) > 1 else ""
                    path = folder / f"{artifact_name}_{kind}{suffix}.bin"
                    ordered = value.permute(value.dim_order()) if kind == "input" else value
                    ordered.detach().contiguous().numpy().tofile(path)
                    logger.info("wrote %s", path)

    @staticmethod
    def _assert_outputs_equal(
        model_output: Sequence[torch.Tensor],
        ref_output: Sequence[torch.Tensor],
        atol: float = 1e-03,
        rtol: float = 1e-03,
        statistics_callback: StatisticsCallback | None = None,
    ) -> None:
        """Raises AssertionError if an output differs by more than the tolerances. NaN is equal to NaN."""
        assert len(model_output) == len(ref_output), (
            f"the model returns {len(model_output)} outputs instead of {len(ref_output)}"
        )
        for position, (model, reference) in enumerate(zip(model_output, ref_output, strict=True)):
            statistics = ErrorStatistics.from_tensors(model, reference)
            if statistics_callback is not None:
                statistics_callback(statistics)
            assert model.shape == reference.shape, (
                f"output {position} has the shape {tuple(model.shape)}, "
                f"its reference {tuple(reference.shape)}"
            )
            if model.dtype is torch.bool:
                assert torch.equal(model, reference), (
                    f"output {position} differs in {int((model != reference).sum())} of {model.numel()} bools"
                )
                continue
            close = torch.allclose(_wide(model), _wide(reference), atol=atol, rtol=rtol, equal_nan=True)
            assert close, (
                f"output {position} ({model.dtype}, shape {tuple(model.shape)}) differs from its reference "
                f"by more than atol={atol} and rtol={rtol}: at most {statistics.error_max}, "
                f"{statistics.error_mae} on average, SQNR {statistics.sqnr} dB\n"
                f"  result: {statistics.actual_stats}\n  reference: {statistics.reference_stats}"
            )

    @staticmethod
    def _compare_outputs(
        reference_output: Any,
        stage_output: Any,
        quantization_scale: float | None = None,
        atol: float = 1e-03,
        rtol: float = 1e-03,
        qtol: float = 0,
        statistics_callback: StatisticsCallback | None = None,
    ) -> None:
        """Compares results. They are tensors, sequences of tensors or dictionaries of tensors."""
        if quantization_scale is not None:
            atol += quantization_scale * qtol
        Tester._assert_outputs_equal(
            _as_list(stage_output), _as_list(reference_output), atol, rtol, statistics_callback
        )

    @staticmethod
    def _calculate_reference_output(program: ExportedProgram, inputs: Inputs) -> tuple[Any, float | None]:
        """Returns the results of a program, and the scale if a result is computed by a dequantization."""
        results = program.graph.output_node().args[0]
        dequantize = torch.ops.quantized_decomposed.dequantize_per_tensor.default
        scale = next(
            (
                node.args[1]
                for node in (results if isinstance(results, (list, tuple)) else [results])
                if isinstance(node, Node) and node.target is dequantize
            ),
            None,
        )
        return program.module()(*inputs), scale if isinstance(scale, float) else None


def _random_size(dim: Any, sizes: dict[str, int]) -> int:
    """A random size within the bounds of a `torch.export.Dim`. Dimensions with one name have one size."""
    root = getattr(dim, "root", dim)
    if not hasattr(root, "min") or not hasattr(root, "max"):
        raise RuntimeError(f"a random size needs a torch.export.Dim with bounds, not {dim!r}; pass inputs=")
    if root.__name__ not in sizes:
        # torch.export specializes sizes 0 and 1. A lower bound below 2 still allows 1.
        low = root.min if root.min >= 2 else 1
        sizes[root.__name__] = random.randint(low, min(root.max, LARGEST_SIZE))
    size = sizes[root.__name__]
    return size if root is dim else int(dim.fn(size))


def _as_list(results: Any) -> list[Any]:
    if isinstance(results, torch.Tensor):
        return [results]
    return list(results.values()) if isinstance(results, Mapping) else list(results)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """Converts a tensor of 8-bit floats to float32, because torch.allclose does not support these dtypes."""
    is_narrow = tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1
    return tensor.to(torch.float32) if is_narrow else tensor
