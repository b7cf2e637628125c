"""The tables of programs and data files, without segments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.export import export

from rushlight.compat.emitter_output import EmitterOutput
from rushlight.compat.program_tables import (
    deserialize_to_flat_tensor,
    flatbuffer_to_program,
    program_to_flatbuffer,
)
from rushlight.compat.serialize_helpers import (
    FlatTensorSerializer,
    serialize_for_executorch,
)
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.delegate.backend import CompileSpec
from rushlight.delegate.named_data import NamedDataStore
from rushlight.exir import to_edge
from rushlight.format.program import BackendDelegate, BackendDelegateDataReference, DataLocation
from rushlight.format.pte import read_pte


def test_programs_there_and_back() -> None:
    linear = torch.nn.Linear(3, 2)
    program = to_edge(export(linear, (torch.ones(1, 3),))).to_executorch().executorch_program
    result = program_to_flatbuffer(program, constant_tensor_alignment=64)
    back = flatbuffer_to_program(result.data)
    assert result.max_alignment == 64 and result.data[4:8] == b"ET12"
    assert back.execution_plan == program.execution_plan
    assert [bytes(buffer.storage) for buffer in back.constant_buffer] == [
        bytes(buffer.storage) for buffer in program.constant_buffer
    ]
    with pytest.raises(ValueError, match="delegate_alignment is 3; it must be a power of two"):
        program_to_flatbuffer(program, delegate_alignment=3)


def test_an_emitted_program_of_its_parts() -> None:
    """A program that is built of the parts of a program with external constants has the same files."""
    linear = torch.nn.Linear(3, 2)
    config = ExecutorchBackendConfig(external_constants=lambda node: "weights")
    emitted = to_edge(export(linear, (torch.ones(1, 3),))).to_executorch(config)._emitter_output
    made = EmitterOutput(
        program=emitted.program,
        debug_handle_map=emitted.debug_handle_map,
        method_to_delegate_debug_id_map={},
        instruction_id_to_num_outs_map={},
        mutable_data=emitted.mutable_data,
        external_constant_buffer=emitted.external_constant_buffer,
        external_constant_map=emitted.external_constant_map,
    )
    program, files = serialize_for_executorch(made, config, FlatTensorSerializer())
    expected, expected_files = serialize_for_executorch(emitted, config, FlatTensorSerializer())
    assert bytes(program) == bytes(expected)
    tables = [deserialize_to_flat_tensor(bytes(each["weights"])) for each in (files, expected_files)]
    layouts: Any = [{entry.key: entry.tensor_layout for entry in table.named_data} for table in tables]
    assert layouts[0] == layouts[1] and layouts[0]["weight"].sizes == [2, 3]


def test_files_of_an_emitted_program() -> None:
    linear = torch.nn.Linear(3, 2)
    config = ExecutorchBackendConfig(external_constants=lambda node: "weights")
    manager = to_edge(export(linear, (torch.ones(1, 3),))).to_executorch(config)
    store = NamedDataStore()
    store.add_named_data("note", b"inside")
    store.add_named_data("more", b"outside", external_tag="weights")
    output = store.get_named_data_store_output()
    program, files = serialize_for_executorch(manager._emitter_output, config, FlatTensorSerializer(), output)
    assert bytes(read_pte(bytes(program)).named_data["note"].data) == b"inside"
    tables = deserialize_to_flat_tensor(bytes(files["weights"]))
    assert {entry.key for entry in tables.named_data} == {"weight", "bias", "more"}
    output.pte_data["again"] = output.pte_data["note"]
    manager._emitter_output.pte.named_data["note"] = read_pte(bytes(program)).named_data["note"]
    with pytest.raises(ValueError, match="both have 'note'"):
        serialize_for_executorch(manager._emitter_output, config, FlatTensorSerializer(), output)


def test_compile_specs_of_partitioners_are_written() -> None:
    program = to_edge(export(torch.nn.Linear(3, 2), (torch.ones(1, 3),))).to_executorch().executorch_program
    place = BackendDelegateDataReference(DataLocation.INLINE, 0)
    options: Any = [CompileSpec("speed", b"fast")]
    plan = replace(program.execution_plan[0], delegates=[BackendDelegate("Fast", place, options)])
    result = program_to_flatbuffer(replace(program, execution_plan=[plan]))
    assert flatbuffer_to_program(result.data).execution_plan == [plan]
