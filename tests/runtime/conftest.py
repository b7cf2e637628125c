"""Small programs that the package `format` builds value by value, without torch and the compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rushlight.format.program import (
    AllocationDetails,
    Bool,
    Chain,
    ContainerMetadata,
    Double,
    EValue,
    ExecutionPlan,
    ExtraTensorInfo,
    Instruction,
    Int,
    KernelCall,
    Null,
    Operator,
    Program,
    ScalarType,
    String,
    SubsegmentOffsets,
    Tensor,
    TensorDataLocation,
    TensorShapeDynamism,
)
from rushlight.format.pte import PTEFile, write_pte

ROOT = Path(__file__).parents[2]
LEAF: dict[str, Any] = {"type": None, "context": None, "children_spec": []}


def tree(kind: str, children: Sequence[dict[str, Any]], keys: Sequence[str] | None = None) -> dict[str, Any]:
    context = "null" if keys is None else json.dumps(list(keys))
    return {"type": kind, "context": context, "children_spec": list(children)}


def spec(root: dict[str, Any]) -> str:
    return json.dumps([1, root])


class PlanBuilder:
    """Builds one method. The methods of a file share `constants`."""

    def __init__(self, name: str, constants: list[Any]) -> None:
        self.name = name
        self.constants = constants
        self.values: list[EValue] = []
        self.operators: list[Operator] = []
        self.instructions: list[Instruction] = []
        self.arena = 0

    def value(self, value: Any) -> int:
        kinds = {bool: Bool, int: Int, float: Double, str: String}
        self.values.append(EValue(Null() if value is None else kinds[type(value)](value)))
        return len(self.values) - 1

    def tensor(
        self,
        *sizes: int,
        dtype: ScalarType = ScalarType.FLOAT,
        planned: bool = True,
        constant: Any = None,
        external: str | None = None,
        dynamic: bool = False,
        dim_order: Sequence[int] | None = None,
    ) -> int:
        place = None
        index = 0
        extra = None
        if external is not None:
            extra = ExtraTensorInfo(0, external, TensorDataLocation.EXTERNAL)
        elif constant is not None:
            index = len(self.constants)
            self.constants.append(constant)
        elif planned:
            place = AllocationDetails(1, self.arena, 0)
            self.arena += -(-int(np.prod(sizes)) * 8 // 16) * 16
        dynamism = TensorShapeDynamism.DYNAMIC_BOUND if dynamic else TensorShapeDynamism.STATIC
        order = list(dim_order or range(len(sizes)))
        self.values.append(
            EValue(
                Tensor(
                    scalar_type=dtype,
                    storage_offset=0,
                    sizes=list(sizes),
                    dim_order=order,
                    requires_grad=False,
                    layout=0,
                    data_buffer_idx=index,
                    allocation_info=place,
                    shape_dynamism=dynamism,
                    extra_tensor_info=extra,
                )
            )
        )
        return len(self.values) - 1

    def call(self, operator: str, *args: int) -> None:
        name, _, overload = operator.partition(".")
        self.operators.append(Operator(name, overload))
        self.instructions.append(Instruction(KernelCall(len(self.operators) - 1, list(args))))

    def add(self, a: int, b: int, out: int) -> None:
        self.call("aten::add.out", a, b, self.value(1), out, out)

    def plan(
        self, inputs: Sequence[int], outputs: Sequence[int], input_spec: str = "", output_spec: str = ""
    ) -> ExecutionPlan:
        return ExecutionPlan(
            name=self.name,
            container_meta_type=ContainerMetadata(input_spec, output_spec),
            values=self.values,
            inputs=list(inputs),
            outputs=list(outputs),
            chains=[Chain([], [], self.instructions, None)],
            operators=self.operators,
            delegates=[],
            non_const_buffer_sizes=[0, self.arena] if self.arena else [0],
        )


class FileBuilder:
    def __init__(self) -> None:
        self.constants: list[Any] = [b""]
        self.plans: list[ExecutionPlan] = []

    def method(self, name: str = "forward") -> PlanBuilder:
        return PlanBuilder(name, self.constants)

    def bytes(self, *plans: ExecutionPlan) -> bytes:
        program = Program(0, list(plans), [], [], [], SubsegmentOffsets(0, []))
        return write_pte(PTEFile(program, constants=self.constants))


@pytest.fixture
def file() -> FileBuilder:
    return FileBuilder()


@pytest.fixture(scope="session")
def add_program() -> Callable[..., bytes]:
    """Returns a program with forward(x, y) = x + y for float32 tensors with the given sizes."""

    def build(*sizes: int, **options: Any) -> bytes:
        builder = FileBuilder()
        method = builder.method()
        x, y, out = (method.tensor(*sizes, **options) for _ in range(3))
        method.add(x, y, out)
        return builder.bytes(method.plan([x, y], [out]))

    return build


@pytest.fixture(scope="session")
def getters() -> bytes:
    """Returns a program whose methods have no inputs."""
    builder = FileBuilder()
    plans = []
    for name, value in {"integer": 7, "real": 1.5, "yes": True, "text": "héllo", "nothing": None}.items():
        method = builder.method(name)
        index = method.value(value)
        plans.append(method.plan([], [index]))
    method = builder.method("tensor")
    index = method.tensor(2, 3, constant=np.arange(6, dtype=np.float32).tobytes())
    plans.append(method.plan([], [index]))
    return builder.bytes(*plans)


@pytest.fixture(scope="session")
def nested_program() -> bytes:
    """Returns forward(x, {"a": y, "b": [z]}, *, bias) = ({"sum": x + y, "parts": [z + bias]}, x)."""
    builder = FileBuilder()
    method = builder.method()
    x, y, z, bias, first, second = (method.tensor(2) for _ in range(6))
    method.add(x, y, first)
    method.add(z, bias, second)
    mapping = tree("builtins.dict", [LEAF, tree("builtins.list", [LEAF])], ["a", "b"])
    inputs = tree(
        "builtins.tuple",
        [tree("builtins.tuple", [LEAF, mapping]), tree("builtins.dict", [LEAF], ["bias"])],
    )
    result = tree("builtins.dict", [LEAF, tree("builtins.list", [LEAF])], ["sum", "parts"])
    outputs = tree("builtins.tuple", [result, LEAF])
    return builder.bytes(method.plan([x, y, z, bias], [first, second, x], spec(inputs), spec(outputs)))


@pytest.fixture
def run_python(pytestconfig: pytest.Config) -> Callable[[str], str]:
    """Runs a script in a separate process, and returns its output."""
    native = pytestconfig.getoption("--native")
    prefix = f"from tests import native\nnative.use({str(native)!r})\n" if native else ""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}

    def run(script: str) -> str:
        command = [sys.executable, "-c", prefix + script]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
