"""The example of ExecuTorch's training extension: a network that learns the exclusive or of two bits."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.export.experimental import _export_forward_backward

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.edge import to_edge
from rushlight.compiler.executorch import ExecutorchProgramManager

XOR = (torch.tensor([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 0, 1, 1]))
"""The inputs: all pairs of bits, float32[4, 2]. The labels: 1 if the bits differ, else 0, int64[4]."""


class Net(torch.nn.Module):
    """Two linear layers with a sigmoid between them. The input and the scores are float32[n, 2]."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 10)
        self.linear2 = torch.nn.Linear(10, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns the scores of both classes."""
        scores: torch.Tensor = self.linear2(torch.sigmoid(self.linear(x)))
        return scores


class TrainingNet(torch.nn.Module):
    """A classifier with its loss, as it is exported for training.

    Args:
        net: the classifier, which returns scores float[n, classes].
    """

    def __init__(self, net: torch.nn.Module) -> None:
        super().__init__()
        self.net = net
        self.loss = torch.nn.CrossEntropyLoss()

    def forward(self, input: torch.Tensor, label: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the loss for labels int64[n], and the class with the largest score, int64[n]."""
        scores = self.net(input)
        return self.loss(scores, label), scores.detach().argmax(dim=1)


def _export_model(external_mutable_weights: bool = False) -> ExecutorchProgramManager:
    """Compiles the forward and backward passes of the network, with batch size 1.

    Args:
        external_mutable_weights: store the weights in a data file.
    """
    inputs = (torch.randn(1, 2), torch.ones(1, dtype=torch.int64))
    exported = torch.export.export(TrainingNet(Net()), inputs, strict=True)
    return to_edge(_export_forward_backward(exported)).to_executorch(
        ExecutorchBackendConfig(external_mutable_weights=external_mutable_weights)
    )


def main() -> None:
    """Writes `xor.pte` to the folder `--outdir`. With `--external`, the weights are in `xor.ptd`."""
    torch.manual_seed(0)
    parser = argparse.ArgumentParser()
    parser.add_argument("--outdir", required=True, type=Path, help="the folder to write to")
    parser.add_argument("--external", action="store_true", help="store the weights in a data file")
    options = parser.parse_args()
    program = _export_model(options.external)
    options.outdir.mkdir(parents=True, exist_ok=True)
    program.save(str(options.outdir / "xor.pte"))
    if options.external:
        program.write_tensor_data_to_file(str(options.outdir))
        (data,) = options.outdir.glob("_default_external_constant.ptd")
        data.replace(options.outdir / "xor.ptd")
