"""`rushlight info`: what a program holds."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from rushlight.cli.arguments import Commands, describe, size_text
from rushlight.format.program import DelegateCall, ExecutionPlan, KernelCall, Tensor, TensorDataLocation
from rushlight.format.pte import PTEFile, read_pte
from rushlight.runtime import MethodMeta, Runtime


def add_to(commands: Commands) -> None:
    """Declares the subcommand."""
    parser = commands.add_parser("info", help="print methods, inputs, outputs, memory, operators and data")
    parser.add_argument("program", help="a .pte file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Prints what the program holds."""
    facts = collect(Path(options.program))
    if options.json:
        print(json.dumps(facts, indent=2))
        return
    print(f"{facts['file']}: {size_text(facts['bytes'])}, {size_text(facts['constant_bytes'])} of constants")
    if facts["named_data"]:
        print("  named data: " + ", ".join(f"{k} ({size_text(n)})" for k, n in facts["named_data"].items()))
    for method in facts["methods"]:
        print(f"method {method['name']}: {method['instructions']} instructions")
        for kind in ("inputs", "outputs"):
            for index, text in enumerate(method[kind]):
                print(f"  {kind[:-1]} {index}: {text}")
        sizes = method["planned_bytes"]
        detail = f" ({', '.join(map(size_text, sizes))})" if len(sizes) > 1 else ""
        print(f"  planned memory: {size_text(sum(sizes))}{detail}")
        for kind in ("operators", "delegates"):
            for name, count in method[kind].items():
                missing = "" if name in method["available"] else "  (not in this runtime)"
                print(f"  {count:5} x {name}{missing}")
        if method["external_data"]:
            print(f"  external data: {', '.join(method['external_data'])}")


def collect(path: Path) -> dict[str, Any]:
    """The facts as plain data.

    Raises:
        FileMissingError, InvalidProgramError: as loading the program does.
    """
    program = Runtime.get().load_program(path)
    data = path.read_bytes()
    file = read_pte(data)
    return {
        "file": str(path),
        "bytes": len(data),
        "constant_bytes": sum(len(memoryview(constant)) for constant in file.constants),
        "delegate_bytes": sum(len(memoryview(blob)) for blob in file.delegate_data),
        "named_data": {key: len(memoryview(entry.data)) for key, entry in file.named_data.items()},
        "methods": [_method(file, plan, program.metadata(plan.name)) for plan in file.program.execution_plan],
    }


def _method(file: PTEFile, plan: ExecutionPlan, meta: MethodMeta) -> dict[str, Any]:
    operators: Counter[str] = Counter()
    delegates: Counter[str] = Counter()
    for instruction in (i for chain in plan.chains for i in chain.instructions):
        call = instruction.instr_args
        if isinstance(call, KernelCall):
            operator = plan.operators[call.op_index]
            operators[operator.name + (f".{operator.overload}" if operator.overload else "")] += 1
        elif isinstance(call, DelegateCall):
            delegates[plan.delegates[call.delegate_index].id] += 1
    runtime = Runtime.get()
    known = runtime.operator_registry.operator_names | set(runtime.backend_registry.registered_backend_names)
    return {
        "name": plan.name,
        "instructions": meta.num_instructions(),
        "inputs": [
            describe(meta.input_tensor_meta(i)) if meta.input_tag(i) == "Tensor" else meta.input_tag(i)
            for i in range(meta.num_inputs())
        ],
        "outputs": [
            describe(meta.output_tensor_meta(i)) if meta.output_tag(i) == "Tensor" else meta.output_tag(i)
            for i in range(meta.num_outputs())
        ],
        "planned_bytes": meta.planned_sizes(),
        "operators": dict(operators.most_common()),
        "delegates": dict(delegates.most_common()),
        "available": sorted((operators.keys() | delegates.keys()) & known),
        "buffers": [meta.attribute_tensor_meta(i).name() for i in range(meta.num_attributes())],
        "external_data": _external_names(plan),
    }


def _external_names(plan: ExecutionPlan) -> list[str]:
    names = []
    for value in plan.values:
        tensor = value.val
        if isinstance(tensor, Tensor) and tensor.extra_tensor_info is not None:
            extra = tensor.extra_tensor_info
            if extra.location == TensorDataLocation.EXTERNAL and extra.fully_qualified_name:
                names.append(extra.fully_qualified_name)
    return names
