"""Event traces of the runtime."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rushlight
from rushlight.devtools.etdump import ETDumpFlatCC, deserialize_from_etdump_flatcc
from rushlight.exir import to_edge
from rushlight.format.pte import program_fingerprint
from rushlight.runtime import Runtime
from rushlight.runtime.errors import NotFoundError
from rushlight.runtime.portable_lib import _load_bundled_program_from_buffer, _load_for_executorch_from_buffer


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x + 1, 0) * x


X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def plain() -> bytes:
    return to_edge(torch.export.export(Model(), (torch.ones(2, 3),))).to_executorch().buffer


def dump_of(program: Any) -> tuple[ETDumpFlatCC, bytes]:
    dump, debug = program.etdump()
    return deserialize_from_etdump_flatcc(dump), debug


def names(dump: ETDumpFlatCC, run: int) -> list[str | None]:
    return [event.profile_event.name for event in dump.run_data[run].events or [] if event.profile_event]


def test_loads_and_runs_are_recorded(plain: bytes) -> None:
    program = Runtime.get().load_program(plain, enable_etdump=True)
    method = program.load_method("forward")
    method.execute([X])
    method.execute([X])
    dump, debug = dump_of(program)
    assert [run.name for run in dump.run_data] == ["Default", "Execute", "Execute"]
    assert names(dump, 0) == ["Method::init", "Program::load_method"]
    calls = [f"native_call_{name.partition('::')[2]}" for name in method.metadata.operators()]
    assert names(dump, 1) == names(dump, 2)
    assert set(calls) | {"Method::execute"} == set(names(dump, 1))
    assert dump.program_fingerprint == program_fingerprint(plain)
    assert dump.dropped_events == 0 and debug == b""
    assert not any(event.debug_event or event.allocation_event for event in dump.run_data[1].events or [])


def test_values_are_recorded_with_a_debug_buffer(plain: bytes) -> None:
    program = Runtime.get().load_program(plain, enable_etdump=True, debug_buffer_size=1 << 16)
    (result,) = program.load_method("forward").execute([X])
    dump, debug = dump_of(program)
    values = [event.debug_event for event in dump.run_data[1].events or [] if event.debug_event]
    # ExecuTorch's Inspector matches values and times by identifiers, which instructions do not have.
    assert all(value.delegate_debug_id_str is None for value in values)
    assert len(values) == len(names(dump, 1))  # each instruction has a value, and the method has its output
    entry = values[-1].debug_entry
    assert entry.output is not None and entry.output.bool_val and entry.tensor is not None
    stored = np.frombuffer(debug, dtype=np.float32, count=6, offset=entry.tensor.offset)
    np.testing.assert_array_equal(stored.reshape(entry.tensor.sizes), result)
    np.testing.assert_array_equal(result, np.cumsum(X + 1, 0) * X)


def test_operators_inside_of_delegates_have_their_debug_handles(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Softmax(-1)).eval()
    program = rushlight.compile(model, (torch.ones(2, 3),))
    module = rushlight.load(program, enable_etdump=True, debug_buffer_size=1 << 16)
    result = module(X)
    path, debug_path = tmp_path / "model.etdp", tmp_path / "debug.bin"
    module.write_etdump_result_to_file(path, debug_path)
    dump = deserialize_from_etdump_flatcc(path.read_bytes())
    events = [event.profile_event for event in dump.run_data[1].events or [] if event.profile_event]
    inside = [event for event in events if event.delegate_debug_id_int >= 0]
    assert inside and all(event.name and event.instruction_id == 0 for event in inside)
    assert [event.name for event in events[len(inside) :]] == ["DELEGATE_CALL", "Method::execute"]
    assert all(events[-2].start_time <= event.start_time <= event.end_time for event in inside)
    values = [event.debug_event for event in dump.run_data[1].events or [] if event.debug_event]
    (last,) = [v.debug_entry.tensor for v in values if v.delegate_debug_id_int >= 0][-1:]
    assert last is not None
    stored = np.frombuffer(debug_path.read_bytes(), dtype=np.float32, count=8, offset=last.offset)
    np.testing.assert_array_equal(stored.reshape(2, 4), result)


def test_events_that_do_not_fit_are_counted(plain: bytes) -> None:
    program = Runtime.get().load_program(plain, enable_etdump=True, etdump_buffer_size=2000)
    method = program.load_method("forward")
    for _ in range(20):
        method.execute([X])
    with pytest.warns(RuntimeWarning, match="events did not fit"):
        dump, _ = dump_of(program)
    kept = sum(len(run.events or []) for run in dump.run_data)
    assert dump.dropped_events > 0
    assert kept + dump.dropped_events == 2 + 20 * len(names(dump, 1))
    tiny = Runtime.get().load_program(plain, enable_etdump=True, etdump_buffer_size=10)
    with pytest.raises(MemoryError, match="too small for an empty dump"):
        tiny.etdump()


def test_without_a_trace_there_is_none(plain: bytes) -> None:
    program = Runtime.get().load_program(plain)
    with pytest.raises(NotFoundError, match="load the program with enable_etdump=True"):
        program.etdump()
    module = _load_for_executorch_from_buffer(plain)
    assert not module.has_etdump()


def test_executorchs_functions_and_copies_record_too(plain: bytes, tmp_path: Path) -> None:
    module = _load_for_executorch_from_buffer(plain, enable_etdump=True)
    assert module.has_etdump()
    module.forward([X])
    module.write_etdump_result_to_file(str(tmp_path / "a.etdp"))
    assert len(deserialize_from_etdump_flatcc((tmp_path / "a.etdp").read_bytes()).run_data) == 2
    copy = pickle.loads(pickle.dumps(rushlight.load(plain, enable_etdump=True)))
    copy(X)
    assert len(dump_of(copy.program)[0].run_data) == 2


@pytest.mark.parametrize("size", ["debug_buffer_size", "etdump_buffer_size"])
def test_sizes_of_buffers_need_an_event_trace(plain: bytes, size: str) -> None:
    options: dict[str, Any] = {size: 64}
    with pytest.raises(ValueError, match=f"{size}=64 needs an event trace: add enable_etdump=True"):
        Runtime.get().load_program(plain, **options)
    with pytest.raises(ValueError, match=f"{size}=64 needs an event trace"):
        rushlight.load(plain, **options)


def test_the_pybindings_refuse_sizes_that_have_no_use(plain: bytes) -> None:
    with pytest.raises(ValueError, match="debug_buffer_size=64 needs an event trace"):
        _load_for_executorch_from_buffer(plain, debug_buffer_size=64)
    with pytest.raises(ValueError, match="non_const_pool_size=-1 is negative"):
        _load_bundled_program_from_buffer(plain, non_const_pool_size=-1)
