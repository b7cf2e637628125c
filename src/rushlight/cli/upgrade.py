"""`rushlight upgrade`: prints the format versions of a program, and writes it in the current versions."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

from rushlight.backends.cpu.plan import upgrade as plans
from rushlight.cli.arguments import Commands, check_output
from rushlight.format.errors import FormatError
from rushlight.format.pte import PTEFile, has_data_among_tables, read_pte_file, write_pte_to_file
from rushlight.format.wire_tables import PROGRAM
from rushlight.runtime import Runtime

CURRENT = "current"
OLD = "old: can be upgraded"
LOST = "old: compile the model again"


@dataclass(frozen=True)
class Part:
    """A part of a program file.

    Attributes:
        part: the name of the part: the program, or a delegate of a method.
        layout: the format version and the layout of the part.
        state: CURRENT, OLD or LOST.
    """

    part: str
    layout: str
    state: str


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "upgrade",
        help="print the format versions of a program, and write it in the current versions",
        description="Prints the format version of the program and of each plan of the CPU backend. With "
        "-o, the program is written in the current versions; its results stay the same.",
        epilog="example: rushlight upgrade old.pte -o new.pte",
    )
    parser.add_argument("program", type=Path, help="a .pte file")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the .pte file to write")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Prints the format versions, and writes the program if -o is given."""
    check_output(options.output)
    file = read_pte_file(options.program)
    parts = parts_of(file, options.program.read_bytes())
    if options.json:
        rows = [{"part": part.part, "layout": part.layout, "state": part.state} for part in parts]
        print(json.dumps({"file": str(options.program), "parts": rows}, indent=2))
    else:
        for part in parts:
            print(f"{part.part:40} {part.layout:24} {part.state}")
    if options.output is None:
        return
    lost = [part for part in parts if part.state == LOST]
    if lost:
        raise FormatError(
            f"{options.program}: {lost[0].part} has the layout of a {lost[0].layout}, which cannot be "
            f"converted to {plans.CURRENT} without the model; compile the model again"
        )
    write_pte_to_file(upgraded(file), options.output)
    Runtime.get().load_program(options.output)


def parts_of(file: PTEFile, data: bytes) -> list[Part]:
    """Returns the layouts of the program and of its CPU plans."""
    inside = has_data_among_tables(data)
    identifier = PROGRAM.identifier.decode()
    form = f"{identifier}, data among the tables" if inside else f"{identifier}, data in segments"
    parts = [Part("program", form, OLD if inside else CURRENT)]
    for plan in file.program.execution_plan:
        for index, delegate in enumerate(plan.delegates):
            if delegate.id != "CpuBackend":
                continue
            layout = plans.layout_of(bytes(file.delegate_data[delegate.processed.index])[:8])
            state = LOST
            if plans.can_upgrade(layout):
                state = CURRENT if layout == plans.CURRENT else OLD
            parts.append(Part(f"method {plan.name}, delegate {index}", f"CPU plan {layout}", state))
    return parts


def upgraded(file: PTEFile) -> PTEFile:
    """Returns the program with all CPU plans in the current layout."""
    places = {
        delegate.processed.index
        for plan in file.program.execution_plan
        for delegate in plan.delegates
        if delegate.id == "CpuBackend"
    }
    blobs = [
        plans.upgraded(bytes(blob)) if index in places else blob
        for index, blob in enumerate(file.delegate_data)
    ]
    return replace(file, delegate_data=blobs)
