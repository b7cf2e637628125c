"""Compiles the model, runs it on batches of several sizes, and compares the results with eager PyTorch.

python run.py build/libsample_ops.so [model.pte]
"""

from __future__ import annotations

import sys

import torch
from sample_ops import Model
from torch.export import Dim

import rushlight

kernels = rushlight.load_library(sys.argv[1])
print(f"{kernels.name}: {', '.join(kernels.operators)}")

model = Model().eval()
program = rushlight.compile(model, (torch.randn(8, 4),), dynamic_shapes=({0: Dim("n", min=2, max=64)},))
if len(sys.argv) > 2:
    program.save(sys.argv[2])

module = rushlight.load(program.buffer)
for rows in (2, 8, 64):
    x = torch.randn(rows, 4)
    difference = (module(x) - model(x)).abs().max()
    print(f"{rows} rows: largest difference from eager PyTorch {difference:.1e}")
    assert difference < 1e-5
