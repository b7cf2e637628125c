"""A batch norm after a convolution is folded into the convolution."""

from __future__ import annotations

import pytest
import torch
from tests.passes.support import apply_to_program, calls, edge_of

from rushlight.passes.fold_batch_norm import FoldBatchNormPass


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("bias", [False, True])
def test_fold_batch_norm(transposed: bool, groups: int, bias: bool) -> None:
    kind = torch.nn.ConvTranspose2d if transposed else torch.nn.Conv2d
    norm = torch.nn.BatchNorm2d(6)
    assert norm.running_mean is not None and norm.running_var is not None
    with torch.no_grad():
        for tensor in (norm.weight, norm.bias, norm.running_mean):
            tensor.uniform_(-2, 2)
        norm.running_var.uniform_(0.1, 3)
    net = torch.nn.Sequential(kind(4, 6, 3, groups=groups, bias=bias), norm, torch.nn.ReLU())
    x = torch.randn(2, 4, 8, 8)
    program = edge_of(net, x)
    result = apply_to_program(FoldBatchNormPass(), program)
    folded = result.exported_program
    assert result.modified and calls(folded.graph_module) == ["convolution.default", "relu.default"]
    torch.testing.assert_close(folded.module()(x), net.eval()(x), rtol=1e-5, atol=1e-5)


class Shared(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(2, 2, 1), torch.nn.BatchNorm2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return self.norm(y) + y


def test_batch_norm_after_a_shared_convolution_stays() -> None:
    program = edge_of(Shared(), torch.randn(1, 2, 3, 3))
    assert not FoldBatchNormPass()(program).modified
