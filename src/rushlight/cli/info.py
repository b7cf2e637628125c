"""`rushlight info`: prints the contents of a program."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from rushlight.backends.cpu.plan.names import step_name
from rushlight.backends.cpu.plan.payload import read_plan
from rushlight.backends.xnnpack.payload import read_payload
from rushlight.cli.arguments import Commands, check_no_bundled_program, count_text, size_text
from rushlight.format.program import DelegateCall, ExecutionPlan, KernelCall, Tensor, TensorDataLocation
from rushlight.format.pte import PTEFile, read_pte_file
from rushlight.ir.json_types import JsonObject
from rushlight.runtime import MethodMeta, Runtime

MAX_NAMES = 3  # list the entries of named data one by one up to this number


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "info",
        help="print the methods of a program, with inputs, outputs, memory, operators and data",
        description="Prints a summary of a program: the inputs and outputs of each method, and the memory, "
        "operators and data that it needs. `rushlight inspect` shows every operator, with modules, times, "
        "memory and weights, also as an HTML page.",
        epilog="example: rushlight info model.pte",
    )
    parser.add_argument("program", help="a .pte file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Prints the contents of the program."""
    facts = collect(Path(options.program))
    if options.json:
        print(json.dumps(facts, indent=2))
        return
    print_header(facts)


def print_header(facts: JsonObject) -> None:
    """Prints the result of `collect`."""
    print(f"{facts['file']}: {size_text(facts['bytes'])}, {size_text(facts['constant_bytes'])} of constants")
    if facts["named_data"]:
        print(f"  named data: {_named_data_text(facts['named_data'])}")
    if facts["digest"]:
        print("  digest: SHA-256 of the file")
    for method in facts["methods"]:
        print(f"method {method['name']}: {count_text(method['instructions'], 'instruction')}")
        for kind in ("inputs", "outputs"):
            for index, text in enumerate(method[kind]):
                print(f"  {kind[:-1]} {index}: {text}")
        sizes = method["planned_bytes"]
        several = (f"memory {i}: {size_text(size)}" for i, size in enumerate(sizes, 1))
        detail = f" ({', '.join(several)})" if len(sizes) > 1 else ""
        print(f"  planned memory: {size_text(sum(sizes))}{detail}")
        for kind in ("operators", "delegates"):
            for name, count in method[kind].items():
                missing = "" if name in method["available"] else "  (missing in this runtime)"
                print(f"  {count:5} x {name}{missing}")
        for plan in method["plans"]:
            kinds = ", ".join(f"{count} {kind}" for kind, count in plan["steps"].items())
            print(f"          planned for {plan['target']}: {kinds}")
            print(f"          {size_text(plan['arena_bytes'])} of intermediate results")
        if method["external_data"]:
            print(f"  external data: {', '.join(method['external_data'])}")


def _named_data_text(sizes: Mapping[str, int]) -> str:
    if len(sizes) > MAX_NAMES:
        return f"{len(sizes)} entries, {size_text(sum(sizes.values()))} (--json lists them)"
    return ", ".join(f"{key} ({size_text(size)})" for key, size in sizes.items())


def collect(path: Path) -> JsonObject:
    """Returns the contents of a program as plain data.

    Raises:
        FileMissingError, InvalidProgramError: the program cannot be loaded.
        MalformedError: the payload of a CpuBackend or XnnpackBackend delegate is damaged.
    """
    check_no_bundled_program(path)
    program = Runtime.get().load_program(path)
    file = read_pte_file(path)
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "constant_bytes": sum(len(memoryview(constant)) for constant in file.constants),
        "delegate_bytes": sum(len(memoryview(blob)) for blob in file.delegate_data),
        "digest": file.digest,
        "named_data": {key: len(memoryview(entry.data)) for key, entry in file.named_data.items()},
        "methods": [_method(file, plan, program.metadata(plan.name)) for plan in file.program.execution_plan],
    }


def _method(file: PTEFile, plan: ExecutionPlan, meta: MethodMeta) -> JsonObject:
    operators: Counter[str] = Counter()
    delegates: Counter[str] = Counter()
    plans: list[JsonObject] = []
    external = _external_names(plan)
    for instruction in (i for chain in plan.chains for i in chain.instructions):
        call = instruction.instr_args
        if isinstance(call, KernelCall):
            operator = plan.operators[call.op_index]
            operators[operator.name + (f".{operator.overload}" if operator.overload else "")] += 1
        elif isinstance(call, DelegateCall):
            delegate = plan.delegates[call.delegate_index]
            delegates[delegate.id] += 1
            payload = bytes(file.delegate_data[delegate.processed.index])
            external += [key for key in _data_keys(delegate.id, payload) if key not in file.named_data]
            if delegate.id == "CpuBackend":
                plans.append(_plan(payload))
    runtime = Runtime.get()
    known = runtime.operator_registry.operator_names | set(runtime.backend_registry.registered_backend_names)
    return {
        "name": plan.name,
        "instructions": meta.num_instructions(),
        "inputs": [
            meta.input_tensor_meta(i).description() if meta.input_tag(i) == "Tensor" else meta.input_tag(i)
            for i in range(meta.num_inputs())
        ],
        "outputs": [
            meta.output_tensor_meta(i).description() if meta.output_tag(i) == "Tensor" else meta.output_tag(i)
            for i in range(meta.num_outputs())
        ],
        "planned_bytes": meta.planned_sizes(),
        "operators": dict(operators.most_common()),
        "delegates": dict(delegates.most_common()),
        "plans": plans,
        "available": sorted((operators.keys() | delegates.keys()) & known),
        "buffers": [meta.attribute_tensor_meta(i).name() for i in range(meta.num_attributes())],
        "external_data": list(dict.fromkeys(external)),
    }


def _plan(payload: bytes) -> JsonObject:
    """Describes the plan of a CpuBackend delegate: instruction set, steps by name, and arena bytes."""
    plan = read_plan(payload)
    kinds = Counter(step_name(plan, step.operation) for step in plan.steps)
    return {"target": plan.target, "steps": dict(kinds.most_common()), "arena_bytes": plan.arena_bytes}


def _data_keys(backend: str, payload: bytes) -> list[str]:
    """Returns the keys of the named data that a delegate reads; none for other backends than Rushlight's."""
    if backend == "CpuBackend":
        return [storage.name for storage in read_plan(payload).storages if storage.name]
    if backend == "XnnpackBackend":
        graph, _ = read_payload(payload)
        return [constant.named_key for constant in graph.constant_data if constant.named_key]
    return []


def _external_names(plan: ExecutionPlan) -> list[str]:
    """Returns the names of a method's own tensors that are in data files."""
    names = []
    for value in plan.values:
        tensor = value.val
        if isinstance(tensor, Tensor) and tensor.extra_tensor_info is not None:
            extra = tensor.extra_tensor_info
            if extra.location == TensorDataLocation.EXTERNAL and extra.fully_qualified_name:
                names.append(extra.fully_qualified_name)
    return names
