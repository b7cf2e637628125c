"""Scratch memory of steps with dynamic sizes."""

from __future__ import annotations

import torch

import rushlight
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.quantize import quantize


def test_smaller_inputs_may_need_more_scratch_memory() -> None:
    """A convolution of a single image may use an algorithm that needs more than that of a batch."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(20, 20, 3, padding=1), torch.nn.ReLU()).eval()
    shapes = ({0: torch.export.Dim("batch", min=1, max=5)},)
    x = torch.randn(5, 20, 8, 12)
    exported = torch.export.export(model, (x,), dynamic_shapes=shapes)
    config = get_symmetric_quantization_config(is_per_channel=True)
    program = quantize(exported, None, XNNPACKQuantizer().set_global(config), [x])
    want = program.module()(x)
    for threads in (1, 2):
        blob = rushlight.compile(program, partitioner=[XnnpackPartitioner()]).buffer
        module = rushlight.load(blob, threads=threads)
        for count in (5, 1, 1, 2, 5, 1):
            step = want.abs().max().item() / 100
            torch.testing.assert_close(module(x[:count].clone()), want[:count], atol=step, rtol=0)
