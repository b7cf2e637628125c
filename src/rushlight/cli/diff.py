"""`rushlight diff`: compares two programs."""

from __future__ import annotations

import argparse
import difflib
import json
from pathlib import Path

from rushlight.cli.arguments import Commands, size_text
from rushlight.cli.exit_codes import DIFFERENT, EPILOG, OK
from rushlight.cli.info import collect
from rushlight.format.program import DelegateCall, ExecutionPlan, KernelCall
from rushlight.format.pte import PTEFile, read_pte_file
from rushlight.ir.json_types import JsonObject

_COMPARED = ("inputs", "outputs", "planned_bytes", "operators", "delegates", "plans", "external_data")


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "diff",
        help="compare two programs",
        description="Lists the methods, inputs, operators, delegates, memory, data and instructions in "
        "which the programs differ.",
        epilog=f"example: rushlight diff before.pte after.pte\n{EPILOG}",
    )
    parser.add_argument("before", help="a .pte file")
    parser.add_argument("after", help="another .pte file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Prints the differences. Returns OK if there are none, else DIFFERENT."""
    facts = differences(Path(options.before), Path(options.after))
    if options.json:
        print(json.dumps(facts, indent=2))
    else:
        _print(facts)
    return DIFFERENT if facts["differs"] else OK


def differences(before: Path, after: Path) -> JsonObject:
    """Returns the differences between two programs as plain data.

    Args:
        before: a .pte file.
        after: the .pte file to compare with it.

    Raises:
        FileMissingError, InvalidProgramError, FormatError: a program cannot be read.
    """
    old, new = collect(before), collect(after)
    old_file, new_file = read_pte_file(before), read_pte_file(after)
    methods = {}
    old_methods = {method["name"]: method for method in old["methods"]}
    new_methods = {method["name"]: method for method in new["methods"]}
    for name in [name for name in old_methods if name in new_methods]:
        changed = {
            key: {"before": old_methods[name][key], "after": new_methods[name][key]}
            for key in _COMPARED
            if old_methods[name][key] != new_methods[name][key]
        }
        lines = _instruction_diff(_plan(old_file, name), _plan(new_file, name))
        if changed or lines:
            methods[name] = {**changed, "instructions": lines}
    sizes = {
        key: {"before": old[key], "after": new[key]}
        for key in ("bytes", "constant_bytes", "delegate_bytes")
        if old[key] != new[key]
    }
    data = _data(old_file), _data(new_file)
    facts: JsonObject = {
        "before": str(before),
        "after": str(after),
        "methods_only_before": sorted(old_methods.keys() - new_methods.keys()),
        "methods_only_after": sorted(new_methods.keys() - old_methods.keys()),
        "methods": methods,
        "sizes": sizes,
        "data_only_before": sorted(data[0].keys() - data[1].keys()),
        "data_only_after": sorted(data[1].keys() - data[0].keys()),
        "data_changed": sorted(
            key for key in data[0].keys() & data[1].keys() if data[0][key] != data[1][key]
        ),
    }
    facts["differs"] = before.read_bytes() != after.read_bytes()
    return facts


def _plan(file: PTEFile, name: str) -> ExecutionPlan:
    return next(plan for plan in file.program.execution_plan if plan.name == name)


def _data(file: PTEFile) -> dict[str, bytes]:
    """The data of a program by name: constants and delegates by index, named data by key."""
    found = {
        f"constant {index}": bytes(memoryview(item)) for index, item in enumerate(file.constants) if index
    }
    found |= {f"delegate {index}": bytes(memoryview(item)) for index, item in enumerate(file.delegate_data)}
    return found | {key: bytes(memoryview(entry.data)) for key, entry in file.named_data.items()}


def instruction_names(plan: ExecutionPlan) -> list[str]:
    """Returns a name for each instruction of a method: its operator, its backend or its type."""
    names = []
    for instruction in (item for chain in plan.chains for item in chain.instructions):
        call = instruction.instr_args
        if isinstance(call, KernelCall):
            operator = plan.operators[call.op_index]
            names.append(f"{operator.name}.{operator.overload}".rstrip("."))
        elif isinstance(call, DelegateCall):
            names.append(plan.delegates[call.delegate_index].id)
        else:
            names.append(type(call).__name__.removesuffix("Call"))
    return names


def _instruction_diff(before: ExecutionPlan, after: ExecutionPlan) -> list[str]:
    """The instructions that were removed ("- name") or added ("+ name"), in order."""
    lines = difflib.unified_diff(instruction_names(before), instruction_names(after), lineterm="", n=0)
    return [f"{line[0]} {line[1:]}" for line in list(lines)[2:] if line[0] in "+-"]


def _print(facts: JsonObject) -> None:
    if not facts["differs"]:
        print("the programs are equal")
        return
    for key, pair in facts["sizes"].items():
        print(f"{key.replace('_', ' ')}: {size_text(pair['before'])} -> {size_text(pair['after'])}")
    for which in ("before", "after"):
        for name in facts[f"methods_only_{which}"]:
            print(f"method {name}: only in {facts[which]}")
    for name, changed in facts["methods"].items():
        print(f"method {name}:")
        for key, pair in changed.items():
            if key != "instructions":
                print(f"  {key.replace('_', ' ')}: {pair['before']} -> {pair['after']}")
        for line in changed["instructions"]:
            print(f"  {line}")
    for key, text in (("only_before", "only before"), ("only_after", "only after"), ("changed", "changed")):
        names = facts[f"data_{key}"]
        if names:
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            print(f"data {text}: {shown}")
