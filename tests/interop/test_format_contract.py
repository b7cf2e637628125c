"""The format is equal to ExecuTorch's: the schemas are the same, and both systems read the same values."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rushlight.codegen.fbs import SchemaDecl, parse_schema
from rushlight.format import flat_tensor, program
from rushlight.format.codecs import program_binding
from rushlight.format.decode import decode
from rushlight.format.header import read_program_layout
from rushlight.format.ptd import read_ptd, write_ptd
from rushlight.format.pte import read_pte, write_pte

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "schema"
MODELS = ["small", "aligned", "external", "delegated", "inline", "branch", "methods", "state"]

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask(interop_python: Path) -> Ask:
    def run(*arguments: str | Path) -> Any:
        command = [str(item) for item in (interop_python, "-m", "tests.interop.format_peer", *arguments)]
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr[-4000:]
        return json.loads(process.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="module")
def folder(ask: Ask, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder of files from ExecuTorch.

    Its folder `ours` has the files after Rushlight rewrote them.
    """
    made = tmp_path_factory.mktemp("executorch")
    ask("make", made)
    (made / "ours").mkdir()
    for path in made.glob("*.pte"):
        (made / "ours" / path.name).write_bytes(write_pte(read_pte(path.read_bytes())))
    for path in made.glob("*.ptd"):
        (made / "ours" / path.name).write_bytes(write_ptd(read_ptd(path.read_bytes())))
    return made


@pytest.fixture(scope="module")
def dumps(ask: Ask, folder: Path) -> Any:
    return ask("dump", *sorted(folder.glob("*.pt[ed]")), *sorted((folder / "ours").glob("*.pt[ed]")))


@pytest.fixture(scope="module")
def theirs(dumps: Any, folder: Path) -> Any:
    """Returns the values that ExecuTorch reads from its own files, by name."""
    return {Path(path).name: dump for path, dump in dumps.items() if Path(path).parent == folder}


@pytest.fixture(scope="module")
def rewritten(dumps: Any, folder: Path) -> Any:
    """Returns the values that ExecuTorch reads from the rewritten files, by name."""
    return {Path(path).name: dump for path, dump in dumps.items() if Path(path).parent == folder / "ours"}


@pytest.fixture(scope="module")
def same_outputs(ask: Ask, folder: Path) -> Any:
    return ask("run", folder, folder / "ours")


def plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, list):
        return [plain(item) for item in value]
    return repr(value) if isinstance(value, float) else value


@pytest.mark.parametrize("name", MODELS)
def test_the_same_tables_are_read(folder: Path, theirs: Any, name: str) -> None:
    data = memoryview((folder / f"{name}.pte").read_bytes())
    layout = read_program_layout(data)
    tables = decode(program_binding(), data[: layout.tables_size])
    assert plain(tables) == theirs[f"{name}.pte"]["tables"]
    header = theirs[f"{name}.pte"]["header"]
    if header is not None:
        assert (layout.tables_size, layout.segment_base, layout.segment_size) == (
            header["program_size"],
            header["segment_base_offset"],
            header["segment_data_size"],
        )


@pytest.mark.parametrize("name", MODELS)
def test_the_same_data_are_read(folder: Path, theirs: Any, name: str) -> None:
    file = read_pte((folder / f"{name}.pte").read_bytes())
    expected = theirs[f"{name}.pte"]["file"]
    constants = expected["program"]["constant_buffer"]
    if theirs[f"{name}.pte"]["header"] is None:
        # Without data, ExecuTorch does not read the reserved entry either.
        assert (plain(file.constants), constants) == ([""], [])
        return
    # ExecuTorch's constants include the padding before the next constant.
    for ours, other in zip(file.constants, constants, strict=True):
        assert other["storage"].startswith(bytes(ours).hex())
        assert len(other["storage"]) // 2 - len(ours) < 64
    assert plain(file.mutable_data) == [item["storage"] for item in expected["mutable_data"] or []]
    delegates = [item["data"] for item in expected["program"]["backend_delegate_data"]]
    assert plain(file.delegate_data) == delegates
    named = (expected["named_data"] or {}).get("pte_data", {})
    buffers = (expected["named_data"] or {}).get("buffers", [])
    assert {key: plain(entry.data) for key, entry in file.named_data.items()} == {
        key: buffers[entry["buffer_index"]] for key, entry in named.items()
    }


@pytest.mark.parametrize("name", MODELS)
def test_what_we_write_is_read_as_the_original(theirs: Any, rewritten: Any, name: str) -> None:
    expected, actual = (dump[f"{name}.pte"]["file"] for dump in (theirs, rewritten))
    for ours, other in zip(
        actual["program"].pop("constant_buffer"), expected["program"].pop("constant_buffer"), strict=True
    ):
        # Each file may have more padding, which depends on the requested alignment.
        assert ours["storage"].rstrip("0") == other["storage"].rstrip("0")
    assert actual == expected


@pytest.mark.parametrize("name", [name for name in MODELS if name != "external"])
def test_what_we_write_runs_as_the_original(same_outputs: Any, name: str) -> None:
    assert same_outputs[name] is True


def test_data_files_are_read_alike(folder: Path, theirs: Any, rewritten: Any) -> None:
    files = sorted(folder.glob("*.ptd"))
    assert files
    for path in files:
        entries = read_ptd(path.read_bytes())
        ours = {
            key: {"data": plain(entry.data), "layout": plain(entry.tensor_layout)}
            for key, entry in entries.items()
        }
        assert ours and ours == theirs[path.name] == rewritten[path.name]


# -- The schema and the dataclasses --


def their_schema(python: Path, relative: str) -> SchemaDecl:
    (package,) = python.parents[1].glob("lib/python3*/site-packages/executorch")
    return parse_schema(package / relative)


def shape(schema: SchemaDecl) -> dict[str, Any]:
    """Returns the properties that determine the bytes: slots, types, defaults, tags."""
    return {
        "identifier": schema.identifier,
        "root": schema.root,
        "tables": {
            name: [
                (f.name, f.slot, f.kind, f.target, f.is_vector, f.default, f.deprecated, f.align)
                for f in table.fields
            ]
            for name, table in schema.tables.items()
        },
        "unions": {name: list(union.members.items()) for name, union in schema.unions.items()},
    }


OWN_ETDUMP_FIELDS = {"ETDump": ["dropped_events", "program_fingerprint"], "RunData": ["method"]}


@pytest.mark.parametrize(
    ("name", "relative"),
    [
        ("program", "schema/program.fbs"),
        ("flat_tensor", "extension/flat_tensor/serialize/flat_tensor.fbs"),
        ("bundled_program", "devtools/bundled_program/schema/bundled_program_schema.fbs"),
        ("etdump", "devtools/etdump/etdump_schema_flatcc.fbs"),
    ],
)
def test_the_schemas_are_the_same(interop_python: Path, name: str, relative: str) -> None:
    ours, other = parse_schema(SCHEMAS / f"{name}.fbs"), their_schema(interop_python, relative)
    expected = shape(other)
    if name == "etdump":  # the fields at the end are extensions of Rushlight
        for table, own in OWN_ETDUMP_FIELDS.items():
            fields, theirs = ours.tables[table].fields, len(expected["tables"][table])
            assert [item.name for item in fields[theirs:]] == own
            ours.tables[table].fields = fields[:theirs]
    assert shape(ours) == expected
    assert ours.enums.keys() == other.enums.keys()
    for enum_name, members in other.enums.items():
        mine = {member.upper(): value for member, value in ours.enums[enum_name].members.items()}
        # ExecuTorch's schema does not contain the complex types. Its Python package has their numbers.
        extra = {"COMPLEX32", "COMPLEX64", "COMPLEX128"} if enum_name == "ScalarType" else set()
        assert {key: value for key, value in mine.items() if key not in extra} == {
            key.upper(): value for key, value in members.members.items()
        }


def test_the_dataclasses_are_the_same(ask: Ask) -> None:
    modules = {"schema": program, "flat_tensor_schema": flat_tensor, "tensor_layout": flat_tensor}
    compared = 0
    for key, expected in ask("classes").items():
        module, name = key.split(".")
        if name == "IntEnum":
            continue
        ours = getattr(modules[module], name)
        if isinstance(expected, dict):
            assert {member.name: member.value for member in ours} == expected
        else:
            actual = [
                [item.name, None if item.default is item.empty else repr(item.default)]
                for item in inspect.signature(ours).parameters.values()
            ]
            assert actual == expected, key
        compared += 1
    assert compared > 40
