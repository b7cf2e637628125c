"""The tester runs a module through stages, checks graphs, and compares results."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from rushlight.backends.xnnpack import get_symmetric_quantization_config
from rushlight.compat.transforms.views import CollapseViewCopyPass
from rushlight.ir.edge_ops import ops
from rushlight.testing import ErrorStatistics, Tester
from rushlight.testing.stages import RunPasses, StageType, ToExecutorch
from rushlight.testing.xnnpack import Partition, Quantize
from rushlight.testing.xnnpack import RunPasses as XnnpackRunPasses
from rushlight.testing.xnnpack import Tester as XnnpackTester

EDGE_LINEAR = "executorch_exir_dialects_edge__ops_aten_linear_default"
DELEGATE = "torch.ops.higher_order.executorch_call_delegate"


def layers() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


class Sum(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


class Views(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(15).view(3, 5)


def test_a_backend_from_export_to_results() -> None:
    tester = XnnpackTester(layers(), (torch.randn(2, 4),))
    (
        tester.export()
        .check_count({"torch.ops.aten.linear.default": 2})
        .to_edge_transform_and_lower()
        .check_count({DELEGATE: 1})
        .check_not([EDGE_LINEAR])
        .to_executorch()
        .serialize()
        .run_method_and_compare_outputs(num_runs=3)
    )
    assert isinstance(tester.get_artifact(), bytes)
    assert tester.get_artifact(StageType.EXPORT).graph_signature.user_inputs == ("input",)


def test_the_older_way_and_quantization() -> None:
    (
        XnnpackTester(layers(), (torch.randn(2, 4),))
        .quantize(Quantize(calibration_samples=[(torch.randn(2, 4),) for _ in range(4)]))
        .export()
        .check(["torch.ops.quantized_decomposed.dequantize_per_tensor.default"])
        .to_edge()
        .check_node_count({ops.edge.aten.addmm.default: 2})
        .partition(Partition())
        .check_count({DELEGATE: 1})
        .to_executorch()
        .serialize()
        .run_method_and_compare_outputs(qtol=1)
    )


def test_portable_kernels_with_dynamic_sizes() -> None:
    rows = torch.export.Dim("rows", min=2, max=20)
    inputs = (torch.randn(5, 3), torch.randn(5, 3))
    tester = Tester(Sum(), inputs, dynamic_shapes=({0: rows}, {0: rows}))
    passes = RunPasses(pass_manager_cls=_OnlyTransforms, pass_list=[CollapseViewCopyPass])
    tester.export().to_edge().run_passes(passes).to_executorch().serialize().run_method_and_compare_outputs(
        num_runs=4
    )
    sizes = {next(tester.generate_random_inputs())[0].shape[0] for _ in range(30)}
    assert len(sizes) > 1 and max(sizes) <= 20


class _OnlyTransforms:
    """A manager of passes, as a backend may have one."""

    def __init__(self, program: torch.export.ExportedProgram, passes: list[type]) -> None:
        self._program, self._passes = program, passes

    def transform(self) -> torch.export.ExportedProgram:
        from rushlight.passes.transform import transform_program

        return transform_program(self._program, [make() for make in self._passes])


def test_passes_over_exported_and_edge_programs() -> None:
    view = "executorch_exir_dialects_edge__ops_aten_view_copy_default"
    tester = XnnpackTester(Views(), (torch.randn(5, 3),)).export().to_edge().check_count({view: 2})
    tester.run_passes(XnnpackRunPasses([CollapseViewCopyPass])).check_count({view: 1})
    seen: list[torch.export.ExportedProgram] = []

    def watch(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
        seen.append(program)
        return program

    tester = XnnpackTester(Views(), (torch.randn(5, 3),)).export()
    tester.run_passes(XnnpackRunPasses(pass_functions=[watch])).to_edge_transform_and_lower()
    assert len(seen) == 1


def test_checks_fail() -> None:
    tester = Tester(layers(), (torch.randn(2, 4),)).export()
    with pytest.raises(RuntimeError, match="Expected to find"):
        tester.check(["no such operator"])
    with pytest.raises(RuntimeError, match="Expected to not find"):
        tester.check_not(["torch.ops.aten.linear.default"])
    with pytest.raises(RuntimeError, match="Expected to"):
        tester.check_count({"torch.ops.aten.linear.default": 1})
    with pytest.raises(AssertionError, match=r"2 nodes call aten\.linear\.default instead of 3"):
        tester.check_node_count({torch.ops.aten.linear.default: 3})


def test_stages_have_an_order() -> None:
    tester = Tester(layers(), (torch.randn(2, 4),)).export()
    with pytest.raises(AssertionError, match="SERIALIZE cannot follow EXPORT; RUN_PASSES, TO_EDGE"):
        tester.serialize()
    with pytest.raises(AssertionError, match="EXPORT has run already"):
        tester.export()
    with pytest.raises(RuntimeError, match="SERIALIZE has not run yet"):
        tester.run_method_and_compare_outputs(StageType.SERIALIZE)


def test_differences_are_found_and_measured() -> None:
    seen: list[ErrorStatistics] = []
    reference, result = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 2.5]])
    with pytest.raises(AssertionError, match=r"output 0 .* differs .* at most 0\.5"):
        Tester._compare_outputs(reference, [result], statistics_callback=seen.append)
    assert seen[0].error_max == 0.5 and seen[0].error_mae == 0.25
    assert seen[0].sqnr == pytest.approx(10 * math.log10((1 + 2.5**2) / 0.5**2))
    with pytest.raises(AssertionError, match="shape"):
        Tester._compare_outputs(reference, [result[0]])
    with pytest.raises(AssertionError, match="1 of 2 bools"):
        Tester._compare_outputs(torch.tensor([True, False]), torch.tensor([True, True]))
    Tester._compare_outputs(reference, result, quantization_scale=0.25, qtol=2)


def test_artifacts_are_written(tmp_path: Path) -> None:
    tester = Tester(layers(), (torch.randn(2, 4),)).export().to_edge_transform_and_lower()
    tester.dump_artifact(str(tmp_path / "edge.txt"))
    assert EDGE_LINEAR.replace("linear", "addmm") in (tmp_path / "edge.txt").read_text()
    tester.to_executorch(ToExecutorch()).dump_artifact(str(tmp_path / "program.txt"))
    assert ": aten::addmm.out " in (tmp_path / "program.txt").read_text()
    tester.serialize().dump_artifact(str(tmp_path / "model.pte"))
    assert (tmp_path / "model.pte").read_bytes() == tester.get_artifact()
    with pytest.raises(RuntimeError, match="path_to_dump is needed"):
        tester.dump_artifact()
    tester.run_method_and_compare_outputs(artifact_dir=str(tmp_path / "golden"), artifact_name="layers")
    written = sorted(path.name for path in (tmp_path / "golden").iterdir())
    assert written == ["layers_expected_output.bin", "layers_input.bin"]
    assert (tmp_path / "golden" / "layers_input.bin").stat().st_size == 2 * 4 * 4


def test_artifacts_of_inputs_keep_their_memory_order(tmp_path: Path) -> None:
    image = torch.arange(24.0).reshape(1, 3, 2, 4).to(memory_format=torch.channels_last)
    Tester._dump_golden_artifacts(str(tmp_path), "model", (image,), [image.permute(0, 1, 3, 2)])
    given = torch.from_numpy(np.fromfile(tmp_path / "model_input.bin", np.float32))
    assert torch.equal(given, image.permute(0, 2, 3, 1).flatten())
    expected = torch.from_numpy(np.fromfile(tmp_path / "model_expected_output.bin", np.float32))
    assert torch.equal(expected, image.permute(0, 1, 3, 2).flatten())


def test_quantized_modules_have_dynamic_sizes() -> None:
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    shapes = ({0: torch.export.Dim("batch", max=9)},)
    tester = XnnpackTester(layers(), (torch.randn(2, 4),), dynamic_shapes=shapes)
    tester.quantize(Quantize(quantization_config=config)).export().to_edge_transform_and_lower()
    tester.check_count({DELEGATE: 1}).to_executorch().serialize()
    tester.run_method_and_compare_outputs(inputs=(torch.randn(7, 4),), atol=5e-2)
