"""Quantized programs of each system run in the XnnpackBackend of the other, with the same results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.interop.cases import QUANTIZED, Ask, build_quantized
from torchao.quantization import quantize_
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.exir import EdgeProgramManager, to_edge_transform_and_lower
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import dynamic_int8_weight_int4
from rushlight.runtime import BackendRegistry, Runtime

pytestmark = pytest.mark.skipif(
    not BackendRegistry().is_available("XnnpackBackend"), reason="this build has no XnnpackBackend"
)


def assert_agree(got: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    """Requires equal results. Few may differ by one quantum, because ties may round differently."""
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        largest = float(b.abs().max())
        assert (a - b).abs().max() <= 0.02 * largest
        assert (a - b).abs().mean() <= 0.0005 * largest


def run(path: Path, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    method = Runtime.get().load_program(path).load_method("forward")
    return [torch.as_tensor(item).clone() for item in method.execute(inputs)]


@pytest.mark.parametrize("name", QUANTIZED)
def test_its_files_run_here(name: str, peer: Ask, tmp_path: Path) -> None:
    peer({"quantize": name, "folder": str(tmp_path)})
    saved = torch.load(tmp_path / "expected.pt")
    assert_agree(run(tmp_path / "model.pte", saved["inputs"]), saved["outputs"])


@pytest.mark.parametrize("name", QUANTIZED)
def test_our_files_run_there(name: str, peer: Ask, tmp_path: Path) -> None:
    module, inputs = build_quantized(name)
    arguments: Any = QUANTIZED[name]
    config = (
        dynamic_int8_weight_int4() if arguments is None else get_symmetric_quantization_config(**arguments)
    )
    program = quantize(module, inputs, XNNPACKQuantizer().set_global(config), [inputs])
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    called = [node for node in edge.exported_program().graph.nodes if node.op == "call_function"]
    assert {getattr(node.target, "__name__", "") for node in called} == {
        "executorch_call_delegate",
        "getitem",
    }
    _run_in_both(edge, inputs, peer, tmp_path)


def test_our_files_of_quantized_tensors_run_there(peer: Ask, tmp_path: Path) -> None:
    module, inputs = build_quantized("dynamic_4_bit_groups")
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))  # type: ignore[attr-defined]
    quantize_(module, config)
    edge = to_edge_transform_and_lower(
        torch.export.export(module, inputs), partitioner=[XnnpackPartitioner()]
    )
    _run_in_both(edge, inputs, peer, tmp_path)


@pytest.mark.parametrize("inputs", [8, 21, 40])
def test_our_files_of_4_bit_rows_run_there(inputs: int, peer: Ask, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, example = torch.nn.Linear(inputs, 11), (torch.randn(3, inputs),)
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerAxis(0))  # type: ignore[attr-defined]
    quantize_(model, config)
    edge = to_edge_transform_and_lower(
        torch.export.export(model, example), partitioner=[XnnpackPartitioner()]
    )
    _run_in_both(edge, example, peer, tmp_path)


def _run_in_both(edge: EdgeProgramManager, inputs: Any, peer: Ask, tmp_path: Path) -> None:
    path, tensors = tmp_path / "model.pte", tmp_path / "tensors.pt"
    path.write_bytes(bytes(edge.to_executorch().buffer))
    torch.save({"inputs": list(inputs)}, tensors)
    peer({"run": str(path), "tensors": str(tensors)})
    assert_agree(run(path, list(inputs)), torch.load(tensors)["outputs"])
