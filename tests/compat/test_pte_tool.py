"""The differences of two programs in the form of ExecuTorch's `devtools.pte_tool`."""

from __future__ import annotations

from collections.abc import Callable

import torch

import rushlight
from rushlight.compat.pte_tool import diff_pte, format_diff_result
from rushlight.compiler import ExecutorchBackendConfig


class Scaled(torch.nn.Module):
    sum: torch.Tensor

    def __init__(self, weight: list[float], operator: str = "add", state: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("weight", torch.tensor(weight))
        self.register_buffer("sum", torch.full((2,), state))
        self.function = operator

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.sum.add_(1.0)
        function: Callable[..., torch.Tensor] = getattr(torch, self.function)
        return function(x, self.weight)


def compiled(weight: list[float], operator: str = "add", state: float = 0.0) -> bytes:
    config = ExecutorchBackendConfig(emit_mutable_buffer_names=True)
    return rushlight.compile(
        Scaled(weight, operator, state), (torch.ones(len(weight)),), partitioner=(), backend_config=config
    ).buffer


A = [1.0, 2.0, 3.0, 4.0]


def test_equal_files() -> None:
    result = diff_pte(compiled(A), compiled(A), "a.pte", "b.pte")
    assert result.bitwise_equal and result.plan_diffs == [] and result.error is None
    text = format_diff_result(result)
    assert "a.pte" in text and "b.pte" in text and "bitwise equal" in text


def test_other_weights() -> None:
    result = diff_pte(compiled(A), compiled([1.0, 2.5, 3.0, 1.0]), max_samples=1)
    assert not result.bitwise_equal
    (method,) = result.plan_diffs
    (tensor,) = method.tensor_diffs
    assert (tensor.num_elements, tensor.num_differing) == (4, 2)
    assert (tensor.max_abs_diff, tensor.mean_abs_diff) == (3.0, 3.5 / 4)
    (element,) = tensor.element_diffs
    assert (element.flat_index, element.multi_index) == (1, (1,))
    assert (element.value_a, element.value_b) == (2.0, 2.5)
    assert [usage.name for usage in tensor.tensor_a.operator_usages] == ["aten::add.out"]
    text = format_diff_result(result, verbose=True)
    assert "NOT bitwise equal" in text and "2 of 4 elements differ, max_abs_diff 3" in text
    assert "byte sizes: 16 vs 16" in text


def test_another_initial_state() -> None:
    (method,) = diff_pte(compiled(A, state=3.0), compiled(A, state=7.0)).plan_diffs
    (tensor,) = method.tensor_diffs
    assert (tensor.num_differing, tensor.max_abs_diff, tensor.tensor_a.fqn) == (2, 4.0, "sum")


def test_other_operators_and_shapes() -> None:
    result = diff_pte(compiled(A), compiled([1.0, 2.0], "mul"))
    (method,) = result.plan_diffs
    assert method.operators_only_in_a != method.operators_only_in_b
    assert "aten::mul.out" in method.operators_only_in_b
    changed = {item.field_name for tensor in method.tensor_diffs for item in tensor.metadata_diffs}
    assert "sizes" in changed
    assert "sizes: [4] vs [2]" in format_diff_result(result)


def test_files_that_are_no_programs() -> None:
    result = diff_pte(b"", compiled(A))
    assert result.error is not None and result.error.startswith("Deserialization failed")
    assert "Deserialization failed" in format_diff_result(result)
