"""Each system reads bundled programs and ETDumps of the other."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tests.interop.cases import NAMES, Ask, build

from rushlight.devtools.bundled_program import (
    BundledProgram,
    MethodTestCase,
    MethodTestSuite,
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from rushlight.devtools.bundled_program import schema as bundle_schema
from rushlight.devtools.etdump import (
    ETDumpFlatCC,
    Event,
    ProfileEvent,
    RunData,
    deserialize_from_etdump_flatcc,
    serialize_to_etdump_flatcc,
)
from rushlight.exir import to_edge

NAME = NAMES[0]


def floats(value: bundle_schema.Value) -> torch.Tensor:
    assert isinstance(value.val, bundle_schema.Tensor)
    assert value.val.dim_order == list(range(len(value.val.sizes)))
    return torch.frombuffer(bytearray(value.val.data), dtype=torch.float32).reshape(value.val.sizes)


def test_its_bundled_programs_are_read_here(peer: Ask, tmp_path: Path) -> None:
    peer({"bundle": NAME, "folder": str(tmp_path)})
    expected = torch.load(tmp_path / "expected.pt")
    bundle = deserialize_from_flatbuffer_to_bundled_program((tmp_path / "model.bpte").read_bytes())
    assert bundle.program == (tmp_path / "model.pte").read_bytes()
    (suite,) = bundle.method_test_suites
    assert suite.method_name == "forward"
    whole, without = suite.test_cases
    assert without.expected_outputs == [] and without.inputs == whole.inputs
    for value, tensor in zip(whole.inputs, expected["inputs"], strict=True):
        assert torch.equal(floats(value), tensor)
    for value, tensor in zip(whole.expected_outputs, expected["outputs"], strict=True):
        assert torch.equal(floats(value), tensor)


def test_our_bundled_programs_are_verified_there(peer: Ask, tmp_path: Path) -> None:
    module, inputs = build(NAME)
    with torch.no_grad():
        outputs = torch.utils._pytree.tree_leaves(module(*inputs))
    program = to_edge(torch.export.export(module, inputs)).to_executorch()
    for name, shift in (("right", 0.0), ("wrong", 1.0)):
        cases = [MethodTestCase(inputs, [output + shift for output in outputs])]
        bundle = BundledProgram(program, [MethodTestSuite("forward", cases)])
        path = tmp_path / f"{name}.bpte"
        path.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
    peer({"verify": str(tmp_path / "right.bpte")})
    try:
        peer({"verify": str(tmp_path / "wrong.bpte")})
    except AssertionError:
        return
    raise AssertionError("the other runtime found no difference")


def test_its_dumps_are_read_here(peer: Ask, tmp_path: Path) -> None:
    peer({"etdump": NAME, "folder": str(tmp_path)})
    dump = deserialize_from_etdump_flatcc((tmp_path / "model.etdp").read_bytes())
    assert [run.name for run in dump.run_data] == ["Default", "Execute", "Execute"]
    loads = [event.profile_event for event in dump.run_data[0].events or []]
    assert [event.name for event in loads if event] == ["Method::init", "Program::load_method"]
    events = dump.run_data[2].events or []
    assert any(e.profile_event is not None and e.profile_event.name == "Method::execute" for e in events)
    (output,) = [
        e.debug_event.debug_entry.tensor for e in events if e.debug_event and e.debug_event.debug_entry.output
    ]
    assert output is not None
    data = (tmp_path / "debug.bin").read_bytes()
    count = torch.Size(output.sizes).numel()
    got = torch.frombuffer(bytearray(data), dtype=torch.float32, count=count, offset=output.offset)
    assert torch.equal(got.reshape(output.sizes), torch.load(tmp_path / "expected.pt")["outputs"][0])


def test_our_dumps_are_inspected_there(peer: Ask, tmp_path: Path) -> None:
    def call(name: str | None, instruction: int, number: int, start: int, end: int) -> Event:
        return Event(ProfileEvent(name, 0, instruction, number, None, None, start, end), None, None)

    runs = [
        RunData("Execute", -1, None, [call("native_call_add.out", 0, -1, 5, 9), call("gemm", 1, 7, 10, 30)])
        for _ in range(2)
    ]
    dump = ETDumpFlatCC(0, runs, dropped_events=3, program_fingerprint=1 << 63)
    path, facts = tmp_path / "model.etdp", tmp_path / "facts.json"
    path.write_bytes(serialize_to_etdump_flatcc(dump, size_prefixed=True))
    peer({"events": str(path), "facts": str(facts)})
    names = json.loads(facts.read_text())["Execute"]
    assert "native_call_add.out" in names and "7" in names
