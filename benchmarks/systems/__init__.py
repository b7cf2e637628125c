"""The systems that are measured.

Each file of this folder defines a kind of system with two functions:

- `write(case, folder, options)` prepares the model ahead of time, and writes the result into `folder`;
- `load(folder, threads)` returns a function `run(arrays)`, which maps the inputs of the model to its outputs.
  All arrays are contiguous. A fresh process imports the file and calls `load`, so that the file imports at
  its top only the packages that running needs.

A file may also define `load_many(folder, callers)`, which returns such a function for each of several
threads. Without it, `load` is called for each thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.process import MAIN, PEERS


@dataclass(frozen=True)
class System:
    label: str
    kind: str  # the name of the file in this folder
    python: Path
    options: str = ""  # the options for `write`
    int8: bool = False
    is_slow: bool = False  # too slow to run as often as the others


SYSTEMS = {
    "rushlight": System("Rushlight, highest", "rushlight", MAIN),
    "rushlight_high": System("Rushlight, high", "rushlight", MAIN, "high"),
    "rushlight_xnnpack": System("Rushlight + XNNPACK", "rushlight", MAIN, "xnnpack"),
    "rushlight_kernels": System("Rushlight, kernels alone", "rushlight", MAIN, "kernels"),
    "executorch_xnnpack": System("ExecuTorch + XNNPACK", "executorch", PEERS, "xnnpack"),
    "executorch_portable": System("ExecuTorch, kernels alone", "executorch", PEERS, is_slow=True),
    "onnxruntime": System("ONNX Runtime", "onnxruntime", PEERS),
    "openvino": System("OpenVINO", "openvino", PEERS),
    "litert": System("LiteRT", "litert", PEERS),
    "torch_compile": System("torch.compile", "torch_compile", PEERS),
    "torch_max_autotune": System(
        "torch.compile, max-autotune", "torch_compile", PEERS, "max-autotune-no-cudagraphs"
    ),
    "eager": System("PyTorch eager", "eager", PEERS),
    "rushlight_float": System("Rushlight, float32", "rushlight", MAIN, int8=True),
    "rushlight_int8": System("Rushlight", "rushlight", MAIN, "int8", int8=True),
    "rushlight_kernels_int8": System(
        "Rushlight, kernels alone", "rushlight", MAIN, "kernels int8", int8=True
    ),
    "rushlight_xnnpack_int8": System("Rushlight + XNNPACK", "rushlight", MAIN, "xnnpack int8", int8=True),
    "executorch_xnnpack_int8": System("ExecuTorch + XNNPACK", "executorch", PEERS, "xnnpack int8", int8=True),
    "onnxruntime_int8": System("ONNX Runtime", "onnxruntime", PEERS, "int8", int8=True),
    "openvino_int8": System("OpenVINO", "openvino", PEERS, "int8", int8=True),
    "litert_int8": System("LiteRT", "litert", PEERS, "int8", int8=True),
}

# The systems that are measured by default: Rushlight's, then the peers for the comparison with the fastest.
OURS = ("rushlight", "rushlight_high", "rushlight_xnnpack")
PEER_NAMES = ("executorch_xnnpack", "onnxruntime", "openvino", "litert", "torch_compile")
DEFAULT = (*OURS, *PEER_NAMES, "eager")
OURS_INT8 = ("rushlight_int8", "rushlight_xnnpack_int8")
PEER_NAMES_FIELD = (*PEER_NAMES[:-1], "torch_max_autotune")
PEER_NAMES_INT8 = ("executorch_xnnpack_int8", "onnxruntime_int8", "openvino_int8", "litert_int8")
DEFAULT_INT8 = ("rushlight_float", *OURS_INT8, *PEER_NAMES_INT8)
