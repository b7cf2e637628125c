"""A program with every kind of value, and functions that build programs by hand."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import (
    AllocationDetails,
    BackendDelegate,
    BackendDelegateDataReference,
    Bool,
    BoolList,
    Chain,
    CompileSpec,
    ContainerMetadata,
    DataLocation,
    DelegateCall,
    DeviceType,
    Double,
    DoubleList,
    EValue,
    ExecutionPlan,
    ExtraTensorInfo,
    Frame,
    FrameList,
    FreeCall,
    Instruction,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    KernelTypes,
    MoveCall,
    NonConstBufferDevice,
    Null,
    Operator,
    OptionalTensorList,
    Program,
    ScalarType,
    String,
    SubsegmentOffsets,
    Tensor,
    TensorDataLocation,
    TensorList,
    TensorShapeDynamism,
)
from rushlight.format.pte import NamedDataEntry, PTEFile

GOLDEN = Path(__file__).parents[1] / "golden" / "format"


def tensor(
    sizes: list[int],
    *,
    scalar_type: ScalarType = ScalarType.FLOAT,
    constant: int = 0,
    at: tuple[int, int] | None = None,
    dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC,
    extra: ExtraTensorInfo | None = None,
) -> Tensor:
    return Tensor(
        scalar_type=scalar_type,
        storage_offset=0,
        sizes=sizes,
        dim_order=list(range(len(sizes))),
        requires_grad=False,
        layout=0,
        data_buffer_idx=constant,
        allocation_info=None if at is None else AllocationDetails(at[0], at[1], 0),
        shape_dynamism=dynamism,
        extra_tensor_info=extra,
    )


def method(name: str, values: list[KernelTypes], calls: list[Instruction]) -> ExecutionPlan:
    return ExecutionPlan(
        name=name,
        container_meta_type=ContainerMetadata("", ""),
        values=[EValue(value) for value in values],
        inputs=[],
        outputs=[],
        chains=[Chain([], [], calls, None)],
        operators=[Operator("aten::add", "out"), Operator("executorch_prim::add", "")],
        delegates=[],
        non_const_buffer_sizes=[0, 256],
    )


def program(*methods: ExecutionPlan) -> Program:
    return Program(0, list(methods), [], [], [], SubsegmentOffsets(0, []))


def build_every_kind() -> PTEFile:
    """Returns a program with every kind of value, instruction and data, and every optional field."""
    forward = method(
        "forward",
        [
            Null(),
            Int(-(2**62)),
            Bool(True),
            Double(-0.0),
            tensor([2, 3], constant=1),  # value 4, an argument of calls
            String("schön"),
            IntList([1, 1]),
            DoubleList([0.5, float("inf")]),
            BoolList([True, False]),
            TensorList([4, 10]),
            tensor([2, 3], at=(1, 64), dynamism=TensorShapeDynamism.DYNAMIC_BOUND),  # value 10, the output
            OptionalTensorList([4, -1, 0]),
            tensor([4], constant=1, at=(1, 0), extra=ExtraTensorInfo(0, "mod.state")),
            tensor([2, 2], extra=ExtraTensorInfo(0, "mod.weight", TensorDataLocation.EXTERNAL)),
            tensor([2, 3], dynamism=TensorShapeDynamism.DYNAMIC_UNBOUND),  # value 14, the input
            tensor([], scalar_type=ScalarType.LONG, constant=2),
        ],
        [
            Instruction(KernelCall(0, [4, 10, 1, 10])),
            Instruction(JumpFalseCall(2, 4)),
            Instruction(MoveCall(1, 1)),
            Instruction(DelegateCall(0, [4, 10])),
            Instruction(FreeCall(14)),
        ],
    )
    forward.inputs, forward.outputs = [14], [10]
    frames = [Frame("model.py", line, "forward", f"line {line}") for line in range(5)]
    forward.chains[0] = Chain(
        [14], [10], forward.chains[0].instructions, [FrameList([frame]) for frame in frames]
    )
    reference = BackendDelegateDataReference(DataLocation.INLINE, 0)
    forward.delegates = [
        BackendDelegate("SomeBackend", reference, [CompileSpec("level", b"\x02"), CompileSpec("none", b"")]),
        BackendDelegate("Empty", BackendDelegateDataReference(DataLocation.INLINE, 1), []),
    ]
    forward.container_meta_type = ContainerMetadata('[1, {"type": null}]', "out")
    forward.non_const_buffer_device = [NonConstBufferDevice(1, DeviceType.CUDA, 1)]
    second = method("second", [tensor([2, 3], constant=1)], [])
    return PTEFile(
        program(forward, second),
        constants=[b"", bytes(range(24)), bytes(range(8))],
        mutable_data=[b"", bytes(range(16))],
        delegate_data=[b"delegate", b""],
        named_data={
            "a": NamedDataEntry(b"first", 256),
            "b": NamedDataEntry(b"other"),
            "c": NamedDataEntry(b"first"),
        },
    )


def build_entries() -> dict[str, NamedDataEntry]:
    layout = TensorLayout(ScalarType.HALF, [2, 3], [1, 0])
    return {
        "weight": NamedDataEntry(bytes(range(12)), 16, layout),
        "blob": NamedDataEntry(b"opaque"),
        "alias": NamedDataEntry(bytes(range(12)), 64),
    }


@pytest.fixture
def every_kind() -> PTEFile:
    return build_every_kind()


@pytest.fixture
def entries() -> dict[str, NamedDataEntry]:
    return build_entries()


@pytest.fixture
def make_tensor() -> Callable[..., Tensor]:
    return tensor


@pytest.fixture
def make_method() -> Callable[..., ExecutionPlan]:
    return method


@pytest.fixture
def make_program() -> Callable[..., Program]:
    return program


@pytest.fixture
def golden() -> Callable[[str, bytes], bytes]:
    """golden(name, data) returns the bytes of a golden file.

    With RUSHLIGHT_UPDATE_GOLDEN=1 it writes `data`.
    """

    def compare(name: str, data: bytes) -> bytes:
        path = GOLDEN / name
        if os.environ.get("RUSHLIGHT_UPDATE_GOLDEN") == "1":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return path.read_bytes()

    return compare
