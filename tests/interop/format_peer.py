"""Runs in the environment of the released `executorch` wheel. It sends JSON to test_format_contract.py.

python -m tests.interop.format_peer make FOLDER         compile small models to FOLDER/*.pte and *.ptd
python -m tests.interop.format_peer dump FILE...        print the values that ExecuTorch reads from each file
python -m tests.interop.format_peer run FILE FILE       print whether both have the same outputs in ExecuTorch
python -m tests.interop.format_peer classes             print the fields of ExecuTorch's dataclasses
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.export import Dim, export


def plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, enum.Enum):
        return int(value.value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, float):
        return repr(value)
    return value


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.linear = torch.nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        x = torch.nn.functional.relu(self.conv(x))
        return torch.softmax(self.linear(x.mean((2, 3))), -1), x.clamp(-float("inf"), 2.5)


class Counter(torch.nn.Module):
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor([3.0, 4.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


class Branch(torch.nn.Module):
    def forward(self, flag: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(flag, lambda y: y + 1, lambda y: torch.cat([y[:1], y[1:] * 2]), (x,))


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


def models() -> Iterator[Any]:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    torch.manual_seed(0)
    image = (torch.randn(1, 3, 8, 8),)
    small = export(Small().eval(), image)
    yield "small", to_edge(small).to_executorch(), image
    aligned = ExecutorchBackendConfig(
        segment_alignment=4096, constant_tensor_alignment=64, emit_stacktrace=True
    )
    yield "aligned", to_edge(small).to_executorch(aligned), image
    external = ExecutorchBackendConfig(external_constants=True)
    yield "external", to_edge(small).to_executorch(external), None
    partitioner = [XnnpackPartitioner()]
    yield "delegated", to_edge_transform_and_lower(small, partitioner=partitioner).to_executorch(), image
    inline = ExecutorchBackendConfig(extract_delegate_segments=False, delegate_alignment=64)
    lowered = to_edge_transform_and_lower(small, partitioner=[XnnpackPartitioner()])
    yield "inline", lowered.to_executorch(inline), image
    pair = (torch.ones(4), torch.ones(4))
    dynamic = {"x": {0: Dim("n", min=3, max=9)}}
    branch = export(Branch(), (torch.tensor(True), torch.ones(4)), dynamic_shapes={"flag": None, **dynamic})
    yield "branch", to_edge(branch).to_executorch(), (torch.tensor(True), torch.ones(4))
    methods = {"forward": export(Add(), pair), "other": small}
    config = {"get_eos_ids": [1, 2], "get_scale": 0.5, "get_name": "none"}
    yield "methods", to_edge(methods, constant_methods=config).to_executorch(), pair
    keep = ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(["count"])])
    yield "state", to_edge(export(Counter(), (torch.ones(2),))).to_executorch(keep), (torch.ones(2),)


def make(folder: Any) -> None:
    inputs = {}
    for name, program, arguments in models():
        (folder / f"{name}.pte").write_bytes(program.buffer)
        if arguments is not None:
            inputs[name] = arguments
        program.write_tensor_data_to_file(str(folder))
    torch.save(inputs, folder / "inputs.pt")


def dump_pte(data: Any) -> Any:
    from executorch.exir._serialize import _program

    header = _program._get_extended_header(data)
    size = header.program_size if header else len(data)
    return {
        "tables": plain(_program._flatbuffer_to_program(data[:size])),
        "file": plain(_program.deserialize_pte_binary(data)),
        "header": plain(header) if header else None,
    }


def dump_ptd(data: Any) -> Any:
    from executorch.exir._serialize._cord import Cord
    from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer

    payload = FlatTensorSerializer().deserialize(Cord(data))
    return {
        key: {"data": plain(payload.buffers[entry.buffer_index]), "layout": plain(entry.tensor_layout)}
        for key, entry in payload.named_data.items()
    }


def run(first: Any, second: Any) -> Any:
    from executorch.runtime import Runtime

    arguments = torch.load(first.with_name("inputs.pt"))[first.stem]
    results = []
    for path in (first, second):
        program = Runtime.get().load_program(path)
        results.append([program.load_method("forward").execute(arguments) for _ in range(2)])
    return all(
        len(a) == len(b) and all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
        for a, b in zip(*results, strict=True)
    )


def classes() -> Any:
    from executorch.exir import schema, tensor_layout
    from executorch.exir.scalar_type import ScalarType
    from executorch.extension.flat_tensor.serialize import flat_tensor_schema

    described: dict[str, Any] = {}
    for module in (schema, flat_tensor_schema, tensor_layout):
        for name, cls in vars(module).items():
            key = f"{module.__name__.rpartition('.')[2]}.{name}"
            if dataclasses.is_dataclass(cls):
                parameters = inspect.signature(cls).parameters.values()  # type: ignore[arg-type]
                described[key] = [
                    [
                        parameter.name,
                        None if parameter.default is parameter.empty else repr(parameter.default),
                    ]
                    for parameter in parameters
                ]
            elif inspect.isclass(cls) and issubclass(cls, enum.IntEnum):
                described[key] = {member.name: member.value for member in cls}
    described["schema.ScalarType"] = {member.name: member.value for member in ScalarType}
    return described


def main() -> None:
    command, arguments = sys.argv[1], [Path(argument) for argument in sys.argv[2:]]
    result = None
    if command == "make":
        make(arguments[0])
    elif command == "dump":
        result = {
            str(path): (dump_ptd if path.suffix == ".ptd" else dump_pte)(path.read_bytes())
            for path in arguments
        }
    elif command == "run":
        names = torch.load(arguments[0] / "inputs.pt")
        result = {name: run(*(folder / f"{name}.pte" for folder in arguments)) for name in names}
    elif command == "classes":
        result = classes()
    else:
        raise SystemExit(f"unknown command {command}")
    # Libraries also print to stdout. The answer is the last line.
    print()
    print(json.dumps(result))


main()
