"""Measures the accuracy of the compiled digits classifier, in float and in every quantized form.

usage: quantized.py [--folds 5]
With five folds, every one of the 1797 images is a test image once: it is used neither for training nor for
calibration of the network that classifies it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from model import DigitsNet, digits, train
from torchao.quantization.pt2e import (
    allow_exported_model_train_eval,
    disable_observer,
    move_exported_model_to_eval,
)

import rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.quantize import (
    convert_pt2e,
    dynamic_int8,
    export_float,
    prepare_qat_pt2e,
    quantize,
    static_int8,
    weight_only_int4,
    weight_only_int8,
)

SHAPES = ({0: torch.export.Dim("batch", min=2, max=4096)},)


def train_quantized(net: DigitsNet, x: torch.Tensor, y: torch.Tensor, epochs: int = 8) -> Any:
    """Trains the trained net further with fake quantization (QAT), and returns the quantized program.

    The learning rate falls along a half cosine. The statistics of batch norm are frozen after half of the
    epochs, and the ranges after three quarters. The last steps therefore train with the final parameters.
    """
    program = torch.export.export(net.train(), (x[:4],), dynamic_shapes=SHAPES)
    net.eval()
    prepared = prepare_qat_pt2e(program, CpuQuantizer().set_global(static_int8(qat=True)))
    allow_exported_model_train_eval(prepared)
    torch.manual_seed(0)
    optimizer = torch.optim.Adam(prepared.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        prepared.train(epoch < epochs // 2)
        if epoch == epochs * 3 // 4:
            prepared.apply(disable_observer)
        for rows in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(prepared(x[rows]), y[rows]).backward()
            optimizer.step()
        schedule.step()
    move_exported_model_to_eval(prepared)
    return torch.export.export(convert_pt2e(prepared), (x[:4],), dynamic_shapes=SHAPES, strict=False)


def forms(net: DigitsNet, x: torch.Tensor, y: torch.Tensor, calibration: int = 512) -> dict[str, Any]:
    """Returns the float program and the quantized programs by name.

    Args:
        net: the trained network.
        x: the training images, float32 [n, 1, 8, 8]. The first ones are used for calibration.
        y: their labels, int64 [n].
        calibration: the number of images for calibration.
    """
    program = export_float(net, (x[:4],), SHAPES)
    data = x[:calibration].split(64)

    def after(config: Any) -> Any:
        return quantize(program, None, CpuQuantizer().set_global(config), data, dynamic_shapes=SHAPES)

    makes: dict[str, Callable[[], Any]] = {
        "float": lambda: program,
        "static int8": lambda: after(static_int8()),
        "int8, trained (QAT)": lambda: train_quantized(net, x, y),
        "dynamic int8": lambda: after(dynamic_int8()),
        "8-bit weights": lambda: after(weight_only_int8()),
        "4-bit weights": lambda: after(weight_only_int4()),
    }
    return {name: make() for name, make in makes.items()}


def right(folds: int = 5) -> dict[str, tuple[int, int, float]]:
    """Returns for each form: correct predictions, number of test images, mean size of the file in bytes."""
    counts: dict[str, tuple[int, int, float]] = {}
    for fold in range(folds):
        train_images, train_labels, images, labels = digits(fold=fold)
        net = train(train_images, train_labels)
        for name, program in forms(
            net, torch.from_numpy(train_images), torch.from_numpy(train_labels)
        ).items():
            compiled = rushlight.compile(program)
            predicted = np.asarray(rushlight.load(compiled.buffer)(images)).argmax(1)
            before = counts.get(name, (0, 0, 0.0))
            counts[name] = (
                before[0] + int((predicted == labels).sum()),
                before[1] + len(labels),
                before[2] + len(compiled.buffer) / folds,
            )
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=5, choices=range(1, 6))
    counts = right(parser.parse_args().folds)
    exact = counts["float"][0] / counts["float"][1]
    print(f"{'correct predictions':24}{'share':>8}{'points':>8}{'file, KiB':>11}")
    for name, (good, total, size) in counts.items():
        points = (good / total - exact) * 100
        print(f"{name:24}{good / total:>8.2%}{points:>+8.2f}{size / 1024:>11.1f}   {good} of {total}")


if __name__ == "__main__":
    main()
