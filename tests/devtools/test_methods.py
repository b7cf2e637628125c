"""Runs of several methods, and runs of one method with different events."""

from __future__ import annotations

import torch

from rushlight.devtools.etdump import schema_flatcc as s
from rushlight.devtools.etdump.serialize import serialize_to_etdump_flatcc
from rushlight.devtools.inspector import Inspector
from rushlight.exir import to_edge
from rushlight.runtime import Runtime


class First(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)


class Second(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cos(x) + x


def test_each_method_has_its_own_operators() -> None:
    inputs = (torch.randn(2, 3),)
    programs = {
        "forward": torch.export.export(First(), inputs),
        "other": torch.export.export(Second(), inputs),
    }
    made = to_edge(programs, generate_etrecord=True).to_executorch()
    program = Runtime.get().load_program(made.buffer, enable_etdump=True)
    for name in ("forward", "other"):
        program.load_method(name).execute(list(inputs))
    inspector = Inspector(etdump_data=program.etdump()[0], etrecord=made.get_etrecord())
    blocks = {block.method: block for block in inspector.event_blocks if block.name == "Execute"}
    operators = {
        name: [op for event in block.events for op in event.op_types] for name, block in blocks.items()
    }
    assert operators == {"forward": ["aten.sin.default"], "other": ["aten.cos.default", "aten.add.Tensor"]}
    assert inspector.method_of(blocks["other"]) == "other"


def test_the_share_of_runs_with_the_same_events() -> None:
    def run(name: str) -> s.RunData:
        return s.RunData(
            "Execute", -1, None, [s.Event(s.ProfileEvent(name, 0, 0, -1, "", b"", 0, 9), None, None)]
        )

    runs = [run("native_call_add.out"), run("native_call_mul.out"), run("native_call_add.out")]
    data = serialize_to_etdump_flatcc(s.ETDumpFlatCC(0, runs), size_prefixed=True)
    assert [block.share for block in Inspector(etdump_data=data).event_blocks] == [2 / 3, 1 / 3]
