"""Writes and reads packages (.ptn): a program, and the tensors to which it refers.

A package is a zip archive whose members are not compressed:

- `program.ptg`: the tables of `schema/native_graph.fbs`;
- `program.safetensors`: the tensors by data key, if there are any;
- `aliases.json`: for each tensor that is not stored because another one is equal, the key of the other one.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO

import torch

from rushlight.compat.native.safetensors import (
    DTYPE_CODES,
    METADATA_KEY,
    byte_view_of,
    encode_header,
    read_tensors,
)
from rushlight.files import replacing
from rushlight.format.errors import FormatError

PTG_ENTRY = "program.ptg"
"""The member with the program."""

SAFETENSORS_ENTRY = "program.safetensors"
"""The member with the tensors."""

ALIASES_ENTRY = "aliases.json"
"""The member with the keys of equal tensors."""

# What the zip module and the conversions raise for damaged bytes.
_DAMAGE = (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, RuntimeError, struct.error)


def write_ptn(
    path: str | os.PathLike[str],
    ptg: bytes,
    constants: Mapping[str, torch.Tensor],
    mutable_keys: frozenset[str] = frozenset(),
) -> None:
    """Writes a package. A file at the path is replaced atomically.

    The bytes depend only on the arguments. Equal tensors are stored once, except tensors that a program
    changes.

    Args:
        path: the file. Missing folders are created.
        ptg: the bytes of the program.
        constants: the tensors by data key. They may be on any device and have any strides.
        mutable_keys: the keys of the tensors that the program changes.

    Raises:
        KeyError: a tensor has a dtype that the safetensors format does not have.
        TypeError: a key is not a text, or a value is not a tensor.
        ValueError: a key is reserved, a changing tensor does not exist or shares memory with another tensor.
        OSError: the file cannot be written; the old file stays.
    """
    _check_tensors(constants, mutable_keys)
    owners, aliases = _without_duplicates(constants, mutable_keys)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file, zipfile.ZipFile(file, "w") as package:
        package.writestr(zipfile.ZipInfo(PTG_ENTRY), ptg)
        if owners:
            header = encode_header(owners)
            member = zipfile.ZipInfo(SAFETENSORS_ENTRY)
            member.file_size = len(header) + sum(tensor.nbytes for tensor in owners.values())
            with package.open(member, "w") as stream:
                stream.write(header)
                for tensor in owners.values():
                    stream.write(byte_view_of(_row_major(tensor)))
        if aliases:
            text = json.dumps(aliases, indent=2, sort_keys=True)
            package.writestr(zipfile.ZipInfo(ALIASES_ENTRY), text)


def _row_major(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().cpu().contiguous()


def _check_tensors(constants: Mapping[str, torch.Tensor], mutable_keys: frozenset[str]) -> None:
    unknown = sorted(mutable_keys - constants.keys())
    if unknown:
        raise ValueError(f"the mutable keys {unknown} have no tensor data")
    of_storage: dict[tuple[torch.device, int], list[str]] = {}
    for key, tensor in constants.items():
        if not isinstance(key, str):
            raise TypeError(f"a tensor's data key must be str, got {type(key).__name__}: {key!r}")
        if key == METADATA_KEY:
            raise ValueError(f"the data key {key!r} is reserved by safetensors; rename the tensor")
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"the value of {key!r} must be a Tensor, got {type(tensor).__name__}")
        if tensor.dtype not in DTYPE_CODES:
            raise KeyError(f"safetensors has no dtype for {key!r}, a tensor of {tensor.dtype}")
        if tensor.numel():
            place = (tensor.device, tensor.untyped_storage().data_ptr())
            of_storage.setdefault(place, []).append(key)
    for keys in of_storage.values():
        if len(keys) > 1 and not mutable_keys.isdisjoint(keys):
            raise ValueError(
                f"{sorted(keys)} share source storage, and the program changes one of them; a package cannot "
                "contain tensors that share memory: use one data key, or copy the tensors"
            )


def _without_duplicates(
    constants: Mapping[str, torch.Tensor], mutable_keys: frozenset[str]
) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Returns the tensors to store, and for each other key the key of an equal tensor."""
    owners: dict[str, torch.Tensor] = {}
    aliases: dict[str, str] = {}
    by_content: dict[tuple[torch.dtype, torch.Size, bytes], str] = {}
    for key in sorted(constants):
        tensor = constants[key]
        if key in mutable_keys:
            owners[key] = tensor
            continue
        digest = sha256(byte_view_of(_row_major(tensor))).digest()
        owner = by_content.setdefault((tensor.dtype, tensor.shape, digest), key)
        if owner == key:
            owners[key] = tensor
        else:
            aliases[key] = owner
    return owners, aliases


def read_ptn(path: str | os.PathLike[str]) -> tuple[bytes, dict[str, torch.Tensor]]:
    """Reads a package. The file is not trusted.

    `deserialize_program` converts the bytes of the program, and `validate_program` checks them.

    Args:
        path: the file.

    Returns:
        The bytes of the program, and all tensors by data key. Equal tensors may be the same object.

    Raises:
        FormatError: the package is damaged. The message names the file, the member and the cause.
        OSError: the file cannot be read.
    """
    size = os.stat(path).st_size
    with _named(os.fspath(path)), zipfile.ZipFile(path) as package:
        members = _members(package, size)
        if PTG_ENTRY not in members:
            raise FormatError(f"the member {PTG_ENTRY} is missing; the members are {sorted(members)}")

        with _open(package, members[PTG_ENTRY]) as stream:
            ptg = stream.read()
        owners: dict[str, torch.Tensor] = {}
        if SAFETENSORS_ENTRY in members:
            with _open(package, members[SAFETENSORS_ENTRY]) as stream:
                owners = read_tensors(stream, members[SAFETENSORS_ENTRY].file_size)
        aliases: dict[str, str] = {}
        if ALIASES_ENTRY in members:
            with _open(package, members[ALIASES_ENTRY]) as stream:
                aliases = _aliases(stream.read(), owners)
        return ptg, {**owners, **{key: owners[owner] for key, owner in aliases.items()}}


@contextmanager
def _open(package: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """Opens a member. Errors of damaged bytes get its name."""
    with _named(member.filename), package.open(member) as stream:
        yield stream


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Adds the name of a file or member to errors of damaged bytes."""
    try:
        yield
    except _DAMAGE as error:
        raise FormatError(f"{what}: {error}") from error


def _members(package: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Returns the members by name. Each has as many bytes in the file as it claims."""
    counts = Counter(package.namelist())
    for info in package.infolist():
        if counts[info.filename] > 1:
            raise FormatError(f"{info.filename}: the member occurs {counts[info.filename]} times")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise FormatError(f"{info.filename}: the member is compressed; store the members of packages")
        if info.header_offset < 0 or info.header_offset + info.file_size > size:
            raise FormatError(f"{info.filename}: the member of {info.file_size} bytes is outside of the file")
    return {info.filename: info for info in package.infolist()}


def _aliases(text: bytes, owners: Mapping[str, torch.Tensor]) -> dict[str, str]:
    try:
        aliases = json.loads(text)
    except RecursionError as error:
        raise FormatError("the JSON has too many levels") from error
    if not isinstance(aliases, dict):
        raise FormatError(f"the member must contain a JSON object, not a {type(aliases).__name__}")
    for key, owner in aliases.items():
        if not isinstance(owner, str):
            raise FormatError(f"the key {key!r} names {owner!r}; every owner name must be a string")
        if key == METADATA_KEY:
            raise FormatError(f"the key {key!r} is reserved by safetensors")
        if owner not in owners:
            raise FormatError(f"the key {key!r} names {owner!r}, which has no safetensors entry")
        if key in owners:
            raise FormatError(f"the key {key!r} is both a safetensors owner and an alias")
    return aliases
