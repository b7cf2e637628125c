"""Files of exported and edge programs, which ExecuTorch's `exir.save` and `exir.load` write and read."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

from torch._export.serde import serialize as torch_serde
from torch.export import ExportedProgram

from rushlight.devtools.errors import DevtoolsError
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
"""The last one makes the fake tensors that `deserialize_torch_artifact` reads."""

File: TypeAlias = "str | os.PathLike[str] | BinaryIO"


@dataclass
class SerializedArtifact:
    """The bytes of a program: its graph as JSON, and its tensors as torch writes them."""

    exported_program: bytes
    state_dict: bytes
    constants: bytes
    example_inputs: bytes


def serialize(
    exported_program: ExportedProgram, opset_version: Mapping[str, int] | None = None
) -> SerializedArtifact:
    """Returns the bytes of a program, lowered modules included.

    Args:
        exported_program: an exported program or an edge program; it stays as it is.
        opset_version: only None is taken; the schema says the versions.

    Raises:
        DevtoolsError: the schema has no place for something in the program. The message names the node.
    """
    if opset_version is not None:
        raise ValueError("opset_version has no effect: the schema has one version; leave it None")
    files = write_program(exported_program)
    return SerializedArtifact(files.program, files.state_dict, files.constants, files.example_inputs)


def deserialize(artifact: SerializedArtifact) -> ExportedProgram:
    """Reads the bytes of a program.

    Raises:
        DevtoolsError: they are damaged, have another version, or call operators that are not known.
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
    """Writes a program, lowered modules included. ExecuTorch reads the file too.

    Args:
        ep_save: an exported program or an edge program; it stays as it is.
        f: a path, or an open binary file.
        extra_files: texts to keep beside the program, by name.
        opset_version: only None is taken.

    Raises:
        TypeError: `ep_save` is no program.
        DevtoolsError: the schema has no place for something in the program; nothing is written then.
    """
    if not isinstance(ep_save, ExportedProgram):
        raise TypeError(f"save takes an ExportedProgram, not {type(ep_save).__name__}")
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
    """Reads a program that `save` or ExecuTorch wrote.

    Args:
        f: a path, or an open binary file.
        extra_files: gets the texts that were kept beside the program, by name.

    Raises:
        RuntimeError: the file has another version of the schema.
        DevtoolsError: the file is damaged, or calls operators that are not known.
    """
    try:
        with zipfile.ZipFile(f) as archive:
            entries = {info.filename: archive.read(info) for info in archive.infolist()}
    except zipfile.BadZipFile as error:
        raise DevtoolsError(f"{f} is no file of a program: {error}") from None
    missing = [name for name in (_PROGRAM, _STATE, _CONSTANTS, _VERSION) if name not in entries]
    if missing:
        raise DevtoolsError(f"{f} is no file of a program: it lacks {', '.join(missing)}")
    version = entries[_VERSION].decode()
    if version.split(".")[0] != str(SCHEMA_VERSION[0]):
        raise RuntimeError(f"{f} has version {version} of the schema; version {SCHEMA_VERSION[0]} is read")
    if extra_files is not None:
        extra_files.update(
            (name.removeprefix(_EXTRA), data.decode())
            for name, data in entries.items()
            if name.startswith(_EXTRA)
        )
    return deserialize(
        SerializedArtifact(entries[_PROGRAM], entries[_STATE], entries[_CONSTANTS], entries.get(_INPUTS, b""))
    )


def deserialize_torch_artifact(serialized: dict[str, Any] | tuple[Any, ...] | bytes) -> Any:
    """Reads tensors and plain values that `serialize_torch_artifact` wrote; never executes code.

    Args:
        serialized: the bytes; a dict or a tuple is returned as it is.

    Raises:
        UnpicklingError: the bytes hold something else.
    """
    if isinstance(serialized, (dict, tuple)):
        return serialized
    if not serialized:
        return {}
    return load_artifact(serialized, CURRENT_DESERIALIZERS[-1] if CURRENT_DESERIALIZERS else None)
