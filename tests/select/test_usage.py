"""`select/usage.py`: the operators and dtypes in programs, lists and ExecuTorch's YAML files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import rushlight
from rushlight.backends.cpu.plan.tables import UnaryFunction
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.format.program import ScalarType
from rushlight.quantize import quantize, weight_only_int8
from rushlight.select.usage import Usage, read_usage, usage_of_program


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([x + y, x])


INPUTS = (torch.zeros(2), torch.zeros(2))


def test_operators_and_dtypes_of_a_program() -> None:
    usage = usage_of_program(rushlight.compile(Add(), INPUTS, partitioner=()).buffer)
    assert usage.operators == {
        "aten::add.out": frozenset({ScalarType.FLOAT}),
        "aten::cat.out": frozenset({ScalarType.FLOAT}),
    }
    assert usage.dtypes == frozenset({ScalarType.FLOAT})


def test_steps_and_targets_of_plans() -> None:
    usage = usage_of_program(rushlight.compile(torch.nn.Linear(4, 4), (torch.zeros(1, 4),)).buffer)
    assert usage.operators == {}
    assert "Gemm" in usage.steps
    assert len(usage.targets) == 1


def test_functions_windows_and_16_bit_floats_of_plans() -> None:
    layers = [torch.nn.Conv2d(8, 8, 5, groups=8, padding=2), torch.nn.SiLU()]
    image = torch.zeros(1, 8, 12, 12)
    usage = usage_of_program(rushlight.compile(torch.nn.Sequential(*layers), (image,)).buffer)
    assert usage.functions == {UnaryFunction.SILU}
    assert usage.windows == {5}
    assert not usage.features
    half = rushlight.compile(torch.nn.Linear(64, 64), (torch.zeros(1, 64),), weights=torch.float16)
    assert "f16" in usage_of_program(half.buffer).features


class Largest(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x).amax(dim=(2, 3))


def test_maxima_over_dimensions_are_a_feature() -> None:
    image = torch.zeros(1, 8, 12, 12)
    assert usage_of_program(rushlight.compile(Largest(), (image,)).buffer).features == {"extremes"}
    pooled = rushlight.compile(torch.nn.AdaptiveAvgPool2d(1), (image,))
    assert not usage_of_program(pooled.buffer).features


class PreActivation(torch.nn.Module):
    """A residual block, whose convolution applies the batch norm before it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(8, 32, 3)
        self.norm = torch.nn.BatchNorm2d(32)
        self.last = torch.nn.Conv2d(32, 32, 1)
        torch.nn.init.uniform_(self.norm.running_mean, -1, 1)  # type: ignore[arg-type]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        return self.last(torch.relu(self.norm(y))) + y


def test_a_batch_norm_before_a_convolution_is_a_prologue() -> None:
    image = torch.zeros(1, 8, 12, 12)
    assert usage_of_program(rushlight.compile(PreActivation().eval(), (image,)).buffer).features == {
        "prologue"
    }


def test_int8_weights_of_float32_products_are_grouped() -> None:
    x = torch.zeros(3, 96)
    quantizer = CpuQuantizer().set_global(weight_only_int8())
    program = rushlight.compile(quantize(torch.nn.Linear(96, 8), (x,), quantizer, [(x,)]))
    assert usage_of_program(program.buffer).features == {"grouped"}


def test_other_backends_are_refused() -> None:
    program = rushlight.compile(
        torch.nn.Linear(4, 4), (torch.zeros(1, 4),), partitioner=(XnnpackPartitioner(),)
    ).buffer
    with pytest.raises(ValueError, match="method 'forward' uses XnnpackBackend"):
        usage_of_program(program)


def test_list_of_operators(tmp_path: Path) -> None:
    path = tmp_path / "operators.txt"
    path.write_text(
        "aten::add.out float32,int32  # a remark\naten::where.self_out bool 1,2,3:float32\naten::mm.out\n"
    )
    usage = read_usage(path)
    assert usage.operators == {
        "aten::add.out": frozenset({ScalarType.FLOAT, ScalarType.INT}),
        "aten::where.self_out": frozenset({ScalarType.BOOL, ScalarType.FLOAT}),
        "aten::mm.out": None,
    }
    assert usage.dtypes is None


def test_unknown_dtype_in_a_list(tmp_path: Path) -> None:
    path = tmp_path / "operators.txt"
    path.write_text("aten::add.out float33\n")
    with pytest.raises(ValueError, match="no dtype is named float33"):
        read_usage(path)


def test_yaml_of_executorch(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "selected_operators.yaml"
    path.write_text(
        "operators:\n  aten::add.out: {is_root_operator: true}\n  aten::mm.out: {}\n"
        "et_kernel_metadata:\n  aten::add.out: ['v1/6;0,1|6;0,1|4;0|6;0,1']\n  aten::mm.out: [default]\n"
    )
    usage = read_usage(path)
    assert usage.operators == {
        "aten::add.out": frozenset({ScalarType.FLOAT, ScalarType.LONG}),
        "aten::mm.out": None,
    }
    path.write_text("include_all_operators: true\noperators: {}\n")
    assert read_usage(path).every_operator


def test_usages_join() -> None:
    both = Usage({"a::b": frozenset({ScalarType.FLOAT})}) | Usage({"a::b": frozenset({ScalarType.INT})})
    assert both.operators["a::b"] == {ScalarType.FLOAT, ScalarType.INT}
    assert (both | Usage({"a::b": None})).operators["a::b"] is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("program.pte", b"not a program at all", "program.pte"),
        ("bundle.bpte", b"\0\0\0\0BP08" + b"\xff" * 64, "bundle.bpte"),
        ("operators.txt", b"aten::add.out float32 what is this", "operators.txt: line 1"),
        ("operators.txt", b"aten::add.out float31", "operators.txt: no dtype is named float31"),
        ("operators.txt", b"\xff\xfe", "operators.txt is neither"),
        ("operators.yaml", b"operators: [", "operators.yaml is not valid YAML"),
        ("operators.yaml", b"operators: [a]", "operators.yaml is not a selected_operators.yaml"),
        (
            "operators.yaml",
            b"et_kernel_metadata: 3\noperators: {a: 1}",
            "operators.yaml: `et_kernel_metadata`",
        ),
        (
            "operators.yaml",
            b"operators: {a: 1}\net_kernel_metadata: {a: {'v1/x;0': [d]}}",
            "operators.yaml: the kernel key 'v1/x;0'",
        ),
        (
            "operators.yaml",
            b"operators: {a: 1}\net_kernel_metadata: {a: true}",
            "operators.yaml: the kernel keys True",
        ),
        ("operators.yaml", b"\xff\xfe\xff", "operators.yaml"),
    ],
)
def test_errors_name_the_file(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(message)):
        read_usage(path)
