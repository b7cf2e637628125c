"""Runs in the environment with ExecuTorch: `python -m tests.emit.peer FOLDER`.

It lowers the cases with ExecuTorch, and runs the .pte files of the folder, which Rushlight wrote. It writes
`peer.json` with the structure of ExecuTorch's program and the result of the comparison with eager PyTorch.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from tests.emit.cases import CASES
from torch.utils import _pytree as pytree


def structure(program: Any) -> Any:
    """Returns the calls of the program with their arguments, and its signature, without memory offsets."""
    (plan,) = program.execution_plan

    def spell(index: Any) -> Any:
        value = plan.values[index].val
        kind, fields = type(value).__name__, vars(value)
        if kind == "Tensor":
            return [kind, value.scalar_type.name, list(value.sizes), value.shape_dynamism.name]
        if kind in ("IntList", "TensorList", "OptionalTensorList"):
            return [kind, *(None if item < 0 else spell(item) for item in value.items)]
        return [kind, *map(repr, fields.values())]

    calls = []
    for instruction in plan.chains[0].instructions:
        call = instruction.instr_args
        if type(call).__name__ == "KernelCall":
            operator = plan.operators[call.op_index]
            calls.append([operator.name, operator.overload, *map(spell, call.args)])
        else:
            calls.append([type(call).__name__])
    return {
        "calls": calls,
        "inputs": [spell(i) for i in plan.inputs],
        "outputs": [spell(i) for i in plan.outputs],
        "container": [
            json.loads(text)
            for text in (plan.container_meta_type.encoded_inp_str, plan.container_meta_type.encoded_out_str)
        ],
        "planned": plan.non_const_buffer_sizes,
    }


def agrees(make: Any, args: Any, data: Any) -> None:
    from executorch.runtime import Runtime

    program = Runtime.get().load_program(data)
    method = program.load_method("forward")
    torch.manual_seed(0)
    module = make().eval()
    for inputs in (args, args):
        expected = pytree.tree_leaves(module(*(a.clone() for a in inputs)))
        results = method.execute([a.clone() for a in inputs])
        for result, reference in zip(results, expected, strict=True):
            if isinstance(reference, torch.Tensor):
                torch.testing.assert_close(result, reference)
            else:
                assert result == reference, (result, reference)


def main(folder: Any) -> None:
    from executorch.exir import to_edge

    report: dict[str, dict[str, Any]] = {}
    for name, (make, args, dynamic_shapes) in CASES.items():
        entry = report[name] = {"structure": None, "failure": None}
        torch.manual_seed(0)
        try:
            exported = torch.export.export(make().eval(), args, dynamic_shapes=dynamic_shapes, strict=False)
            entry["structure"] = structure(to_edge(exported).to_executorch().executorch_program)
        except Exception as error:
            entry["unsupported"] = f"{type(error).__name__}: {error}"[:300]
        try:
            agrees(make, args, (folder / f"{name}.pte").read_bytes())
        except Exception as error:
            entry["failure"] = f"{type(error).__name__}: {error}"[:600]
    (folder / "peer.json").write_text(json.dumps(report))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
