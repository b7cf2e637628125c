"""Saves and loads exported and edge programs, in the format of ExecuTorch's `exir.save` and `exir.load`."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

from torch._export.serde import serialize as torch_serde
from torch.export import ExportedProgram

from rushlight.devtools.errors import DAMAGED_ARCHIVE, DevtoolsError
from rushlight.devtools.etrecord.serde import ProgramFiles, read_program, write_program
from rushlight.devtools.etrecord.values import load_artifact

SCHEMA_VERSION = (5, 4)

_PROGRAM = "serialized_exported_program.json"
_STATE = "serialized_state_dict.pt"
_CONSTANTS = "serialized_constants.pt"
_INPUTS = "serialized_example_inputs.pt"
_VERSION = "version"
_EXTRA = "extra_files/"

CURRENT_DESERIALIZERS: list[torch_serde.GraphModuleDeserializer] = []
"""The deserializers in use. `deserialize_torch_artifact` creates fake tensors with the last one."""

File: TypeAlias = "str | os.PathLike[str] | BinaryIO"


@dataclass
class SerializedArtifact:
    """The bytes of a program: the graph as JSON, and the tensors in the format of `torch.save`."""

    exported_program: bytes
    state_dict: bytes
    constants: bytes
    example_inputs: bytes


def serialize(
    exported_program: ExportedProgram, opset_version: Mapping[str, int] | None = None
) -> SerializedArtifact:
    """Returns the bytes of a program, including its lowered modules.

    Args:
        exported_program: an exported program or an edge program; it is not changed.
        opset_version: must be None, because the schema has a single version.

    Raises:
        ValueError: `opset_version` is not None.
        DevtoolsError: the schema does not support a part of the program. The message names the node.
    """
    if opset_version is not None:
        raise ValueError(
            "opset_version has no effect, because the schema has a single version: leave it None"
        )
    files = write_program(exported_program)
    return SerializedArtifact(files.program, files.state_dict, files.constants, files.example_inputs)


def deserialize(artifact: SerializedArtifact) -> ExportedProgram:
    """Reads the bytes of a program.

    Raises:
        DevtoolsError: the bytes are damaged or have another version, or an operator is not known.
    """
    files = ProgramFiles(
        artifact.exported_program, artifact.state_dict, artifact.constants, artifact.example_inputs
    )
    return read_program(files, "program")


def save(
    ep_save: ExportedProgram,
    f: File,
    *,
    extra_files: Mapping[str, str] | None = None,
    opset_version: Mapping[str, int] | None = None,
) -> None:
    """Writes a program to a file, including its lowered modules. ExecuTorch can read the file too.

    Args:
        ep_save: an exported program or an edge program; it is not changed.
        f: a path, or an open binary file.
        extra_files: texts that are stored with the program, by name.
        opset_version: must be None.

    Raises:
        TypeError: `ep_save` is not a program.
        DevtoolsError: the schema does not support a part of the program. The file is not written.
    """
    if not isinstance(ep_save, ExportedProgram):
        raise TypeError(f"save needs an ExportedProgram, not {type(ep_save).__name__}")
    artifact = serialize(ep_save, opset_version)
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr(_PROGRAM, artifact.exported_program)
        archive.writestr(_STATE, artifact.state_dict)
        archive.writestr(_CONSTANTS, artifact.constants)
        archive.writestr(_INPUTS, artifact.example_inputs)
        archive.writestr(_VERSION, ".".join(map(str, SCHEMA_VERSION)))
        for name, text in (extra_files or {}).items():
            archive.writestr(_EXTRA + name, text)


def load(f: File, *, extra_files: dict[str, str] | None = None) -> ExportedProgram:
    """Reads a program from a file that `save` or ExecuTorch has written.

    Args:
        f: a path, or an open binary file.
        extra_files: a dict to which the texts in the file are added, by name.

    Raises:
        RuntimeError: the file has another version of the schema.
        DevtoolsError: the file is damaged, or an operator is not known.
    """
    try:
        with zipfile.ZipFile(f) as archive:
            entries = {info.filename: archive.read(info) for info in archive.infolist()}
    except DAMAGED_ARCHIVE as error:
        raise DevtoolsError(f"{f} is not a file of a program: {error}") from None
    missing = [name for name in (_PROGRAM, _STATE, _CONSTANTS, _VERSION) if name not in entries]
    if missing:
        raise DevtoolsError(f"{f} is not a file of a program: it does not contain {', '.join(missing)}")
    version = entries[_VERSION].decode(errors="replace")
    if version.split(".")[0] != str(SCHEMA_VERSION[0]):
        raise RuntimeError(
            f"{f} has version {version} of the schema, but only version {SCHEMA_VERSION[0]} is supported"
        )
    if extra_files is not None:
        extra_files.update(
            (name.removeprefix(_EXTRA), data.decode(errors="replace"))
            for name, data in entries.items()
            if name.startswith(_EXTRA)
        )
    return deserialize(
        SerializedArtifact(entries[_PROGRAM], entries[_STATE], entries[_CONSTANTS], entries.get(_INPUTS, b""))
    )


def deserialize_torch_artifact(serialized: dict[str, Any] | tuple[Any, ...] | bytes) -> Any:
    """Reads tensors and plain values that `serialize_torch_artifact` wrote. No code in the data is executed.

    Args:
        serialized: the bytes. A dict or a tuple is returned unchanged.

    Raises:
        UnpicklingError: the bytes contain other objects.
    """
    if isinstance(serialized, (dict, tuple)):
        return serialized
    if not serialized:
        return {}
    return load_artifact(serialized, CURRENT_DESERIALIZERS[-1] if CURRENT_DESERIALIZERS else None)
