"""Writes and reads the programs in an ETRecord: JSON in ExecuTorch's schema 5.4, and saved tensors.

The serializer of torch uses another schema (version 8). Graphs of both schemas differ only in a few names and
numbers. Therefore torch writes and reads the programs, and this module converts the JSON. torch sees
operators of the edge dialect as ATen operators. This module adds their edge names, debug handles and delegate
calls to the JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from torch.export import ExportedProgram

from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etrecord.json_schema import SYMBOL
from rushlight.devtools.etrecord.read_json import from_json
from rushlight.devtools.etrecord.values import first_line, load_values, save_values
from rushlight.devtools.etrecord.write_json import to_json


@dataclass(frozen=True)
class ProgramFiles:
    """The four files of a program.

    Attributes:
        program: the graph as JSON.
        state_dict, constants, example_inputs: these objects as bytes of `torch.save`; empty if there are
            none.
    """

    program: bytes
    state_dict: bytes
    constants: bytes
    example_inputs: bytes


def write_program(program: ExportedProgram) -> ProgramFiles:
    """Converts a program to the files of an ETRecord. The program is not changed.

    Args:
        program: a program of torch.export, an edge program, or an edge program with lowered modules.

    Raises:
        DevtoolsError: the schema does not support a node. The message names the node.
    """
    data, custom = to_json(program)
    return ProgramFiles(
        # ExecuTorch supports only the names of symbols, without assumptions.
        SYMBOL.sub(r"\1", json.dumps(data)).encode(),
        save_values(dict(program.state_dict)),
        save_values({**custom, **program.constants}),
        b"" if program.example_inputs is None else save_values(program.example_inputs),
    )


def read_program(files: ProgramFiles, name: str) -> ExportedProgram:
    """Reads a program.

    Args:
        files: the files that `write_program` or ExecuTorch wrote.
        name: the name of the program for messages.

    Raises:
        DevtoolsError: the files are damaged, have another schema version, or call unknown operators.
    """
    try:
        data = json.loads(files.program)
        return from_json(
            data,
            load_values(files.state_dict, f"{name}_state_dict"),
            load_values(files.constants, f"{name}_constants"),
            load_values(files.example_inputs, f"{name}_example_inputs") or None,
        )
    except DevtoolsError:
        raise
    except Exception as error:  # torch raises assertion errors, key errors and others for unreadable data
        raise DevtoolsError(
            f"the program {name!r} of the ETRecord cannot be read: {first_line(error)}; the file is "
            "damaged, or was written by an unsupported version of ExecuTorch"
        ) from error
