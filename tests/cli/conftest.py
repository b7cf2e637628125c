"""Program files for the tests of the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rushlight.format.program import (
    Chain,
    ContainerMetadata,
    EValue,
    ExecutionPlan,
    Instruction,
    Int,
    KernelCall,
    Operator,
    Program,
    ScalarType,
    String,
    SubsegmentOffsets,
    Tensor,
    TensorShapeDynamism,
)
from rushlight.format.pte import PTEFile, write_pte


def tensor(constant: int = 0) -> EValue:
    return EValue(
        Tensor(
            scalar_type=ScalarType.FLOAT,
            storage_offset=0,
            sizes=[2],
            dim_order=[0],
            requires_grad=False,
            layout=0,
            data_buffer_idx=constant,
            allocation_info=None,
            shape_dynamism=TensorShapeDynamism.STATIC,
        )
    )


def plan(
    name: str, values: list[EValue], inputs: list[int], outputs: list[int], args: list[int]
) -> ExecutionPlan:
    calls = [Instruction(KernelCall(0, args))] if args else []
    return ExecutionPlan(
        name=name,
        container_meta_type=ContainerMetadata("", ""),
        values=values,
        inputs=inputs,
        outputs=outputs,
        chains=[Chain([], [], calls, None)],
        operators=[Operator("aten::add", "out")] if args else [],
        delegates=[],
        non_const_buffer_sizes=[0],
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Writes a program with forward(x) = x + [10, 20], version() = 3 and label() = "digits"."""
    values = [tensor(), tensor(constant=1), EValue(Int(1)), tensor()]
    plans = [
        plan("forward", values, [0], [3], [0, 1, 2, 3, 3]),
        plan("version", [EValue(Int(3))], [], [0], []),
        plan("label", [EValue(String("digits"))], [], [0], []),
    ]
    constant = np.array([10, 20], np.float32).tobytes()
    file = PTEFile(Program(0, plans, [], [], [], SubsegmentOffsets(0, [])), constants=[b"", constant])
    path = tmp_path / "model.pte"
    path.write_bytes(write_pte(file))
    return path
