"""Executing methods: arrays in and out, lifetimes, threads, errors."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.exir import to_edge
from rushlight.format.program import ScalarType
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.runtime import Method, Runtime, RushlightError
from rushlight.runtime.errors import (
    InvalidArgumentError,
    InvalidTypeError,
    NotSupportedError,
    OperatorMissingError,
)

Build = Callable[..., bytes]


def load(data: bytes, name: str = "forward", **options: Any) -> Method:
    return Runtime.get().load_program(data, **options).load_method(name)


@pytest.mark.parametrize("planned", [True, False])
def test_numpy_in_numpy_out(add_program: Build, planned: bool) -> None:
    method = load(add_program(2, 3, planned=planned))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (out,) = method.execute([x, x])
    assert isinstance(out, np.ndarray) and out.dtype == np.float32
    np.testing.assert_array_equal(out, x + x)


@pytest.mark.parametrize("planned", [True, False])
def test_torch_in_torch_out(add_program: Build, planned: bool) -> None:
    method = load(add_program(2, 3, planned=planned))
    x = torch.arange(6.0).reshape(2, 3)
    (out,) = method.execute((x, x.numpy()))
    assert isinstance(out, torch.Tensor)
    assert torch.equal(out, x + x)


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("make", [torch.full, np.full], ids=["torch", "numpy"])
def test_results_survive_the_next_call(add_program: Build, make: Any, planned: bool) -> None:
    method = load(add_program(2, planned=planned))
    dtype = torch.float32 if make is torch.full else np.float32
    results = [method.execute([make((2,), float(i), dtype=dtype)] * 2)[0] for i in range(4)]
    assert [result.tolist() for result in results] == [[2 * i, 2 * i] for i in range(4)]


@pytest.mark.parametrize(
    ("scalar_type", "dtype"),
    [
        (ScalarType.BFLOAT16, torch.bfloat16),
        (ScalarType.HALF, torch.float16),
        (ScalarType.LONG, torch.int64),
        (ScalarType.BYTE, torch.uint8),
        (ScalarType.BOOL, torch.bool),
        (ScalarType.DOUBLE, torch.float64),
    ],
)
def test_dtypes(add_program: Build, scalar_type: ScalarType, dtype: torch.dtype) -> None:
    method = load(add_program(3, dtype=scalar_type))
    x = torch.tensor([0, 1, 1]).to(dtype)
    (out,) = method.execute([x, x])
    assert out.dtype == dtype
    assert torch.equal(out, x + x)


def test_inputs_that_are_not_dense_are_packed(add_program: Build) -> None:
    method = load(add_program(2, 3, planned=False))
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    (out,) = method.execute([x[:, ::2], x[::-1, 3:]])
    np.testing.assert_array_equal(out, x[:, ::2] + x[::-1, 3:])
    y = torch.arange(6.0).reshape(3, 2).t()
    assert torch.equal(method.execute([y, y])[0], y + y)
    shifted = np.frombuffer(b"\0" + x.tobytes(), np.float32, 6, 1).reshape(2, 3)
    np.testing.assert_array_equal(method.execute([shifted, shifted])[0], shifted + shifted)


@pytest.mark.parametrize("planned", [True, False])
def test_channels_last(add_program: Build, planned: bool) -> None:
    method = load(add_program(1, 3, 2, 4, dim_order=[0, 2, 3, 1], planned=planned))
    x = torch.arange(24.0).reshape(1, 3, 2, 4)
    (out,) = method.execute([x, x.to(memory_format=torch.channels_last)])
    assert torch.equal(out, x + x)
    assert out.is_contiguous(memory_format=torch.channels_last)
    (array,) = method.execute([x.numpy(), x.numpy()])
    np.testing.assert_array_equal(array, (x + x).numpy())
    assert array.strides == tuple(4 * stride for stride in out.stride())


@pytest.mark.parametrize("planned", [True, False])
def test_dynamic_shapes(add_program: Build, planned: bool) -> None:
    method = load(add_program(4, 3, dynamic=True, planned=planned))
    assert method.metadata.input_tensor_meta(0).is_dynamic()
    for rows in (4, 1, 0, 3):
        x = torch.rand(rows, 3)
        (out,) = method.execute([x, x])
        assert torch.equal(out, x + x)
    with pytest.raises(InvalidArgumentError, match=r"input 0 takes float32\[<=4, <=3\].*dim 0 .* at most 4"):
        method.execute([torch.zeros(5, 3)] * 2)


def test_outputs_that_share_a_value(file: Any) -> None:
    method = file.method()
    x, y, out = (method.tensor(2, planned=False) for _ in range(3))
    method.add(x, y, out)
    loaded = load(file.bytes(method.plan([x, y], [out, out, x])))
    ones = np.ones(2, np.float32)
    results = loaded.execute([ones, ones])
    assert [result.tolist() for result in results] == [[2, 2], [2, 2], [1, 1]]
    results[0][:] = 9
    results[2][:] = 9
    assert results[1].tolist() == [2, 2]
    assert ones.tolist() == [1, 1]


def test_a_method_keeps_its_program_and_bytes(add_program: Build) -> None:
    class Bytes(bytes):
        pass

    data = Bytes(add_program(2))
    alive = weakref.ref(data) if Bytes.__weakrefoffset__ else None
    method = load(data)
    del data
    gc.collect()
    junk = [bytes(4096) for _ in range(64)]
    assert method.execute([np.ones(2, np.float32)] * 2)[0].tolist() == [2, 2]
    assert method.metadata.name() == "forward" and len(junk) == 64
    assert alive is None or alive() is not None


def test_values_without_tensors(getters: bytes) -> None:
    program = Runtime.get().load_program(getters)
    values = {name: program.load_method(name).execute([])[0] for name in program.method_names}
    tensor = values.pop("tensor")
    assert values == {"integer": 7, "real": 1.5, "yes": True, "text": "héllo", "nothing": None}
    assert type(values["yes"]) is bool
    assert isinstance(tensor, torch.Tensor)
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_plain_inputs_are_checked(file: Any) -> None:
    method = file.method()
    x = method.tensor(2)
    values = [method.value(v) for v in (3, 2.5, True, "mode", None)]
    loaded = load(file.bytes(method.plan([x, *values], [x])))
    ones = np.ones(2, np.float32)
    good = [3, 2.5, True, "mode", None]
    assert loaded.execute([ones, *good])[0].tolist() == [1, 1]
    assert loaded.execute([ones, np.int64(3), np.float64(2.5), *good[2:]])[0].tolist() == [1, 1]
    for index, bad in enumerate([4, 2.0, False, "other", "text"]):
        given = [*good[:index], bad, *good[index + 1 :]]
        with pytest.raises(RushlightError, match=f"input {index + 1} "):
            loaded.execute([ones, *given])

    yes = np.bool_(True)
    assert loaded.execute([ones, *good[:2], yes, *good[3:]])[0].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("index", "value", "error", "message"),
    [
        (0, 2**70, InvalidArgumentError, r"input 0 takes a value of type Int, not int \(.*too (big|large)"),
        (0, 3.0, InvalidTypeError, "input 0 takes a value of type Int, not float"),
        (1, torch.ones(2), InvalidArgumentError, "input 1 takes a value of type Double, not Tensor"),
        (1, [2.5], InvalidTypeError, "input 1 takes a value of type Double, not list"),
        (2, np.float32(1), InvalidTypeError, "input 2 takes a value of type Bool, not float32"),
        (
            2,
            1,
            InvalidTypeError,
            "input 2 is invalid: .* type Bool, but the value given is of type Int",
        ),
        (3, "\ud800", InvalidArgumentError, "input 3 takes a value of type String, not str"),
        (3, b"mode", InvalidTypeError, "input 3 takes a value of type String, not bytes"),
        (4, torch.ones(2), InvalidTypeError, "input 4 takes a value of type None, not Tensor"),
    ],
)
def test_wrong_plain_inputs(
    file: Any, index: int, value: object, error: type[Exception], message: str
) -> None:
    good: list[object] = [3, 2.5, True, "mode", None]
    method = file.method()
    loaded = load(file.bytes(method.plan([method.value(v) for v in good], [])))
    loaded.execute(good)
    with pytest.raises(error, match=message):
        loaded.execute([*good[:index], value, *good[index + 1 :]])


@pytest.mark.parametrize("planned", [True, False])
def test_lazy_conjugates_and_negatives(add_program: Build, planned: bool) -> None:
    z = torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    lazy = z.conj()
    assert lazy.is_conj() and lazy.imag.is_neg()
    method = load(add_program(2, planned=planned))
    assert torch.equal(method.execute([lazy.imag, lazy.real])[0], torch.tensor([-2.0, -2.0]))
    method = load(add_program(1, planned=planned))
    assert method.execute([lazy.imag[:1], lazy.imag[1:]])[0].tolist() == [-7]
    method = load(add_program(2, planned=planned, dtype=ScalarType.COMPLEX64))
    assert torch.equal(method.execute([lazy, z])[0], lazy + z)


@pytest.mark.parametrize("planned", [True, False])
def test_tensors_without_data_are_refused(add_program: Build, planned: bool) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(2)
    method = load(add_program(2, planned=planned))
    with pytest.raises(InvalidTypeError, match=r"input 1 takes float32\[2\], not FakeTensor \(.*data"):
        method.execute([torch.ones(2), fake])


@pytest.mark.parametrize("make", [torch.tensor, np.array], ids=["torch", "numpy"])
@pytest.mark.parametrize("planned", [True, False])
def test_results_that_share_memory_are_inputs(file: Any, planned: bool, make: Any) -> None:
    method = file.method()
    x, y = (method.tensor(4, planned=planned, dynamic=True) for _ in range(2))
    out, last = (method.tensor(4, dynamic=True) for _ in range(2))
    method.add(x, x, out)
    method.add(out, y, last)
    loaded = load(file.bytes(method.plan([x, y], [x, y, out, last])))
    ones, twos = make([1.0, 1.0]), make([2.0, 2.0, 2.0, 2.0])
    float32 = (lambda t: t.float()) if make is torch.tensor else (lambda t: t.astype(np.float32))
    first = loaded.execute([float32(twos), float32(twos)], clone_outputs=False)
    second = loaded.execute([first[3], first[2]], clone_outputs=False)
    assert second[3].tolist() == [16, 16, 16, 16]
    third = loaded.execute([second[2][::2], float32(ones)])
    assert third[3].tolist() == [25, 25]
    if planned:
        exchanged = loaded.execute([float32(ones), float32(ones) * 3], clone_outputs=False)
        assert loaded.execute([exchanged[1], exchanged[0]])[3].tolist() == [7, 7]


X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ([X], InvalidArgumentError, "'forward' takes 2 inputs, but 1 is given"),
        ([X, X, X], InvalidArgumentError, "takes 2 inputs, but 3 are given"),
        (
            [X, X[:1]],
            InvalidArgumentError,
            r"input 1 takes float32\[2, 3\], but float32\[1, 3\] is given: dim 0",
        ),
        (
            [X, X[0]],
            InvalidArgumentError,
            r"input 1 takes float32\[2, 3\], but float32\[3\] is given: .*dimensions",
        ),
        (
            [X.astype(np.float64), X],
            InvalidArgumentError,
            r"input 0 takes float32\[2, 3\], but float64\[2, 3\]",
        ),
        ([X, 1.0], InvalidTypeError, r"input 1 takes float32\[2, 3\], not float"),
        ([None, X], InvalidTypeError, r"input 0 takes float32\[2, 3\], not NoneType"),
        (
            [X, X.astype(">f4")],
            InvalidTypeError,
            r"input 1 takes float32\[2, 3\], not ndarray \(the runtime does not support its dtype",
        ),
        (
            [X, X.astype(str)],
            InvalidTypeError,
            r"input 1 takes float32\[2, 3\], not ndarray \(the runtime does not support its dtype",
        ),
        (
            [X, torch.ones(2, 3, device="meta")],
            InvalidTypeError,
            r"input 1 takes float32\[2, 3\], not Tensor \(.*meta",
        ),
        (X, InvalidTypeError, "inputs must be a list or a tuple, not ndarray"),
        (torch.ones(2, 2, 3), InvalidTypeError, "inputs must be a list or a tuple, not Tensor"),
        (None, InvalidTypeError, "inputs must be a list or a tuple, not NoneType"),
        ("ab", InvalidTypeError, "inputs must be a list or a tuple, not str"),
    ],
)
def test_wrong_inputs(add_program: Build, inputs: Any, error: type[Exception], message: str) -> None:
    method = load(add_program(2, 3))
    with pytest.raises(error, match=message):
        method.execute(inputs)
    with pytest.raises(RuntimeError):
        method.execute(inputs)
    assert method.execute([X, X])[0].tolist() == (X + X).tolist()


def test_missing_operators_are_all_named(file: Any) -> None:
    method = file.method()
    x = method.tensor(2)
    method.call("aten::absent.out", x, x, x)
    method.call("nowhere::other", x, x)
    data = file.bytes(method.plan([x], [x]))
    with pytest.raises(OperatorMissingError, match=r"(?s)aten::absent.out.*nowhere::other"):
        load(data)


def test_a_dtype_that_the_kernel_lacks_is_refused_at_load(add_program: Build) -> None:
    with pytest.raises(NotSupportedError, match="aten::add.out"):
        load(add_program(2, dtype=ScalarType.QINT8))


def test_a_kernel_that_fails_says_where(file: Any) -> None:
    method = file.method()
    x, y, out = method.tensor(2, 3), method.tensor(2, 4), method.tensor(2, 3)
    method.add(x, y, out)
    loaded = load(file.bytes(method.plan([x, y], [out])))
    with pytest.raises(RushlightError, match=r"method 'forward', instruction 0 .*aten::add.out"):
        loaded.execute([X, np.ones((2, 4), np.float32)])


@pytest.mark.threads
@pytest.mark.parametrize("threads", [None, 1, 3])
def test_thread_counts(add_program: Build, threads: int | None) -> None:
    method = load(add_program(300, 1000), threads=threads)
    x = np.random.default_rng(0).random((300, 1000), np.float32)
    np.testing.assert_array_equal(method.execute([x, x])[0], x + x)


def test_zero_threads_are_refused(add_program: Build) -> None:
    with pytest.raises(InvalidArgumentError, match="threads must be at least 1"):
        load(add_program(2), threads=0)


@pytest.mark.threads
def test_calls_from_several_threads(add_program: Build) -> None:
    method = load(add_program(64, 64), threads=1)
    failures: list[Any] = []

    def work(value: float) -> None:
        x = np.full((64, 64), value, np.float32)
        for _ in range(200):
            (out,) = method.execute([x, x])
            if not (out == 2 * value).all():
                failures.append(out)

    workers = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_metadata(add_program: Build) -> None:
    meta = load(add_program(2, 3)).metadata
    assert (meta.name(), meta.num_inputs(), meta.num_outputs(), meta.num_attributes()) == ("forward", 2, 1, 0)
    tensor = meta.input_tensor_meta(1)
    assert (tensor.sizes(), tensor.dtype(), tensor.nbytes()) == ((2, 3), 6, 24)
    assert (tensor.is_memory_planned(), tensor.dim_order(), tensor.dtype_name()) == (True, (0, 1), "float32")
    part = "TensorInfo(sizes=[2, 3], dtype=Float, is_memory_planned=True, nbytes=24)"
    assert repr(tensor) == part
    assert repr(meta) == (
        f"MethodMeta(name='forward', num_inputs=2, input_tensor_meta=['{part}', '{part}'], "
        f"num_outputs=1, output_tensor_meta=['{part}'])"
    )
    assert meta.operators() == ["aten::add.out"] and meta.num_instructions() == 1
    with pytest.raises(IndexError, match="'forward' has 2 inputs; the index 2 is too large"):
        meta.input_tensor_meta(2)
    with pytest.raises(IndexError, match="1 output;"):
        meta.output_tensor_meta(5)


class Numbers(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int) -> tuple[torch.Tensor, int]:
        return x + n, 3


def test_metadata_of_numbers() -> None:
    program = to_edge(torch.export.export(Numbers(), (torch.ones(2), 4))).to_executorch()
    meta = load(program.buffer).metadata
    assert (meta.input_tag(1), meta.output_tag(1)) == ("Int", "Int")
    with pytest.raises(IndexError, match="input 1 of method 'forward' is not a tensor: its type is Int"):
        meta.input_tensor_meta(1)
    with pytest.raises(IndexError, match="output 1 of method 'forward' is not a tensor: its type is Int"):
        meta.output_tensor_meta(1)


def test_tensors_of_other_devices_are_refused(add_program: Build) -> None:
    torch = pytest.importorskip("torch")
    method = load(add_program(2, 3))
    with pytest.raises(TypeError, match="is on device meta, and only tensors of the CPU"):
        method.execute([torch.ones(2, 3), torch.ones(2, 3, device="meta")])


def test_metadata_outlives_its_program(add_program: Build) -> None:
    tensor = Runtime.get().load_program(add_program(2, 3)).metadata("forward").output_tensor_meta(0)
    gc.collect()
    assert tensor.sizes() == (2, 3)


class ViewsOfInputs(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        shuffled = torch.nn.functional.pixel_shuffle(x, 2)
        return shuffled, torch.cat([x.view(4, -1), y.reshape(4, 3)], 1) + 1


def test_views_of_inputs_without_planned_memory() -> None:
    torch.manual_seed(0)
    inputs: tuple[torch.Tensor, ...] = (torch.randn(1, 16, 4, 4), torch.randn(2, 6))
    planner = MemoryPlanningPass(alloc_graph_input=False)
    edge = to_edge(torch.export.export(ViewsOfInputs(), inputs))
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner))
    method = Runtime.get().load_program(bytes(program.buffer)).load_method("forward")
    for _ in range(2):
        for result, expected in zip(method.execute(list(inputs)), ViewsOfInputs()(*inputs), strict=True):
            assert torch.equal(torch.as_tensor(result), expected)
        inputs = tuple(torch.randn_like(x) for x in inputs)
