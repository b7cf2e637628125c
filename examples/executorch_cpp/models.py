"""Writes the programs that the C++ examples run: python models.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import final

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.export.experimental import _export_forward_backward

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.constants import tag_constant_data
from rushlight.delegate.grouping import form_parts
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.devtools.bundled_program import (
    BundledProgram,
    MethodTestCase,
    MethodTestSuite,
    serialize_from_bundled_program_to_flatbuffer,
)
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.target.kernel_table import host_kernel_table

OPERATORS = {
    "my_ops": ["mul3(Tensor x) -> Tensor", "shift(Tensor x, int by) -> Tensor"],
    "yaml_ops": ["scale(Tensor x, float factor) -> Tensor"],
}
LIBRARIES = {name: torch.library.Library(name, "DEF") for name in OPERATORS}
for _name, _schemas in OPERATORS.items():
    for _schema in _schemas:
        LIBRARIES[_name].define(_schema)
        _head, _arguments = _schema.removesuffix(") -> Tensor").split("(")
        LIBRARIES[_name].define(f"{_head}.out({_arguments}, *, Tensor(a!) out) -> Tensor(a!)")

torch.library.impl(LIBRARIES["my_ops"], "mul3", "CompositeExplicitAutograd")(lambda x: x * 3)
torch.library.impl(LIBRARIES["my_ops"], "shift", "CompositeExplicitAutograd")(lambda x, by: x + by)
torch.library.impl(LIBRARIES["yaml_ops"], "scale", "CompositeExplicitAutograd")(lambda x, factor: x * factor)


class Add(nn.Module):
    """The sum of two inputs."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Both float32 [2, 2]."""
        return x + y


class Custom(nn.Module):
    """Two custom operators and one ATen operator."""

    def forward(self, x: Tensor) -> Tensor:
        """x: float32 [3]."""
        return torch.ops.my_ops.shift(torch.ops.my_ops.mul3(x), 100) + x


class Scale(nn.Module):
    """An operator with kernels for two dtypes."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """x: float32 [1, 2]; y: float64 [1, 2]."""
        return torch.ops.yaml_ops.scale(x, 2.0), torch.ops.yaml_ops.scale(y, 0.5)


class Chain(nn.Module):
    """Sums and products with the same second operand."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Both float32 [3]."""
        return (x + y) * y + y


class Xor(nn.Module):
    """Two layers that learn the exclusive or of two bits, and their loss."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(2, 10)
        self.scores = nn.Linear(10, 2)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, bits: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """bits: float32 [1, 2]; label: int64 [1]. Returns the loss and the predicted bit."""
        scores = self.scores(torch.sigmoid(self.hidden(bits)))
        return self.loss(scores, label), scores.detach().argmax(dim=1)


LETTERS = {"aten.add.Tensor": "+", "aten.mul.Tensor": "*"}


@final
class LetterBackend(BackendDetails):
    """Writes a letter for each operation on a value, which starts as the first input."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        calls = [node for node in edge_program.graph.nodes if node.op == "call_function"]
        text = "".join(LETTERS[str(getattr(node.target, "_op", node.target))] for node in calls)
        return PreprocessResult(text.encode())


class LetterPartitioner(Partitioner):
    """Selects chains of sums and products."""

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        spec = DelegationSpec(LetterBackend.__name__, [CompileSpec("precision", b"\x20")])
        tags = {}
        takes = lambda node: str(getattr(node.target, "_op", node.target)) in LETTERS  # noqa: E731
        for part in form_parts(exported_program.graph_module.graph, takes):
            tag = f"letters_{len(tags)}"
            tags[tag] = spec
            for node in part:
                node.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)


def write(folder: Path) -> None:
    """Writes all programs into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    square = (torch.ones(2, 2), torch.ones(2, 2))
    add = to_edge(torch.export.export(Add(), square)).to_executorch()
    (folder / "add.pte").write_bytes(add.buffer)
    cases = [
        MethodTestCase(square, (Add()(*square),)),
        MethodTestCase((square[0], 3 * square[1]), (4 * square[0],)),
    ]
    bundled = BundledProgram(add, [MethodTestSuite("forward", cases)])
    (folder / "add.bpte").write_bytes(serialize_from_bundled_program_to_flatbuffer(bundled))
    own = ["my_ops::mul3.out", "my_ops::shift.out", "yaml_ops::scale.out"]
    config = ExecutorchBackendConfig(target=host_kernel_table().with_operators(own))
    for name, model, inputs in (
        ("custom", Custom(), (torch.ones(3),)),
        ("scale", Scale(), (torch.ones(1, 2), torch.ones(1, 2, dtype=torch.float64))),
    ):
        exported = torch.export.export(model, inputs)
        (folder / f"{name}.pte").write_bytes(to_edge(exported).to_executorch(config).buffer)
    torch.manual_seed(0)
    bits = torch.export.export(Xor(), (torch.zeros(1, 2), torch.zeros(1, dtype=torch.int64)), strict=True)
    config = ExecutorchBackendConfig(external_mutable_weights=True)
    for name, settings in (("xor", None), ("xor_weights_apart", config)):
        joint = to_edge(_export_forward_backward(bits)).to_executorch(settings)
        (folder / f"{name}.pte").write_bytes(joint.buffer)
    joint.write_tensor_data_to_file(str(folder))
    lowered = to_edge_transform_and_lower(
        torch.export.export(Chain(), (torch.ones(3), torch.ones(3))), partitioner=[LetterPartitioner()]
    )
    (folder / "letters.pte").write_bytes(lowered.to_executorch().buffer)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
