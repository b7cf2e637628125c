"""The names of the entries in the zip archive of an ETRecord, and functions that read and write entries."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Mapping
from enum import Enum
from typing import Any

import torch
from torch.export import ExportedProgram

from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etrecord.serde import ProgramFiles, write_program

LOWERED = "lowered"
"""The prefix of keys in `graph_map` for the programs with delegate calls of each method."""

EXPORTED = "exported"
"""The prefix of keys in `graph_map` for the programs of torch.export, if there are several methods."""


class ETRecordReservedFileNames(str, Enum):
    """The names of entries of the archive."""

    ETRECORD_IDENTIFIER = "ETRECORD_V0"
    EXPORTED_PROGRAM = "exported_program"
    EXPORT_GRAPH_ID = "export_graph_id"
    EDGE_DIALECT_EXPORTED_PROGRAM = "edge_dialect_exported_program"
    ET_DIALECT_GRAPH_MODULE = "et_dialect_graph_module"
    DEBUG_HANDLE_MAP_NAME = "debug_handle_map"
    DELEGATE_MAP_NAME = "delegate_map"
    INSTRUCTION_ID_TO_NUM_OUTS_MAP_NAME = "instruction_id_to_num_outs_map"
    REFERENCE_OUTPUTS = "reference_outputs"
    REPRESENTATIVE_INPUTS = "representative_inputs"


Names = ETRecordReservedFileNames
FINGERPRINT = "rushlight.program_fingerprint"
EDGE = f"{Names.EDGE_DIALECT_EXPORTED_PROGRAM.value}/"
PROGRAM_PARTS = ("_state_dict", "_constants", "_example_inputs")


MAPS = frozenset(
    name.value for name in Names if name not in (Names.EXPORTED_PROGRAM, Names.EDGE_DIALECT_EXPORTED_PROGRAM)
)


def files_of(entries: Mapping[str, bytes], name: str, where: str) -> ProgramFiles:
    """Returns the entries of one program.

    Args:
        entries: all entries of the archive by name.
        name: the name of the program.
        where: the name of the file for messages.

    Raises:
        DevtoolsError: an entry of the program is missing.
    """
    missing = [name + part for part in PROGRAM_PARTS if name + part not in entries]
    if missing:
        raise DevtoolsError(
            f"{where} is damaged: it has the program {name!r}, but lacks {', '.join(missing)}"
        )
    return ProgramFiles(entries[name], *(entries[name + part] for part in PROGRAM_PARTS))


def read_json_entry(entries: Mapping[str, bytes], name: Names, where: str) -> Any:
    """Returns the value of a JSON entry; None if the archive does not have it.

    Args:
        entries: all entries of the archive by name.
        name: the entry to read.
        where: the name of the file for messages.

    Raises:
        DevtoolsError: the entry is damaged.
    """
    data = entries.get(name.value)
    if data is None:
        return None
    try:
        return json.loads(data)
    except ValueError as error:
        raise DevtoolsError(
            f"the entry {name.value!r} of {where} is damaged: it is not valid JSON: {error}"
        ) from None


def read_tensors_entry(entries: Mapping[str, bytes], name: Names, where: str) -> Any:
    """Returns the value of an entry with tensors, without running code; None if the entry is missing.

    Args:
        entries: all entries of the archive by name.
        name: the entry to read.
        where: the name of the file for messages.

    Raises:
        DevtoolsError: the entry is damaged.
    """
    data = entries.get(name.value)
    if data is None:
        return None
    try:
        return torch.load(io.BytesIO(data), weights_only=True)
    except (RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        raise DevtoolsError(
            f"the entry {name.value!r} of {where} cannot be read: {str(error).splitlines()[0][:200]}; for "
            "safety, only tensors and plain values are loaded"
        ) from None


def write_program_entries(archive: zipfile.ZipFile, name: str, program: ExportedProgram) -> None:
    """Writes the entries of one program.

    Args:
        archive: the archive, which is open for writing.
        name: the name of the program in the archive.
        program: the program.

    Raises:
        DevtoolsError: the program has a part that the file format does not support.
    """
    files = write_program(program)
    archive.writestr(name, files.program)
    for part in PROGRAM_PARTS:
        archive.writestr(name + part, getattr(files, part[1:]))
