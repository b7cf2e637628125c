"""ATen mode: programs on torch's kernels agree with eager PyTorch and with the native runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.export import Dim, export
from torch.utils._pytree import tree_leaves

import rushlight
from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge,
    to_edge_transform_and_lower,
)
from rushlight.format.pte import read_pte, write_pte
from rushlight.quantize import convert_pt2e, prepare_pt2e
from rushlight.runtime import Runtime, aten
from rushlight.runtime.errors import (
    InvalidArgumentError,
    InvalidProgramError,
    InvalidStateError,
    InvalidTypeError,
    NotFoundError,
    OperatorMissingError,
    RushlightError,
)

Build = Callable[..., bytes]
LENIENT = EdgeCompileConfig(_check_ir_validity=False)
X = torch.randn(4, 6, generator=torch.Generator().manual_seed(2))


def compiled(program: Any, **options: Any) -> bytes:
    manager = to_edge(program, compile_config=LENIENT).to_executorch(ExecutorchBackendConfig(**options))
    return bytes(manager.buffer)


def module(function: Callable[..., Any]) -> torch.nn.Module:
    class Net(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return function(*args)

    return Net()


def load(data: bytes, name: str = "forward", **options: Any) -> aten.Method:
    return aten.Runtime.get().load_program(data).load_method(name, **options)


def test_agrees_with_eager_and_the_native_runtime(case: Any, program: Any) -> None:
    data = compiled(program)
    mine, native, eager = aten.load(data), rushlight.load(data), program.module()
    for _ in range(2):  # state changes
        expected = eager(*case.inputs(), **case.kwargs)
        results = [run(*case.inputs(), **case.kwargs) for run in (mine, native)]
        for result in results:
            torch.testing.assert_close(tree_leaves(result), tree_leaves(expected), equal_nan=True)


@pytest.mark.parametrize("condition", [1, -1])
def test_control_flow_takes_the_branch(condition: int, export_case: Any) -> None:
    x = condition * torch.ones(2, 3)
    expected = x.sin() + 1 if condition > 0 else x.cos()
    torch.testing.assert_close(aten.load(compiled(export_case("cond")))(x), expected)


def test_loops() -> None:
    def loop(x: torch.Tensor) -> Any:
        count = torch.zeros((), dtype=torch.int64)
        _, y = torch._higher_order_ops.while_loop(
            lambda n, y: n < 5, lambda n, y: (n + 1, y * 1.5 + n), (count, x)
        )
        rows = torch._higher_order_ops.map(lambda row, w: (row * w).cumsum(0), x, x.sum(0))  # type: ignore[arg-type]
        return y, rows

    expected = module(loop)(X)
    torch.testing.assert_close(tuple(aten.load(compiled(export(module(loop), (X,))))(X)), expected)


def test_sizes_within_their_bounds_and_errors_of_the_native_runtime(export_case: Any) -> None:
    data = compiled(export_case("dynamic_batch"))
    mine, native = aten.load(data), rushlight.load(data)
    for rows in (1, 16, 3):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(mine(x), native(x))
    for bad in (torch.ones(17, 4), torch.ones(3, 5), torch.ones(3), torch.ones(3, 4).double(), 1.5):
        with pytest.raises(RushlightError) as wanted:
            native(bad)
        with pytest.raises(type(wanted.value)) as found:
            mine(bad)
        assert str(found.value) == str(wanted.value)


def test_relations_between_sizes_are_checked() -> None:
    size = Dim("s", min=2, max=4)
    program = export(module(torch.add), (X[:3], X[:3]), dynamic_shapes=(({0: size}, {0: size}),))
    run = aten.load(compiled(program))
    assert run(X, X).shape == (4, 6)
    with pytest.raises(InvalidArgumentError, match="must be 4 where dim 0 of input 0"):
        run(X, X[:3])
    with pytest.raises(InvalidArgumentError, match="must be at least 2, but is 1"):
        run(X[:1], X[:1])


def test_state_is_a_methods_own_and_named() -> None:
    class Sum(torch.nn.Module):
        total: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.full((6,), 10.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total += x.sum(0)
            return self.total * 1

    program = aten.Runtime.get().load_program(compiled(export(Sum(), (X,)), emit_mutable_buffer_names=True))
    first, other = program.load_method("forward"), program.new_method("forward")
    first.execute([X])
    torch.testing.assert_close(first.execute([X])[0], 10 + 2 * X.sum(0))
    torch.testing.assert_close(first.get_attribute("total"), 10 + 2 * X.sum(0))
    torch.testing.assert_close(other.execute([X])[0], 10 + X.sum(0))
    assert program.load_method("forward") is first
    with pytest.raises(NotFoundError, match="no buffer or parameter named 'sum'"):
        first.get_attribute("sum")


def test_several_methods_and_getters() -> None:
    programs = {name: export(module(f), (X,)) for name, f in {"rise": torch.exp, "fall": torch.neg}.items()}
    manager = to_edge(programs, constant_methods={"classes": 7, "label": "x"}).to_executorch()
    run = aten.load(manager.buffer)
    assert run.method_names == {"rise", "fall", "classes", "label"}
    torch.testing.assert_close([run.rise(X), run.fall(X)], [X.exp(), -X])
    assert (run.classes(), run.label()) == (7, "x")


def test_weights_in_a_data_file(tmp_path: Path) -> None:
    linear = torch.nn.Linear(6, 3)
    manager = to_edge(export(linear, (X,))).to_executorch(ExecutorchBackendConfig(external_constants=True))
    manager.write_tensor_data_to_file(str(tmp_path))
    (file,) = tmp_path.glob("*.ptd")
    for data_path in (file, file.read_bytes()):
        torch.testing.assert_close(aten.load(manager.buffer, data_path=data_path)(X), linear(X))
    with pytest.raises(RushlightError, match="weight"):
        aten.load(manager.buffer)(X)


def test_an_operator_without_a_native_kernel() -> None:
    """Only ATen mode runs the program. Without an out variant in torch, it calls the functional overload."""
    library = torch.library.Library("aten_mode_test", "DEF")
    try:
        library.define("halves(Tensor x, float by) -> (Tensor, Tensor)")
        library.define(
            "halves.out(Tensor x, float by, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))"
        )
        library.impl("halves", lambda x, by: (x[:2] / by, x[2:] / by), "CompositeExplicitAutograd")
        function = module(lambda x: sum(torch.ops.aten_mode_test.halves(x, 4.0)))
        data = compiled(export(function, (X,)), target=None)
        torch.testing.assert_close(aten.load(data)(X), X[:2] / 4 + X[2:] / 4)
        with pytest.raises(OperatorMissingError, match="aten_mode_test::halves.out"):
            Runtime.get().load_program(data).load_method("forward")
        steps = aten.NativeComparison()
        load(data, hook=steps).execute([X])
        assert steps.steps[0].note == "no native kernel" and steps.steps[0].difference is None
    finally:
        library._destroy()


def test_operators_that_nobody_has(file: Any) -> None:
    for name, message in {
        "aten::no_such_thing.out": "torch has no operator aten::no_such_thing",
        "executorch_prim::no_such_thing.Scalar": "the runtime has no operator executorch_prim::no_such_thing",
    }.items():
        method = file.method()
        x, y = method.tensor(2), method.tensor(2)
        method.call(name, x, y)
        with pytest.raises(OperatorMissingError, match=message):
            load(file.bytes(method.plan([x], [y])))


def test_quantized_operators_have_reference_implementations() -> None:
    from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
    for dynamic in (False, True):
        quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_dynamic=dynamic))
        prepared = prepare_pt2e(export(net, (X,)).module(), quantizer)
        prepared(X)
        data = compiled(export(convert_pt2e(prepared), (X,)))
        operators = {op.name for op in read_pte(data).program.execution_plan[0].operators}
        assert any(name.startswith("rushlight::") for name in operators)
        steps = aten.NativeComparison()
        (out,) = load(data, hook=steps).execute([X])
        torch.testing.assert_close(
            out, Runtime.get().load_program(data).load_method("forward").execute([X])[0]
        )
        torch.testing.assert_close(out, net(X), atol=0.05, rtol=0.05)
        assert all(step.difference < 1e-5 for step in steps.steps if "linear" in step.event.name)  # type: ignore[operator]


def lowered(net: torch.nn.Module) -> Any:
    from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner

    return to_edge_transform_and_lower(export(net, (X,)), partitioner=[XnnpackPartitioner()])


@pytest.fixture(scope="module")
def delegated() -> tuple[Any, bytes, torch.Tensor]:
    """Returns the lowered modules, the file and the result of a program with two delegates."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        return (x + x) * torch.cumsum(x * 2, 0) - x

    edge = lowered(module(forward))
    modules = get_lowered_backend_modules(edge.exported_program().graph_module)
    return modules, bytes(edge.to_executorch().buffer), forward(X)


def test_delegates_run_natively(delegated: Any) -> None:
    modules, data, expected = delegated
    assert len(modules) == 2
    events: list[aten.InstructionEvent] = []
    torch.testing.assert_close(load(data, hook=events.append).execute([X])[0], expected)
    assert [event.name for event in events if event.kind == "delegate"] == ["XnnpackBackend"] * 2


def test_delegates_run_on_their_lowered_modules(delegated: Any) -> None:
    modules, data, expected = delegated
    file = read_pte(data)
    for delegate in file.program.execution_plan[0].delegates:
        delegate.id = "NowhereBackend"
    elsewhere = write_pte(file)
    with pytest.raises(NotFoundError, match=r"NowhereBackend.*lowered=\[\.\.\.\]"):
        load(elsewhere)
    torch.testing.assert_close(load(elsewhere, lowered=modules).execute([X])[0], expected)
    with pytest.raises(InvalidArgumentError, match="may belong to another delegate"):
        load(elsewhere, lowered=modules[::-1]).execute([X])
    with pytest.raises(InvalidArgumentError, match="has 2 delegates, but 1 lowered module is given"):
        load(elsewhere, lowered=modules[:1])


def test_a_function_stands_for_a_delegate() -> None:
    data = bytes(lowered(module(lambda x: x * 2)).to_executorch().buffer)
    assert torch.equal(load(data, lowered=[lambda x: x * 3]).execute([X])[0], X * 3)


def test_a_hook_sees_each_instruction(add_program: Build) -> None:
    events: list[aten.InstructionEvent] = []
    method = load(add_program(2), hook=events.append)
    x = torch.tensor([1.0, 2.0])
    method.execute([x, x])
    (event,) = events
    assert (event.chain, event.index, event.kind, event.name) == (0, 0, "kernel", "aten::add.out")
    assert [torch.is_tensor(v) for v in event.inputs] == [True, True, False] and event.inputs[2] == 1
    assert torch.equal(event.outputs[0], 2 * x) and event.written_inputs == ()

    def again(event: aten.InstructionEvent) -> None:
        method.execute([x, x])

    method.hook = again
    with pytest.raises(InvalidStateError, match="while it runs on the same thread"):
        method.execute([x, x])
    method.hook = None
    assert torch.equal(method.execute([x, x])[0], 2 * x)


def test_the_line_of_the_users_python() -> None:
    data = compiled(export(module(lambda x: torch.exp(x)), (X,)), emit_stacktrace=True)
    events: list[aten.InstructionEvent] = []
    load(data, hook=events.append).execute([X])
    assert Path(__file__).name in (events[0].source or "")


def test_comparison_finds_the_kernel_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    data = compiled(export(module(lambda x: torch.sqrt(torch.relu(x)) * 3), (X,)))
    steps = aten.NativeComparison()
    load(data, hook=steps).execute([X])
    assert [step.difference is not None and step.difference < 1e-6 for step in steps.steps] == [True] * 3

    from rushlight.runtime.aten import comparison

    right = comparison.call_kernel  # type: ignore[attr-defined]

    def wrong(name: str, arguments: list[Any], library: str | None) -> Any:
        shapes = right(name, arguments, library)
        if name == "aten::sqrt.out":
            arguments[-1].view(-1)[0] += 0.25
        return shapes

    monkeypatch.setattr(comparison, "call_kernel", wrong)
    steps = aten.NativeComparison("portable")
    load(data, hook=steps).execute([X])
    worst = steps.worst()
    assert worst is not None and worst.event.name == "aten::sqrt.out"
    assert worst.difference == pytest.approx(0.25)
    head, _, *rows = steps.table().splitlines()
    assert [line.split()[1] for line in (head, *rows)] == [
        "instruction",
        "aten::relu.out",
        "aten::sqrt.out",
        "aten::mul.out",
    ]


def test_every_native_kernel_agrees_step_by_step(case: Any, program: Any) -> None:
    steps = aten.NativeComparison()
    run = aten.load(compiled(program))
    run.program.load_method("forward").hook = steps  # type: ignore[attr-defined]
    run(*case.inputs(), **case.kwargs)
    worst = steps.worst()
    assert worst is None or worst.difference <= 1e-6 * max(worst.scale, 1)  # type: ignore[operator]
    assert not [step.note for step in steps.steps if step.note]


def test_failures_name_the_instruction(file: Any) -> None:
    method = file.method()
    x, y, out = method.tensor(2), method.tensor(2), method.tensor(2)
    method.call("aten::mm.out", x, y, out, out)
    with pytest.raises(
        RushlightError, match=r"instruction 0 of chain 0 \(aten::mm.out\): self must be a matrix"
    ) as error:
        load(file.bytes(method.plan([x, y], [out]))).execute([torch.ones(2)] * 2)
    assert isinstance(error.value.__cause__, RuntimeError)


def test_results_stay_in_their_memory(file: Any) -> None:
    method = file.method()
    x, small = method.tensor(4), method.tensor(2)
    method.add(x, x, small)
    with pytest.raises(
        InvalidArgumentError,
        match=r"result of shape \[4\] does not fit in its planned memory, which is for the shape \[2\]",
    ):
        load(file.bytes(method.plan([x], [small]))).execute([torch.ones(4)])
    method = file.method()
    x, constant = method.tensor(1), method.tensor(1, constant=np.ones(1, np.float32).tobytes())
    method.add(x, x, constant)
    with pytest.raises(InvalidProgramError, match="writes to a constant"):
        load(file.bytes(method.plan([x], [x]))).execute([torch.ones(1)])


def test_numpy_in_numpy_out(add_program: Build) -> None:
    method = load(add_program(2))
    x = np.ones(2, np.float32)
    (out,) = method.execute([x, x])
    assert isinstance(out, np.ndarray) and out.tolist() == [2, 2]
    assert isinstance(method.execute([x, torch.ones(2)])[0], torch.Tensor)


def test_numbers_that_a_program_was_made_for() -> None:
    program = export(module(lambda x, n: x * n), (X, 3))
    for run in (aten.load(compiled(program)), rushlight.load(compiled(program))):
        torch.testing.assert_close(run(X, 3), X * 3)
        with pytest.raises(InvalidArgumentError, match="fixed to 3"):
            run(X, 4)
        with pytest.raises(InvalidTypeError):
            run(X, "3")


def test_damaged_files(add_program: Build) -> None:
    with pytest.raises(InvalidProgramError):
        aten.load(add_program(1)[:100])
    with pytest.raises(FileNotFoundError):
        aten.load("absent.pte")
    with pytest.raises(NotFoundError, match="'absent'"):
        load(add_program(1), "absent")


def test_outputs_may_share_the_memory_of_the_method() -> None:
    method = aten.Runtime.get().load_program(rushlight.compile(torch.nn.ReLU(), (X,), partitioner=()).buffer)
    forward = method.load_method("forward")
    (shared,) = forward.execute((X,), clone_outputs=False)
    (own,) = forward.execute((X,))
    forward.execute((-X,))
    torch.testing.assert_close(shared, torch.relu(-X))
    torch.testing.assert_close(own, torch.relu(X))
