"""Reads ETRecords from files."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from torch.export import ExportedProgram

from rushlight.devtools.errors import DAMAGED_ARCHIVE, DevtoolsError
from rushlight.devtools.etrecord.entries import (
    EDGE,
    FINGERPRINT,
    MAPS,
    PROGRAM_PARTS,
    Names,
    files_of,
    read_json_entry,
    read_tensors_entry,
)
from rushlight.devtools.etrecord.record import ETRecord
from rushlight.devtools.etrecord.serde import read_program
from rushlight.format.pte import program_fingerprint


def parse_etrecord(etrecord_path: str | os.PathLike[str] | IO[bytes]) -> ETRecord:
    """Reads an ETRecord that Rushlight or ExecuTorch wrote.

    Args:
        etrecord_path: the path of the file, or an open binary file.

    Raises:
        DevtoolsError: the file is not an ETRecord, is damaged, or has programs of another version.
        OSError: the file cannot be read.
    """
    record = open_etrecord(etrecord_path)
    record.read_all()
    return record


def open_etrecord(etrecord_path: str | os.PathLike[str] | IO[bytes]) -> SavedRecord:
    """Reads an ETRecord like `parse_etrecord`, but reads each program only at its first use.

    Damaged programs raise an error at their first use. This function saves time, because reading a program
    takes about a millisecond for each operator, and most tools use only one of several programs.

    Args:
        etrecord_path: the path of the file, or an open binary file.

    Returns:
        The ETRecord. It has a copy of the bytes of the file, which may be closed or deleted afterwards.

    Raises:
        DevtoolsError: the file is not an ETRecord, or is damaged.
        OSError: the file cannot be read.
    """
    where = etrecord_path if isinstance(etrecord_path, (str, os.PathLike)) else "the file"
    try:
        with zipfile.ZipFile(etrecord_path) as archive:
            damaged = archive.testzip()
            comment = archive.comment
            entries = {} if damaged else {name: archive.read(name) for name in archive.namelist()}
    except DAMAGED_ARCHIVE as error:
        raise DevtoolsError(
            f"Invalid etrecord file: {where} is not a readable zip archive ({error})"
        ) from None
    if damaged:
        raise DevtoolsError(f"Invalid etrecord file: the entry {damaged!r} of {where} is damaged")
    if Names.ETRECORD_IDENTIFIER.value not in entries:
        raise DevtoolsError(
            f"ETRecord identifier missing: {where} is a zip archive without the entry "
            f"{Names.ETRECORD_IDENTIFIER.value}; it is not an ETRecord, or it is damaged"
        )
    record = SavedRecord(entries, str(where))
    record._fingerprint = _fingerprint_of(comment)
    record.path = None if where == "the file" else os.fspath(where)
    return record


def parse_etrecord_of(program: Path, etrecord_path: Path) -> ETRecord:
    """Reads an ETRecord like `open_etrecord`, and checks that it belongs to a program.

    Args:
        program: a .pte file.
        etrecord_path: the path of the ETRecord. An ETRecord without the fingerprint of a program is accepted.

    Raises:
        DevtoolsError: the ETRecord is damaged, or belongs to another program.
        FormatError: the header of the program is damaged.
        OSError: a file cannot be read.
    """
    record = open_etrecord(etrecord_path)
    wanted, found = record.program_fingerprint, program_fingerprint(program.read_bytes())
    if wanted and wanted != found:
        raise DevtoolsError(
            f"the ETRecord {etrecord_path} does not belong to {program}: the fingerprint in the ETRecord is "
            f"{wanted:016x}, and the fingerprint of the program is {found:016x}; use the ETRecord that was "
            "written when this program was compiled"
        )
    return record


class SavedRecord(ETRecord):
    """An ETRecord that reads each program from the entries of the file at its first use.

    Args:
        entries: the entries of the file by name.
        where: the name of the file for messages.

    Raises:
        DevtoolsError: an entry is missing, or an entry other than a program is damaged.
    """

    def __init__(self, entries: Mapping[str, bytes], where: str) -> None:
        super().__init__(
            export_graph_id=read_json_entry(entries, Names.EXPORT_GRAPH_ID, where) or 0,
            _debug_handle_map=read_json_entry(entries, Names.DEBUG_HANDLE_MAP_NAME, where),
            _delegate_map=read_json_entry(entries, Names.DELEGATE_MAP_NAME, where),
            _instruction_id_to_num_outs_map=read_json_entry(
                entries, Names.INSTRUCTION_ID_TO_NUM_OUTS_MAP_NAME, where
            ),
            _reference_outputs=read_tensors_entry(entries, Names.REFERENCE_OUTPUTS, where),
            _representative_inputs=read_tensors_entry(entries, Names.REPRESENTATIVE_INPUTS, where),
        )
        self._files = {
            name: files_of(entries, name, where)
            for name in entries
            if name not in MAPS and not name.endswith(PROGRAM_PARTS)
        }
        for name in self._PARTS:
            delattr(self, name)  # so that Python calls `__getattr__` for them

    _PARTS = ("exported_program", "edge_dialect_program", "graph_map")

    def __getattr__(self, name: str) -> Any:
        if name not in self._PARTS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(self, f"_read_{name}")()
        setattr(self, name, value)
        return value

    def read_all(self) -> None:
        """Reads all programs.

        Raises:
            DevtoolsError: a program is damaged, or has another version.
        """
        for name in self._PARTS:
            getattr(self, name)

    def _program_of(self, name: str) -> ExportedProgram:
        return read_program(self._files.pop(name), name)

    def _read_exported_program(self) -> ExportedProgram | None:
        name = Names.EXPORTED_PROGRAM.value
        return self._program_of(name) if name in self._files else None

    def _read_edge_dialect_program(self) -> ExportedProgram | dict[str, ExportedProgram] | None:
        names = {name.removeprefix(EDGE): name for name in self._files if name.startswith(EDGE)}
        # Old versions of ExecuTorch write this entry. They support only one method.
        old = Names.EDGE_DIALECT_EXPORTED_PROGRAM.value
        if not names and old in self._files:
            names = {"forward": old}
        edge = {method: self._program_of(name) for method, name in names.items()}
        return next(iter(edge.values())) if len(edge) == 1 else edge or None

    def _read_graph_map(self) -> dict[str, ExportedProgram]:
        main_programs = (Names.EXPORTED_PROGRAM.value, Names.EDGE_DIALECT_EXPORTED_PROGRAM.value)
        return {
            name: self._program_of(name)
            for name in list(self._files)
            if name not in main_programs and not name.startswith(EDGE)
        }


def _fingerprint_of(comment: bytes) -> int:
    try:
        return int(json.loads(comment)[FINGERPRINT])
    except (ValueError, KeyError, TypeError):
        return 0  # an ETRecord of ExecuTorch
