"""Runs in the environment that has ExecuTorch: compiles and runs programs on request.

Requests are lines of JSON: {"compile": case, "folder": path} writes model.pte and, as expected.pt, inputs
and eager's outputs, with XNNPACK delegates if "backend" is "xnnpack"; {"run": path of a .pte, "tensors":
path} replaces {"inputs": ...} there by {"outputs": ...}. The answer is {"ok": true} or {"error": text}.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
logging.disable(logging.WARNING)
sys.path.insert(0, str(Path(__file__).parent))

import torch  # noqa: E402
from cases import build  # noqa: E402
from executorch.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower  # noqa: E402
from executorch.runtime import Runtime  # noqa: E402


def compile_case(name: str, folder: Path, backend: str | None) -> None:
    module, inputs = build(name)
    with torch.no_grad():
        outputs = torch.utils._pytree.tree_leaves(module(*inputs))
    exported = torch.export.export(module, inputs)
    edge = to_edge(exported) if backend is None else lower_to_xnnpack(exported)
    program = edge.to_executorch()
    (folder / "model.pte").write_bytes(program.buffer)
    torch.save({"inputs": list(inputs), "outputs": outputs}, folder / "expected.pt")


def lower_to_xnnpack(program: torch.export.ExportedProgram) -> EdgeProgramManager:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])


def run(path: Path, tensors: Path) -> None:
    program = Runtime.get().load_program(path.read_bytes())
    method = program.load_method("forward")
    torch.save(
        {"outputs": [output.clone() for output in method.execute(torch.load(tensors)["inputs"])]}, tensors
    )


for line in sys.stdin:
    request = json.loads(line)
    try:
        if "compile" in request:
            compile_case(request["compile"], Path(request["folder"]), request.get("backend"))
        else:
            run(Path(request["run"]), Path(request["tensors"]))
        answer = {"ok": True}
    except Exception:
        answer = {"error": traceback.format_exc()}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
