"""Loading programs: sources, errors, external data, registries; the runtime without torch."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import ScalarType
from rushlight.format.ptd import NamedDataEntry, write_ptd
from rushlight.runtime import Runtime, RushlightError, Verification
from rushlight.runtime.errors import (
    AccessFailedError,
    FileMissingError,
    InvalidExternalDataError,
    InvalidProgramError,
    NotFoundError,
    NotSupportedError,
    error_for,
)

Build = Callable[..., bytes]
runtime = Runtime.get()


def test_runtime_is_one() -> None:
    assert Runtime.get() is runtime


@pytest.mark.parametrize("size", [0, 1, 7, 8, 63, 64, 200, 500])
def test_truncated_programs(add_program: Build, size: int) -> None:
    with pytest.raises(InvalidProgramError):
        runtime.load_program(add_program(2)[:size])


@pytest.mark.damage
def test_every_damaged_byte_is_an_error_or_harmless(add_program: Build) -> None:
    data = add_program(2)
    ones = np.ones(2, np.float32)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0xFF
        try:
            runtime.load_program(bytes(damaged)).load_method("forward").execute([ones, ones])
        except RushlightError as error:
            assert str(error)


def test_wrong_identifier(add_program: Build) -> None:
    data = bytearray(add_program(2))
    data[4:8] = b"ET99"
    with pytest.raises(NotSupportedError, match="'ET99'"):
        runtime.load_program(data)
    with pytest.raises(ValueError, match="ET12"):
        runtime.load_program(b"PK\x03\x04" + bytes(100))


def test_missing_files(tmp_path: Path, add_program: Build) -> None:
    missing = tmp_path / "absent.pte"
    with pytest.raises(FileMissingError, match="absent.pte") as caught:
        runtime.load_program(missing)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(missing))
    with pytest.raises(FileNotFoundError):
        runtime.load_program(str(missing))
    with pytest.raises(FileNotFoundError, match="absent.ptd"):
        runtime.load_program(add_program(2), data_path=tmp_path / "absent.ptd")
    with pytest.raises(AccessFailedError, match="not a regular file"):
        runtime.load_program(tmp_path)


def test_missing_methods(add_program: Build) -> None:
    program = runtime.load_program(add_program(2))
    for look in (program.load_method, program.metadata):
        with pytest.raises(NotFoundError, match="no method 'absent'; it has forward"):
            look("absent")
        with pytest.raises(KeyError):
            look("absent")


def test_methods_are_loaded_once(add_program: Build) -> None:
    program = runtime.load_program(add_program(2), verification=Verification.Minimal)
    assert [int(level) for level in Verification] == [0, 1]
    assert program.method_names == {"forward"}
    assert program.load_method("forward") is program.load_method("forward")


def test_no_event_trace_without_enable_etdump(add_program: Build) -> None:
    with pytest.raises(RushlightError, match="enable_etdump=True"):
        runtime.load_program(add_program(2)).write_etdump_result_to_file("x", "y")


@pytest.fixture
def external(file: Any, tmp_path: Path) -> tuple[bytes, Callable[[dict[str, Any]], Path]]:
    """Returns forward(x) = x + weight with an external weight, and a function that writes data files."""
    method = file.method()
    x, weight, out = method.tensor(2), method.tensor(2, external="linear.weight"), method.tensor(2)
    method.add(x, weight, out)

    def write(values: dict[str, Any]) -> Path:
        path = tmp_path / f"data{len(list(tmp_path.iterdir()))}.ptd"
        path.write_bytes(
            write_ptd(
                {
                    name: NamedDataEntry(
                        array.tobytes(), 16, TensorLayout(ScalarType.FLOAT, list(array.shape), [0])
                    )
                    for name, array in values.items()
                }
            )
        )
        return path

    return file.bytes(method.plan([x], [out])), write


def test_external_data(external: Any) -> None:
    data, write = external
    weight = np.array([3, 4], np.float32)
    path, other = write({"linear.weight": weight}), write({"other": weight})
    ones = np.ones(2, np.float32)
    for data_path in (
        path,
        str(path),
        [other, path],
        path.read_bytes(),
        memoryview(b" " + path.read_bytes())[1:],
    ):
        method = runtime.load_program(data, data_path=data_path).load_method("forward")
        assert method.execute([ones])[0].tolist() == [4, 5]
    for data_path, message in (
        (None, r"needs 'linear.weight' from a data file \(.ptd\), but none is given"),
        (other, r"none of the given data files \(.ptd\) has an entry named 'linear.weight'"),
    ):
        with pytest.raises(RushlightError, match=message):
            runtime.load_program(data, data_path=data_path).load_method("forward")
    first = write({"linear.weight": -weight})
    method = runtime.load_program(data, data_path=[first, path]).load_method("forward")
    assert method.execute([ones])[0].tolist() == [-2, -3]
    with pytest.raises(InvalidExternalDataError, match="linear.weight"):
        runtime.load_program(data, data_path=write({"linear.weight": np.ones(3, np.float32)})).load_method(
            "forward"
        )
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InvalidExternalDataError):
        runtime.load_program(data, data_path=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"threads": -1}, "threads must be at least 1, not -1"),
        ({"threads": "2"}, "threads must be an integer or None, not str"),
        ({"max_memory": -1}, "max_memory must be at least 0, not -1"),
        ({"max_instructions": 1.5}, "max_instructions must be an integer or None, not float"),
        ({"enable_etdump": True, "etdump_buffer_size": -1}, "etdump_buffer_size must be at least 0, not -1"),
        ({"data_path": 3}, "external data must be paths or the bytes of one file, not int"),
        ({"data_path": bytearray(b"junk")}, r"^not a data file \(.ptd\)$"),
        ({"data_path": bytearray(b"....ET12" + bytes(99))}, r"^not a data file \(.ptd\)$"),
        ({"data_path": bytearray(b"....FT01" + bytes(99))}, "the data file is damaged: no"),
    ],
)
def test_wrong_options(add_program: Build, options: dict[str, Any], message: str) -> None:
    for load in (rushlight.load, runtime.load_program):
        with pytest.raises((TypeError, ValueError), match=message):
            load(add_program(2), **options)


def test_a_file_in_text_mode(add_program: Build, tmp_path: Path) -> None:
    path = tmp_path / "add.pte"
    path.write_bytes(add_program(2))
    for load in (rushlight.load, runtime.load_program):
        with (
            path.open(encoding="latin-1") as file,
            pytest.raises(TypeError, match="binary mode: it reads str"),
        ):
            load(file)  # type: ignore[arg-type, operator]


def test_registries() -> None:
    operators = runtime.operator_registry.operator_names
    assert "aten::add.out" in operators
    backends = runtime.backend_registry
    assert not backends.is_available("NoSuchBackend")
    assert all(isinstance(name, str) for name in backends.registered_backend_names)


@pytest.mark.parametrize("code", range(0x40))
def test_every_error_number_has_an_exception(code: int) -> None:
    error = error_for(code, "why")
    assert isinstance(error, RushlightError) and isinstance(error, RuntimeError)
    assert (str(error), error.code) == ("why", code)


def test_numpy_alone_suffices(add_program: Build, tmp_path: Path, run_python: Callable[[str], str]) -> None:
    path = tmp_path / "add.pte"
    path.write_bytes(add_program(2))
    script = f"""
import sys
import rushlight
assert not {{"torch", "numpy"}} & set(sys.modules), "importing the package loads no array library"
module = rushlight.load({str(path)!r})
import numpy as np
out = module(np.ones(2, np.float32), np.ones(2, np.float32))
assert type(out) is np.ndarray, type(out)
try:
    module(np.ones(3, np.float32), np.ones(2, np.float32))
except ValueError as error:
    print(error)
assert not [name for name in sys.modules if name.partition(".")[0] in ("torch", "torchao")]
print(out.tolist())
"""
    printed = run_python(script)
    assert "input 0 (positional argument 0) takes float32[2], but float32[3] is given" in printed
    assert printed.splitlines()[-1] == "[2.0, 2.0]"
