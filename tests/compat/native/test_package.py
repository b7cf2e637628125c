"""Packages: what they contain, and what is refused."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from rushlight.compat.native.package import ALIASES_ENTRY, PTG_ENTRY, SAFETENSORS_ENTRY, read_ptn, write_ptn
from rushlight.compat.native.safetensors import DTYPE_CODES
from rushlight.format.errors import FormatError

PTG = b"\x04\0\0\0NPTG and so on"
TENSORS = {"a": torch.arange(3.0), "b": torch.ones(2, 2, dtype=torch.int64)}


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        assert all(info.compress_type == zipfile.ZIP_STORED for info in package.infolist())
        return {name: package.read(name) for name in package.namelist()}


def pack(path: Path, contents: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as package:
        for name, data in contents.items():
            package.writestr(name, data)
    return path


def tensors_of(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_every_dtype_there_and_back(tmp_path: Path) -> None:
    tensors = {code: torch.ones(2, 3).to(dtype) for dtype, code in DTYPE_CODES.items()}
    tensors |= {"empty": torch.empty(0, 4), "scalar": torch.tensor(2.5), "": torch.zeros(1)}
    write_ptn(tmp_path / "new" / "model.ptn", PTG, tensors)
    ptg, back = read_ptn(tmp_path / "new" / "model.ptn")
    assert ptg == PTG and back.keys() == tensors.keys()
    for key, tensor in tensors.items():
        assert back[key].dtype is tensor.dtype and torch.equal(back[key], tensor)


def test_a_package_without_tensors_has_one_member(tmp_path: Path) -> None:
    write_ptn(tmp_path / "model.ptn", PTG, {})
    assert members(tmp_path / "model.ptn") == {PTG_ENTRY: PTG}
    assert read_ptn(tmp_path / "model.ptn") == (PTG, {})


def test_equal_tensors_are_stored_once(tmp_path: Path) -> None:
    path, ones = tmp_path / "model.ptn", torch.ones(4)
    tensors = {"c": ones, "a": ones.clone(), "b": ones.view(2, 2), "d": ones.int(), "e": ones.clone()}
    write_ptn(path, PTG, tensors, mutable_keys=frozenset({"e"}))
    assert json.loads(members(path)[ALIASES_ENTRY]) == {"c": "a"}
    back = read_ptn(path)[1]
    assert back["c"] is back["a"] and back["e"] is not back["a"]
    assert all(torch.equal(back[key], tensor) for key, tensor in tensors.items())


def test_tensors_of_any_strides(tmp_path: Path) -> None:
    base = torch.arange(12.0).view(3, 4)
    tensors = {"turned": base.T, "part": base[1:, ::2], "wide": base[:, :1].expand(3, 2)}
    write_ptn(tmp_path / "model.ptn", PTG, tensors)
    back = read_ptn(tmp_path / "model.ptn")[1]
    assert all(torch.equal(back[key], tensor) for key, tensor in tensors.items())


def test_the_bytes_depend_only_on_the_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_ptn(tmp_path / "a", PTG, TENSORS)
    monkeypatch.setattr("time.time", lambda: 2e9)
    write_ptn(tmp_path / "b", PTG, dict(reversed(TENSORS.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("tensors", "mutable", "error", "message"),
    [
        ({"w": torch.ones(1)}, {"v"}, ValueError, r"\['v'\] have no tensor data"),
        ({"__metadata__": torch.ones(1)}, (), ValueError, "reserved by safetensors"),
        ({1: torch.ones(1)}, (), TypeError, "data key must be str, got int"),
        ({"w": 1}, (), TypeError, "'w' must be a Tensor, got int"),
        ({"w": torch.ones(1, dtype=torch.complex128)}, (), KeyError, r"'w', a tensor of torch\.complex128"),
    ],
)
def test_what_is_not_written(
    tmp_path: Path, tensors: Any, mutable: Any, error: type[Exception], message: str
) -> None:
    path = tmp_path / "model.ptn"
    write_ptn(path, PTG, TENSORS)
    before = path.read_bytes()
    with pytest.raises(error, match=message):
        write_ptn(path, PTG, tensors, frozenset(mutable))
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_changing_tensors_must_not_share_memory(tmp_path: Path) -> None:
    base = torch.arange(8.0)
    shared = {"a": base[:4], "b": base[2:6]}
    with pytest.raises(ValueError, match=r"\['a', 'b'\] share source storage"):
        write_ptn(tmp_path / "model.ptn", PTG, shared, frozenset({"b"}))
    write_ptn(tmp_path / "model.ptn", PTG, shared)
    assert torch.equal(read_ptn(tmp_path / "model.ptn")[1]["b"], base[2:6])


F32 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
GOOD = tensors_of({"a": F32}, b"\0\0\x80?")
DAMAGED: dict[str, tuple[dict[str, bytes], str]] = {
    "no program": ({SAFETENSORS_ENTRY: GOOD}, "the member program.ptg is missing"),
    "no header": ({SAFETENSORS_ENTRY: b"1234"}, "does not fit into 4 bytes"),
    "long header": ({SAFETENSORS_ENTRY: b"\xff" * 8}, "does not fit into 8 bytes"),
    "no JSON": ({SAFETENSORS_ENTRY: tensors_of(b"{")}, "the header is not valid JSON"),
    "no UTF-8": ({SAFETENSORS_ENTRY: tensors_of(b'{"\xff":1}')}, "the header is not valid JSON"),
    "deep JSON": ({SAFETENSORS_ENTRY: tensors_of(b"[" * 100_000)}, "the header is not valid JSON"),
    "no object": ({SAFETENSORS_ENTRY: tensors_of([])}, "the header is not a JSON object"),
    "no entry": ({SAFETENSORS_ENTRY: tensors_of({"a": 3})}, "tensor 'a' has the dtype None"),
    "dtype": ({SAFETENSORS_ENTRY: tensors_of({"a": {**F32, "dtype": "F8"}})}, "'a' has the dtype 'F8'"),
    "shape": ({SAFETENSORS_ENTRY: tensors_of({"a": {**F32, "shape": [-1]}})}, r"has the shape \[-1\]"),
    "shape of bools": ({SAFETENSORS_ENTRY: tensors_of({"a": {**F32, "shape": [True]}})}, "has the shape"),
    "position": ({SAFETENSORS_ENTRY: tensors_of({"a": {**F32, "data_offsets": [0]}})}, "the position"),
    "size": (
        {SAFETENSORS_ENTRY: tensors_of({"a": {**F32, "shape": [2]}}, b"1234")},
        "needs 8 bytes, but has 4",
    ),
    "huge": (
        {SAFETENSORS_ENTRY: tensors_of({"a": {**F32, "shape": [1 << 60], "data_offsets": [0, 1 << 62]}})},
        "has the bytes 0 to 4611686018427387904 of 0",
    ),
    "outside": ({SAFETENSORS_ENTRY: tensors_of({"a": F32}, b"123")}, "has the bytes 0 to 4 of 3"),
    "overlap": ({SAFETENSORS_ENTRY: tensors_of({"a": F32, "b": F32}, b"1234")}, "must start at byte 4"),
    "rest": ({SAFETENSORS_ENTRY: tensors_of({"a": F32}, b"12345")}, "1 bytes belong to no tensor"),
    "twice": (
        {SAFETENSORS_ENTRY: tensors_of(b'{"a":%b,"a":%b}' % ((json.dumps(F32).encode(),) * 2), b"1234")},
        "a name occurs twice",
    ),
    "alias list": ({ALIASES_ENTRY: b"[]"}, "must contain a JSON object"),
    "alias JSON": ({ALIASES_ENTRY: b"nothing"}, "Expecting value"),
    "deep alias": ({ALIASES_ENTRY: b"[" * 100_000}, "too many levels"),
    "alias number": ({ALIASES_ENTRY: b'{"b": 1}'}, "every owner name must be a string"),
    "alias metadata": ({ALIASES_ENTRY: b'{"__metadata__": "a"}'}, "reserved by safetensors"),
    "alias nowhere": ({ALIASES_ENTRY: b'{"b": "c"}'}, "'c', which has no safetensors entry"),
    "alias owner": ({ALIASES_ENTRY: b'{"a": "a"}'}, "both a safetensors owner and an alias"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_members_are_named(name: str, tmp_path: Path) -> None:
    contents, message = DAMAGED[name]
    whole = {PTG_ENTRY: PTG, SAFETENSORS_ENTRY: GOOD, **contents}
    if name == "no program":
        del whole[PTG_ENTRY]
    (member,) = contents
    path = pack(tmp_path / "model.ptn", whole)
    with pytest.raises(FormatError, match=message) as info:
        read_ptn(path)
    assert str(path) in str(info.value)
    assert name == "no program" or f"{member}: " in str(info.value)


def test_metadata_of_safetensors_is_skipped(tmp_path: Path) -> None:
    data = tensors_of({"__metadata__": {"format": "pt"}, "a": F32}, b"\0\0\x80?")
    path = pack(tmp_path / "model.ptn", {PTG_ENTRY: PTG, SAFETENSORS_ENTRY: data})
    assert read_ptn(path)[1] == {"a": torch.ones(1)}


def test_compressed_and_repeated_members_are_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "model.ptn", {PTG_ENTRY: b"0" * 1000}, zipfile.ZIP_DEFLATED)
    with pytest.raises(FormatError, match=r"program\.ptg: the member is compressed"):
        read_ptn(path)
    with zipfile.ZipFile(path, "w") as package:
        package.writestr(PTG_ENTRY, PTG)
        with pytest.warns(UserWarning, match="Duplicate name"):
            package.writestr(PTG_ENTRY, PTG)
    with pytest.raises(FormatError, match=r"program\.ptg: the member occurs 2 times"):
        read_ptn(path)


def test_a_member_with_a_wrong_size_is_refused(tmp_path: Path) -> None:
    """The size in the directory is larger than the file. No memory of this size is allocated."""
    path = pack(tmp_path / "model.ptn", {PTG_ENTRY: PTG})
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    struct.pack_into("<II", data, entry + 20, 1 << 31, 1 << 31)
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"program\.ptg: the member of 2147483648 bytes is outside"):
        read_ptn(path)


def test_no_damage_crashes_the_reader(tmp_path: Path) -> None:
    """A changed byte gives an error that names the file, or a package that is still valid."""
    path = tmp_path / "model.ptn"
    write_ptn(path, PTG, {**TENSORS, "c": TENSORS["a"].clone()})
    whole = path.read_bytes()
    refused = 0
    for at in range(len(whole)):
        for value in {whole[at] ^ 1, whole[at] ^ 0x80, 0xFF} - {whole[at]}:
            path.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            try:
                read_ptn(path)
            except FormatError as error:
                assert str(path) in str(error)
                refused += 1
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"model\.ptn"):
            read_ptn(path)
    assert refused > len(whole)
