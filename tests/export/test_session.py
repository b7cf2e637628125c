"""Exports with recipes, from a model to a result of the native runtime."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import rushlight
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compiler.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.export import (
    ExportRecipe,
    ExportSession,
    LoweringRecipe,
    QuantizationRecipe,
    StageType,
    export,
)
from rushlight.export.recipe_parts import Mode
from rushlight.export.xnnpack import XNNPackRecipeType


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


@pytest.fixture(scope="module")
def net() -> Net:
    torch.manual_seed(0)
    return Net().eval()


INPUTS = (torch.linspace(-1, 1, 16).reshape(2, 8),)


def test_a_recipe_gives_a_program_that_agrees_with_eager(net: Net, tmp_path: Path) -> None:
    session = export(net, [INPUTS], ExportRecipe(name="plain"))
    torch.testing.assert_close(session.run_method("forward")[0], net(*INPUTS))
    session.save_to_pte(str(tmp_path / "net"))
    torch.testing.assert_close(rushlight.load(tmp_path / "net.pte")(*INPUTS), net(*INPUTS))


@pytest.mark.parametrize("kind", [XNNPackRecipeType.FP32, XNNPackRecipeType.PT2E_INT8_STATIC_PER_CHANNEL])
def test_recipes_of_xnnpack(net: Net, kind: XNNPackRecipeType) -> None:
    session = export(net, [INPUTS], ExportRecipe.get_recipe(kind))
    tolerance = 1e-5 if kind is XNNPackRecipeType.FP32 else 0.05
    torch.testing.assert_close(session.run_method("forward")[0], net(*INPUTS), atol=tolerance, rtol=tolerance)
    if kind is XNNPackRecipeType.FP32:
        info = session.get_stage_artifacts()[StageType.TO_EDGE_TRANSFORM_AND_LOWER].get_context(
            "delegation_info"
        )
        assert (info.num_delegated_subgraphs, info.num_non_delegated_nodes) == (1, 1)


@pytest.mark.parametrize(
    "kind",
    [XNNPackRecipeType.PT2E_INT8_STATIC_PER_CHANNEL, XNNPackRecipeType.PT2E_INT8_DYNAMIC_PER_CHANNEL],
)
def test_quantized_programs_have_dynamic_sizes(net: Net, kind: XNNPackRecipeType) -> None:
    shapes = ({0: torch.export.Dim("n", max=9)},)
    session = export(net, [INPUTS], ExportRecipe.get_recipe(kind), dynamic_shapes=shapes)
    x = INPUTS[0].repeat(3, 1)[:5]
    torch.testing.assert_close(session.run_method("forward", (x,))[0], net(x), atol=0.05, rtol=0.05)


def test_a_program_for_debugging_has_stack_traces(net: Net) -> None:
    config = ExecutorchBackendConfig()
    for mode, has_lines in ((Mode.DEBUG, True), (Mode.RELEASE, False)):
        recipe = ExportRecipe(mode=mode, executorch_backend_config=config)
        chain = export(net, [INPUTS], recipe).get_executorch_program().execution_plan[0].chains[0]
        assert (chain.stacktrace is not None) is has_lines
    assert not config.emit_stacktrace


def test_the_separate_stages_do_the_same(net: Net) -> None:
    stages = [StageType.TORCH_EXPORT, StageType.TO_EDGE, StageType.TO_BACKEND, StageType.TO_EXECUTORCH]
    recipe = ExportRecipe(
        pipeline_stages=stages, lowering_recipe=LoweringRecipe(partitioners=[XnnpackPartitioner()])
    )
    session = export(net, [INPUTS], recipe)
    assert list(session.get_stage_artifacts()) == stages
    torch.testing.assert_close(session.run_method()[0], net(*INPUTS))


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([StageType.TO_EXECUTORCH], "cannot start a pipeline"),
        ([StageType.TORCH_EXPORT, StageType.TO_EXECUTORCH], "Invalid transition"),
        ([StageType.TORCH_EXPORT, StageType.TO_BACKEND], "Invalid transition"),
    ],
)
def test_a_stage_out_of_place_is_named(net: Net, stages: list[StageType], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        export(net, [INPUTS], ExportRecipe(pipeline_stages=stages))


def test_what_is_missing_is_named(net: Net) -> None:
    with pytest.raises(ValueError, match="'x', which is not a method: the methods are forward"):
        ExportSession(net, [INPUTS], dynamic_shapes={"x": {0: torch.export.Dim("n")}})
    with pytest.raises(ValueError, match="example_inputs are required"):
        ExportSession(net)
    with pytest.raises(TypeError, match="Unsupported model type"):
        ExportSession(3, [INPUTS])
    session = ExportSession(net, [INPUTS])
    with pytest.raises(RuntimeError, match="Run Executorch Stage first"):
        session.get_pte_buffer()
    with pytest.raises(KeyError, match="other"):
        session.get_example_input("other")


def test_training_needs_a_trainer(net: Net) -> None:
    recipe = ExportRecipe.get_recipe(XNNPackRecipeType.PT2E_INT8_STATIC_PER_TENSOR)
    assert recipe.quantization_recipe is not None
    recipe.quantization_recipe.is_qat = True
    with pytest.raises(ValueError, match="train_fn must be provided"):
        export(Net(), [INPUTS], recipe)


def test_recipes_combine_and_name_what_they_disagree_on() -> None:
    first = ExportRecipe(
        name="a",
        lowering_recipe=LoweringRecipe([XnnpackPartitioner()], edge_compile_config=EdgeCompileConfig()),
        quantization_recipe=QuantizationRecipe(pre_prepare_passes=[lambda graph: graph]),
    )
    second = ExportRecipe(name="b", lowering_recipe=LoweringRecipe([XnnpackPartitioner()]))
    both = ExportRecipe.combine([first, second])
    assert both.name == "a_b"
    assert both.lowering_recipe is not None and len(both.lowering_recipe.partitioners or ()) == 2
    assert both.quantization_recipe is not None
    assert both.quantization_recipe.pre_prepare_passes == first.quantization_recipe.pre_prepare_passes  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="conflicting 'strict'"):
        ExportRecipe.combine([first, ExportRecipe(strict=False)])
    second.lowering_recipe.edge_compile_config = EdgeCompileConfig(_skip_dim_order=True)  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="_skip_dim_order"):
        ExportRecipe.combine([first, second])
