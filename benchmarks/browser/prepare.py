"""Writes the files that the page loads: the network in three formats, an input and the expected output."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import torch
from models.catalog import build
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

import rushlight
from benchmarks.process import PEERS, ROOT
from rushlight.backends.cpu.partitioner import CpuPartitioner

HERE = Path(__file__).parent
NETWORK = "mobilenet_v2"
# The files that a page with this peer and one thread loads.
PEER_FILES = {
    "onnxruntime": (
        "onnxruntime-web/dist/ort.wasm.min.mjs",
        "onnxruntime-web/dist/ort-wasm-simd-threaded.mjs",
        "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm",
    ),
    "tfjs": (
        "@tensorflow/tfjs-core/dist/tf-core.es2017.min.js",
        "@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.es2017.min.js",
        "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm",
    ),
}


def prepare(site: Path) -> None:
    """Writes the site.

    Args:
        site: the folder; it may have files of an earlier run.
    """
    shutil.copytree(HERE / "page", site, dirs_exist_ok=True)
    _install_peers(site)
    case = build(NETWORK)
    (image,) = case.inputs
    with torch.no_grad():
        expected = case.module(image)
    image.numpy().tofile(site / "input.bin")
    image.permute(0, 2, 3, 1).contiguous().numpy().tofile(site / "input-channels-last.bin")
    expected.numpy().tofile(site / "expected.bin")
    program = site / f"{NETWORK}.pte"
    rushlight.compile(case.module, case.inputs, partitioner=[CpuPartitioner(target="generic")]).save(program)
    layers, weights = fused_layers(case.module)
    (site / "layers.json").write_text(json.dumps(layers))
    torch.cat([tensor.flatten() for tensor in weights]).numpy().tofile(site / "weights.bin")
    exporter: list[str | Path] = [PEERS, "-m", "benchmarks.browser.export_onnx", site / f"{NETWORK}.onnx"]
    subprocess.run(exporter, check=True, cwd=ROOT)


def _install_peers(site: Path) -> None:
    """Installs the packages of package.json if they are not installed."""
    wanted, present = HERE / "package.json", site / "package.json"
    if (site / "node_modules").exists() and present.exists() and present.read_text() == wanted.read_text():
        return
    shutil.copy(wanted, present)
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(site)]
    subprocess.run(command, check=True)


def fused_layers(network: nn.Module) -> tuple[list[dict[str, Any]], list[torch.Tensor]]:
    """Converts the network of torchvision to a list of layers for TensorFlow.js.

    Args:
        network: MobileNetV2 in eval mode.

    Returns:
        Layers in the order of their execution, and their weights in the order of their use. A convolution
        has its batch norm fused, and its weights are [kernel_h, kernel_w, inputs, outputs] float32.
    """
    writer = _LayerWriter()
    features = network.features
    assert isinstance(features, nn.Sequential)
    for block in features:
        if isinstance(block, nn.Sequential):
            writer.add_sequence(block)
        else:
            writer.add_block(block)
    classifier = network.classifier
    assert isinstance(classifier, nn.Sequential)
    linear = classifier[-1]
    assert isinstance(linear, nn.Linear)
    writer.add_classifier(linear)
    return writer.layers, writer.weights


class _LayerWriter:
    """The layers and weights so far; see `fused_layers`."""

    def __init__(self) -> None:
        self.layers: list[dict[str, Any]] = []
        self.weights: list[torch.Tensor] = []

    def add_block(self, block: nn.Module) -> None:
        """Adds an inverted residual block. If it has a skip connection, marks its first and last layers."""
        first = len(self.layers)
        sequence = block.conv
        assert isinstance(sequence, nn.Sequential)
        self.add_sequence(sequence)
        if block.use_res_connect:
            self.layers[first]["keeps"] = True
            self.layers[-1]["adds"] = True

    def add_sequence(self, sequence: nn.Sequential) -> None:
        """Adds the convolutions of a sequence: each has a batch norm after it, and then perhaps a ReLU6."""
        modules = list(sequence)
        while modules:
            head = modules.pop(0)
            if isinstance(head, nn.Sequential):
                self.add_sequence(head)
                continue
            assert isinstance(head, nn.Conv2d)
            norm = modules.pop(0)
            assert isinstance(norm, nn.BatchNorm2d)
            clamps = bool(modules) and isinstance(modules[0], nn.ReLU6)
            if clamps:
                modules.pop(0)
            self.add_convolution(head, norm, clamps)

    def add_convolution(self, convolution: nn.Conv2d, norm: nn.BatchNorm2d, clamps: bool) -> None:
        """Adds a convolution with its batch norm. `clamps` says whether a ReLU6 follows."""
        fused = fuse_conv_bn_eval(convolution, norm)
        is_depthwise = fused.groups > 1
        order = (2, 3, 0, 1) if is_depthwise else (2, 3, 1, 0)
        weight = fused.weight.detach().permute(order).contiguous()
        assert fused.bias is not None
        self.weights.extend([weight, fused.bias.detach()])
        self.layers.append(
            {
                "kind": "depthwise" if is_depthwise else "convolution",
                "shape": list(weight.shape),
                "outputs": fused.out_channels,
                "stride": fused.stride[0],
                "pad": int(fused.padding[0]),
                "clamps": clamps,
            }
        )

    def add_classifier(self, linear: nn.Linear) -> None:
        """Adds the mean over the image and the last layer."""
        assert linear.bias is not None
        self.weights.extend([linear.weight.detach().t().contiguous(), linear.bias.detach()])
        self.layers.append({"kind": "classifier", "shape": [linear.in_features, linear.out_features]})
