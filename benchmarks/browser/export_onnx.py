"""Exports the network for onnxruntime-web. It runs in the Python environment of the peers.

python -m benchmarks.browser.export_onnx FILE
"""

from __future__ import annotations

import sys

import torch
from models.catalog import build


def main() -> None:
    """Writes the ONNX file to the path in the first argument."""
    case = build("mobilenet_v2")
    torch.onnx.export(case.module, case.inputs, sys.argv[1], dynamo=True, external_data=False)


if __name__ == "__main__":
    main()
