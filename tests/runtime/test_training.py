"""Programs with joint graphs of forward and backward passes are trained in place."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from models.digits import TRAIN, digits
from torch.export.experimental import _export_forward_backward

from rushlight.compat.training_examples import XOR, Net, TrainingNet, _export_model
from rushlight.exir import to_edge
from rushlight.runtime.errors import InvalidArgumentError, InvalidStateError, NotSupportedError
from rushlight.runtime.portable_lib import _load_for_executorch_from_buffer
from rushlight.runtime.training import (
    SGD,
    AdamW,
    Optimizer,
    TrainingModule,
    _load_for_executorch_for_training,
    _load_for_executorch_for_training_from_buffer,
    get_sgd_optimizer,
    load_for_training,
)


class DigitsNet(torch.nn.Module):
    """A small convolutional network for pictures of [1, 8, 8]."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(8, 16, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(64, 10),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layers(x)
        return result


def joint_program(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> bytes:
    """Returns the program of the forward and backward passes. The first output of the model is the loss."""
    exported = torch.export.export(model, inputs, strict=True)
    return to_edge(_export_forward_backward(exported)).to_executorch().buffer


@pytest.fixture(scope="module")
def xor() -> tuple[TrainingNet, bytes]:
    torch.manual_seed(0)
    model = TrainingNet(Net())
    return model, joint_program(model, (torch.randn(4, 2), torch.ones(4, dtype=torch.int64)))


def gradients_of(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> dict[str, torch.Tensor]:
    model.zero_grad()
    model(*inputs)[0].backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def largest_difference(left: Mapping[str, Any], right: Mapping[str, Any]) -> float:
    assert left.keys() == right.keys()
    return max(float((left[name] - right[name]).detach().abs().max()) for name in left)


def test_loss_and_gradients_are_those_of_autograd(xor: tuple[TrainingNet, bytes]) -> None:
    model, program = xor
    module = load_for_training(program)
    assert module.method_names == ["forward"]
    results = module.forward_backward("forward", XOR)
    expected = model(*XOR)
    assert len(results) == 2
    torch.testing.assert_close(results[0], expected[0].detach())
    assert torch.equal(results[1], expected[1])
    assert largest_difference(module.named_gradients(), gradients_of(model, XOR)) < 1e-6
    assert largest_difference(module.named_parameters(), dict(model.named_parameters())) == 0


def test_parameters_are_the_memory_of_the_program(xor: tuple[TrainingNet, bytes]) -> None:
    model, program = xor
    module = load_for_training(program)
    before = module.named_parameters()
    first = module.forward_backward("forward", XOR)[0]
    before["net.linear.weight"].mul_(2)
    changed = copy.deepcopy(model)
    with torch.no_grad():
        changed.get_parameter("net.linear.weight").mul_(2)
    second = module.forward_backward("forward", XOR)[0]
    assert first != second
    torch.testing.assert_close(second, changed(*XOR)[0].detach())
    # Another module of the same program has its own parameters.
    other = load_for_training(program)
    assert torch.equal(other.forward_backward("forward", XOR)[0], first)
    # The tensors keep the memory alive.
    values = before["net.linear.weight"].clone()
    del module
    gc.collect()
    assert torch.equal(before["net.linear.weight"], values)


def test_results_and_gradients_own_their_memory(xor: tuple[TrainingNet, bytes]) -> None:
    module = load_for_training(xor[1])
    results = module.forward_backward("forward", XOR)
    gradients = module.named_gradients()
    kept = [value.clone() for value in (*results, *gradients.values())]
    SGD(module.named_parameters(), lr=1.0).step(gradients)
    module.forward_backward("forward", XOR)
    assert all(torch.equal(a, b) for a, b in zip(kept, (*results, *gradients.values()), strict=True))
    assert largest_difference(gradients, module.named_gradients()) > 0


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"lr": 0.1},
    "momentum": {"lr": 0.1, "momentum": 0.9},
    "dampening": {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
    "decay": {"lr": 0.1, "weight_decay": 0.1},
    "nesterov": {"lr": 0.1, "momentum": 0.8, "weight_decay": 0.01, "nesterov": True},
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_steps_are_those_of_torch(options: dict[str, Any], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    shapes: dict[str, tuple[int, ...]] = {"matrix": (3, 4), "vector": (5,), "scalar": (), "empty": (0, 2)}
    own = {name: torch.randn(shape).to(dtype) for name, shape in shapes.items()}
    theirs = {name: value.clone().requires_grad_() for name, value in own.items()}
    optimizer = get_sgd_optimizer(own, **options)
    reference = torch.optim.SGD(theirs.values(), **options)
    for _ in range(4):
        gradients = {name: torch.randn(shape).to(dtype) for name, shape in shapes.items()}
        for name, gradient in gradients.items():
            theirs[name].grad = gradient.clone()
        optimizer.step(gradients)
        reference.step()
    # In 16 bits, torch rounds after each term. Here, a step rounds once.
    rtol, atol = (1e-5, 1e-6) if dtype in (torch.float32, torch.float64) else (3e-2, 3e-2)
    for name in shapes:
        torch.testing.assert_close(own[name], theirs[name].detach(), rtol=rtol, atol=atol)


ADAMW_OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "rate": {"lr": 0.1},
    "betas": {"lr": 0.01, "betas": (0.5, 0.75)},
    "last": {"lr": 0.01, "betas": (0.0, 0.0)},
    "eps": {"lr": 0.01, "eps": 0.1},
    "decay": {"lr": 0.01, "weight_decay": 0.5},
    "no_decay": {"lr": 0.01, "weight_decay": 0.0},
    "amsgrad": {"lr": 0.01, "betas": (0.8, 0.6), "amsgrad": True},
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", ADAMW_OPTIONS.values(), ids=ADAMW_OPTIONS.keys())
def test_steps_of_adamw_are_those_of_torch(options: dict[str, Any], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    shapes: dict[str, tuple[int, ...]] = {"matrix": (16, 33), "vector": (5,), "scalar": (), "empty": (0, 2)}
    own = {name: torch.randn(shape).to(dtype) for name, shape in shapes.items()}
    # For 16-bit parameters, torch has 16-bit moments. The reference has float32 moments, and rounds the
    # parameters after each step.
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    theirs = {name: value.to(wide, copy=True).requires_grad_() for name, value in own.items()}
    optimizer = AdamW(own, **options)
    reference = torch.optim.AdamW(theirs.values(), **options)
    for _ in range(10):
        gradients = {name: torch.randn(shape).to(dtype) for name, shape in shapes.items()}
        for name, gradient in gradients.items():
            theirs[name].grad = gradient.to(wide, copy=True)
        optimizer.step(gradients)
        reference.step()
        with torch.no_grad():
            for value in theirs.values():
                value.copy_(value.to(dtype))
    # float32 results on both sides of a tie differ by one unit in the last place after rounding to 16 bits.
    tolerance = {torch.float32: 1e-6, torch.float64: 1e-14}.get(dtype, torch.finfo(dtype).eps)
    for name in shapes:
        expected = theirs[name].detach().to(dtype)
        torch.testing.assert_close(own[name], expected, rtol=tolerance, atol=tolerance)


def test_adamw_updates_half_parameters_with_small_gradients() -> None:
    # The squares of these gradients are zero in float16, and the second moment of bfloat16 would not change.
    for dtype in (torch.float16, torch.bfloat16):
        values = torch.zeros(2, dtype=dtype)
        optimizer = AdamW({"a": values}, lr=0.125, weight_decay=0.0)
        for _ in range(4):
            optimizer.step({"a": torch.tensor([1e-4, -1e-4], dtype=dtype)})
        torch.testing.assert_close(values, torch.tensor([-0.5, 0.5], dtype=dtype), rtol=1e-2, atol=0)


def test_steps_of_adamw_on_arrays_of_numpy_and_in_other_layouts() -> None:
    parameter = np.arange(6, dtype=np.float32).reshape(2, 3)
    channels_last = torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    gradient = torch.arange(24.0).reshape(1, 2, 3, 4) - 7.5
    expected = channels_last - 0.5 * gradient.sign()
    optimizer = AdamW({"a": parameter, "b": channels_last}, lr=0.5, weight_decay=0.0)
    assert isinstance(optimizer, Optimizer)
    optimizer.step({"a": np.full((3, 2), -9, np.float32).T, "b": gradient, "other": np.ones(2)})
    np.testing.assert_allclose(parameter, [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]], rtol=1e-6)
    torch.testing.assert_close(channels_last, expected)
    optimizer.lr = 0.0
    optimizer.step({"a": np.ones((2, 3), np.float32)})
    assert optimizer.lr == 0
    np.testing.assert_allclose(parameter[0], [0.5, 1.5, 2.5], rtol=1e-6)


def test_steps_on_arrays_of_numpy_and_in_other_layouts() -> None:
    parameter = np.arange(6, dtype=np.float32).reshape(2, 3)
    channels_last = torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    expected = channels_last - 0.5 * torch.ones(1, 2, 3, 4)
    optimizer = SGD({"a": parameter, "b": channels_last}, lr=0.5)
    optimizer.step({"a": np.ones((3, 2), np.float32).T, "b": torch.ones(1, 2, 3, 4), "other": np.ones(2)})
    assert parameter.tolist() == [[-0.5, 0.5, 1.5], [2.5, 3.5, 4.5]]
    assert torch.equal(channels_last, expected)
    optimizer.lr = 1.0
    optimizer.step({"a": np.ones((2, 3), np.float32)})
    assert (optimizer.lr, parameter[0, 0]) == (1.0, -1.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -0.1}, "learning rate is -0.1"),
        ({"lr": float("nan")}, "learning rate"),
        ({"lr": 0.1, "momentum": -1.0}, "momentum is -1"),
        ({"lr": 0.1, "weight_decay": -1.0}, "weight decay is -1"),
        ({"lr": 0.1, "momentum": 0.5, "dampening": float("inf")}, "dampening"),
        ({"lr": 0.1, "nesterov": True}, "Nesterov"),
        ({"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "nesterov": True}, "Nesterov"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        SGD({"a": torch.ones(2)}, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -0.1}, "learning rate is -0.1"),
        ({"lr": float("nan")}, "learning rate"),
        ({"betas": (1.0, 0.9)}, r"beta1 is 1; it must be in \[0, 1\)"),
        ({"betas": (0.9, -0.5)}, "beta2 is -0.5"),
        ({"eps": -1e-8}, "eps is -1e-08"),
        ({"weight_decay": -1.0}, "weight decay is -1"),
    ],
)
def test_bad_options_of_adamw_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        AdamW({"a": torch.ones(2)}, **options)


@pytest.mark.parametrize("kind", [SGD, AdamW])
def test_an_error_leaves_all_parameters_unchanged(kind: type[SGD] | type[AdamW]) -> None:
    with pytest.raises(NotSupportedError, match=f"parameter 'a' is int64; {kind.__name__} supports float32"):
        kind({"a": torch.ones(2, dtype=torch.int64)}, lr=1.0)
    parameters = {"a": torch.ones(2), "b": torch.ones(2)}
    optimizer = kind(parameters, lr=1.0)
    for bad, message in (
        (torch.ones(3), "parameter 'b': the gradient does not have the shape"),
        (torch.ones(2, dtype=torch.float64), "the gradient is float64, but the parameter is float32"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            optimizer.step({"a": torch.ones(2), "b": bad})
    with pytest.raises(TypeError, match="the gradient of 'b' must be a tensor"):
        optimizer.step({"a": torch.ones(2), "b": "text"})
    with pytest.raises(InvalidArgumentError, match="none of the 1 gradients belongs to a parameter"):
        optimizer.step({"c": torch.ones(2)})
    with pytest.raises(InvalidArgumentError, match="learning rate"):
        optimizer.lr = -1.0
    assert optimizer.lr == 1 and all(value.tolist() == [1, 1] for value in parameters.values())


def test_bad_tensors_are_refused() -> None:
    with pytest.raises(NotSupportedError, match="parameter 'a' is int64"):
        SGD({"a": torch.ones(2, dtype=torch.int64)}, lr=1.0)
    with pytest.raises(TypeError, match="parameter 'a' must be a tensor, not str"):
        SGD({"a": "text"}, lr=1.0)
    with pytest.raises(InvalidArgumentError, match="parameter 'a' is not dense"):
        SGD({"a": torch.ones(4, 4)[:, ::2]}, lr=1.0)
    fixed = np.ones(2, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(InvalidArgumentError, match="parameter 'a' is read-only"):
        SGD({"a": fixed}, lr=1.0)
    values = torch.ones(2)
    optimizer = SGD({"a": values}, lr=1.0)
    for gradients, message in (
        ({"a": torch.ones(3)}, "parameter 'a': the gradient does not have the shape"),
        ({"a": torch.ones(2, 1)}, "parameter 'a': the gradient does not have the shape"),
        ({"a": torch.ones(2, dtype=torch.float64)}, "the gradient is float64, but the parameter is float32"),
        ({"b": torch.ones(2)}, "none of the 1 gradients belongs to a parameter"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            optimizer.step(gradients)
    with pytest.raises(InvalidArgumentError, match="learning rate"):
        optimizer.lr = -1.0
    assert values.tolist() == [1, 1]


def train_xor(module: TrainingModule, epochs: int, optimizer: Optimizer | None = None) -> list[Any]:
    optimizer = optimizer or get_sgd_optimizer(module.named_parameters(), lr=0.5, momentum=0.9)
    for _ in range(epochs):
        module.forward_backward("forward", XOR)
        optimizer.step(module.named_gradients())
    return module.forward_backward("forward", XOR)


def test_xor_is_learned(xor: tuple[TrainingNet, bytes], tmp_path: Path) -> None:
    path = tmp_path / "xor.pte"
    path.write_bytes(xor[1])
    for module in (
        _load_for_executorch_for_training(str(path)),
        _load_for_executorch_for_training_from_buffer(xor[1]),
    ):
        loss, predicted = train_xor(module, 300)
        assert loss < 0.05 and torch.equal(predicted, XOR[1])


@pytest.mark.parametrize("amsgrad", [False, True])
def test_xor_is_learned_with_adamw_as_in_torch(xor: tuple[TrainingNet, bytes], amsgrad: bool) -> None:
    module = load_for_training(xor[1])
    optimizer = AdamW(module.named_parameters(), lr=0.05, amsgrad=amsgrad)
    loss, predicted = train_xor(module, 20, optimizer)
    model = copy.deepcopy(xor[0])
    reference = torch.optim.AdamW(model.parameters(), lr=0.05, amsgrad=amsgrad)
    for _ in range(20):
        gradients_of(model, XOR)
        reference.step()
    assert largest_difference(module.named_parameters(), dict(model.named_parameters())) < 1e-4
    loss, predicted = train_xor(module, 300, optimizer)
    assert loss < 0.05 and torch.equal(predicted, XOR[1])


@pytest.mark.long
def test_digits_are_learned_with_the_gradients_of_autograd() -> None:
    torch.manual_seed(0)
    images, labels = digits(8, 1200, TRAIN)
    images = images[:, :1].contiguous()
    model, size = TrainingNet(DigitsNet()), 32
    module = load_for_training(joint_program(model, (images[:size], labels[:size])))
    parameters = module.named_parameters()
    optimizer = SGD(parameters, lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    losses = []
    for start in list(range(0, 1024, size)) * 3:
        batch = (images[start : start + size], labels[start : start + size])
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(parameters[name])
        losses.append(float(module.forward_backward("forward", batch)[0]))
        assert largest_difference(module.named_gradients(), gradients_of(model, batch)) < 1e-4
        optimizer.step(module.named_gradients())
    assert losses[0] > 2 and sum(losses[-16:]) / 16 < 0.5
    held_out = [(images[s : s + size], labels[s : s + size]) for s in range(1024, 1184, size)]
    correct = sum(int((module.forward_backward("forward", b)[1] == b[1]).sum()) for b in held_out)
    assert correct >= 0.85 * 160


def test_trained_weights_in_a_data_file(tmp_path: Path) -> None:
    program = _export_model(external_mutable_weights=True)
    program.write_tensor_data_to_file(str(tmp_path))
    (data,) = tmp_path.glob("*.ptd")
    module = load_for_training(program.buffer, data_path=data)
    optimizer = SGD(module.named_parameters(), lr=0.5, momentum=0.9)
    order = [0, 1, 2, 3] * 100
    losses = []
    for index in order:
        batch = (XOR[0][index : index + 1], XOR[1][index : index + 1])
        losses.append(float(module.forward_backward("forward", batch)[0]))
        optimizer.step(module.named_gradients())
    assert max(losses[-4:]) < 0.1 < max(losses[:4])


def test_values_are_loaded(xor: tuple[TrainingNet, bytes]) -> None:
    trained = load_for_training(xor[1])
    train_xor(trained, 5)
    saved = {name: value.numpy().copy() for name, value in trained.named_parameters().items()}
    module = load_for_training(xor[1])
    module.load_parameters({name: torch.from_numpy(value) for name, value in saved.items()})
    assert largest_difference(module.named_parameters(), trained.named_parameters()) == 0
    with pytest.raises(
        InvalidArgumentError, match="no parameter 'absent'; the parameters are net.linear.weight"
    ):
        module.load_parameters({"absent": torch.ones(1)})
    with pytest.raises(
        InvalidArgumentError, match=r"has the shape \[10\], but its new value has the shape \[1\]"
    ):
        module.load_parameters({"net.linear.bias": torch.ones(1)})


def test_misuse_is_an_error(xor: tuple[TrainingNet, bytes]) -> None:
    module = load_for_training(xor[1])
    with pytest.raises(InvalidStateError, match="call forward_backward before named_gradients"):
        module.named_gradients()
    with pytest.raises(InvalidArgumentError, match="'absent' has no joint graph"):
        module.forward_backward("absent", XOR)
    with pytest.raises(InvalidArgumentError, match="input 0 takes"):
        module.forward_backward("forward", (XOR[0][:1], XOR[1]))
    plain = to_edge(torch.export.export(Net(), (XOR[0],))).to_executorch()
    with pytest.raises(InvalidArgumentError, match="has 0 methods with a joint graph; export it with"):
        load_for_training(plain).named_parameters()
    with pytest.raises(InvalidArgumentError, match="no method '__et_training_gradients_index_forward'"):
        load_for_training(plain).forward_backward("forward", (XOR[0],))


def test_wrong_indices_are_an_error() -> None:
    numbers: dict[str, Any] = {
        "__et_training_gradients_index_forward": 1,
        "__et_training_parameters_index_forward": 2,
        "__et_training_fqn_forward": ["a", "b"],
    }
    exported = torch.export.export(Net(), (XOR[0],))
    module = load_for_training(to_edge(exported, constant_methods=numbers).to_executorch())
    with pytest.raises(InvalidArgumentError, match="has 1 outputs and names 2 parameters, but its gradients"):
        module.named_parameters()


def test_outputs_without_clones_share_the_memory(xor: tuple[TrainingNet, bytes]) -> None:
    module = _load_for_executorch_from_buffer(xor[1])
    shared = module.forward(XOR, clone_outputs=False)
    owned = module.forward(XOR)
    assert all(torch.equal(a, b) for a, b in zip(shared, owned, strict=True))
    shared[-1].zero_()
    assert not module.plan_execute("forward", clone_outputs=False)[-1].any()
    assert owned[-1].any()
    assert module.output_view("forward", len(owned) - 1).data_ptr() == shared[-1].data_ptr()
    with pytest.raises(InvalidArgumentError, match="the index 99 is too large"):
        module.output_view("forward", 99)
    with pytest.raises(NotSupportedError, match="output 0 of method .* is not a tensor in planned memory"):
        module.output_view("__et_training_fqn_forward", 0)


WITHOUT_TORCH = """
import sys
import numpy as np
from rushlight.runtime.training import SGD, load_for_training
module = load_for_training(sys.argv[1])
x = np.array([[1, 1], [0, 0], [1, 0], [0, 1]], np.float32)
y = np.array([0, 0, 1, 1])
optimizer = SGD(module.named_parameters(), lr=0.5, momentum=0.9)
for _ in range(300):
    loss, predicted = module.forward_backward("forward", (x, y))
    optimizer.step(module.named_gradients())
assert "torch" not in sys.modules
assert isinstance(module.named_parameters()["net.linear.bias"], np.ndarray)
assert loss < 0.05 and predicted.tolist() == [0, 0, 1, 1], (loss, predicted)
"""


def test_without_torch(xor: tuple[TrainingNet, bytes], tmp_path: Path) -> None:
    path = tmp_path / "xor.pte"
    path.write_bytes(xor[1])
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
