"""Helpful messages for models in training mode, and for models that torch cannot export."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import rushlight
from rushlight.exir import EdgeCompileConfig, to_edge
from rushlight.frontend import diagnosis
from rushlight.frontend.diagnosis import TrainingModeWarning
from rushlight.ir.errors import CompileError, ExportError

X = torch.randn(4, 5)


class Function(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


@pytest.mark.parametrize(
    ("model", "operator"),
    [
        (nn.Sequential(nn.Linear(5, 5), nn.Dropout()), "dropout"),
        (nn.LSTM(5, 3, 2, dropout=0.5), "lstm"),
    ],
)
def test_random_layers_in_training_mode_are_told(model: Any, operator: Any) -> None:
    program = torch.export.export(model.train(), (X,))
    with pytest.warns(TrainingModeWarning, match=rf"aten.{operator}.* random results; call model\.eval\(\)"):
        rushlight.compile(program)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingModeWarning)
        rushlight.compile(model, (X,))  # in evaluation mode


def standardized(x: torch.Tensor) -> torch.Tensor:
    return F.batch_norm(x[None], None, None, training=True)


@pytest.mark.parametrize("model", [nn.Dropout(0.0), nn.LSTM(5, 3, 2), Function(standardized)])
def test_layers_without_chance_may_be_in_training_mode(model: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingModeWarning)
        rushlight.compile(torch.export.export(model.train(), (X,)))


def test_batch_norm_in_training_mode_is_refused() -> None:
    program = torch.export.export(nn.BatchNorm1d(5).train(), (X,))
    with pytest.raises(ExportError, match=r"aten.batch_norm.*batchnorm.py.*model\.eval\(\)"):
        rushlight.compile(program)


def test_batch_norm_in_training_mode_is_told_after_install_as_executorch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(diagnosis, "stands_for_executorch", lambda: True)
    program = torch.export.export(nn.Sequential(nn.Dropout(), nn.BatchNorm1d(5)).train(), (X,))
    with pytest.warns(TrainingModeWarning, match=r"aten.batch_norm.*update its statistics"):
        manager = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    names = {str(node.target) for node in manager.exported_program().graph.nodes}
    assert any("_native_batch_norm_legit_functional" in name for name in names)


def branch(x: Any) -> Any:
    if x.sum() > 0:
        return x
    return -x


def write_in_branch(x: Any) -> Any:
    y = x + 1
    return torch.cond(x.sum() > 0, lambda y: y.add_(1) * 2, lambda y: y * 3, (y,)), y


def write_at_a_tensor(x: Any, place: Any) -> Any:
    y = x.clone()
    y[place] = 3
    return y


LAYER = nn.TransformerEncoder(nn.TransformerEncoderLayer(5, 1, 4, batch_first=True), 1).eval()
CASES = {
    "a written operand": (write_in_branch, (X,), r"test_diagnosis.py:\d+: .*within torch.no_grad\(\)"),
    "an index": (write_at_a_tensor, (X, torch.tensor(1)), r"y\[place\] = 3: .*give it a dim: x\[i.reshape"),
    "a branch": (branch, (X,), r"test_diagnosis.py:\d+: if x.sum\(\) > 0.*torch.cond.*torch._check"),
    "a dynamic result": (lambda x: torch.linalg.lstsq(x, x)[0], (X,), "size of a result depends on values"),
    "a value": (torch.cov, (X,), "known only when the program runs"),
    "a lost size": (torch.combinations, (X[0],), "operators with results of a fixed size"),
    "a sparse input": (lambda x: x.to_dense(), (X.to_sparse(),), "input '.*' of method 'forward'.*to_dense"),
    "two dtypes": (
        torch.mm,
        (X, X.T.double()),
        "does not support self torch.float32, mat2 torch.float64 together .*: convert one",
    ),
    "a distribution": (
        lambda x: torch.distributions.Normal(x, x.exp(), validate_args=True).entropy(),
        (X,),
        r"test_diagnosis.py:\d+: .*pass validate_args=False",
    ),
    "a sample of a distribution": (
        lambda x: torch.distributions.Normal(0.0, 1.0, validate_args=True).log_prob(x),
        (X,),
        r"test_diagnosis.py:\d+: .*pass validate_args=False",
    ),
    "another error of a distribution": (
        lambda x: torch.distributions.Gamma(x, x, validate_args=False).icdf(x),
        (X,),
        r"^(?!.*pass validate_args).*\(in the model, Function\)",
    ),
    "a mask": (
        lambda x: LAYER(x[None], torch.full((4, 4), -torch.inf).triu(1)),
        (X,),
        r"test_diagnosis.py:\d+: .*pass is_causal=True or is_causal=False",
    ),
    "dims of an input": (
        lambda x: x.t_() + 1,
        (X.T,),
        "sizes of an input.*t_ or unsqueeze_",
    ),
    "a derivative": (
        torch.func.jacrev(lambda x: x.pow(3).sum(0)),
        (X,),
        "constant tensor .* of method 'forward' has no value, .*jacrev: compute the derivative",
    ),
    "data": (lambda x: x.data.add_(1), (X,), "for example x.data: use x itself"),
}


@pytest.mark.parametrize("name", CASES)
def test_errors_of_torch_in_plain_words(name: Any) -> None:
    function, inputs, message = CASES[name]
    with pytest.raises(CompileError, match=message):
        rushlight.compile(Function(function), inputs)


class Transposing(nn.Module):
    state: torch.Tensor

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(sizes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.state.t_()


def test_a_buffer_whose_sizes_change_is_refused() -> None:
    with pytest.raises(ExportError, match=r"t_.*test_diagnosis.py:\d+.*'state'.*\(2, 3\) to \(3, 2\)"):
        rushlight.compile(Transposing(2, 3), (torch.ones(3, 2),))
    with pytest.raises(ExportError, match="such as t_ or unsqueeze_"):
        rushlight.compile(Transposing(3, 3), (torch.ones(3, 3),))


def test_torch_reports_an_error_only_once(capfd: pytest.CaptureFixture[str]) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        print("in the model", file=sys.stderr)
        return branch(x)

    with pytest.raises(ExportError, match="torch.cond"):
        rushlight.compile(Function(function), (X,))
    lines = capfd.readouterr().err.splitlines()
    assert lines and set(lines) == {"in the model"}


def test_sparse_constants_are_named() -> None:
    class Sparse(nn.Module):
        mask: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mask", torch.eye(5).to_sparse())

        def forward(self, x: Any) -> Any:
            return x @ self.mask.to_dense()

    with pytest.raises(ExportError, match="buffer 'mask' of method 'forward'.*to_dense"):
        rushlight.compile(Sparse(), (X,))


def test_complex_numbers() -> None:
    function = Function(lambda x: torch.view_as_real(torch.complex(x, x) * 2j + (1 - 2j)))
    assert torch.equal(rushlight.load(rushlight.compile(function, (X,)))(X), function(X))


class Net(nn.Module):
    def __init__(self, last: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), last)

    def forward(self, x: Any) -> Any:
        return self.body(x)


WRONG_SHAPES = {
    "channels": (
        Net(nn.BatchNorm2d(4)),
        r"test_diagnosis.py:\d+: return self.body\(x\): running_mean should contain 8 elements not 4 "
        r"\(in module 'body.1', BatchNorm2d\)",
    ),
    "columns": (Net(nn.Linear(5, 2)), r"return self.body\(x\): .*\(in module 'body.1', Linear\)"),
    "a view": (
        Function(lambda x: x.view(7, -1)),
        r"test_diagnosis.py:\d+: .*shape '\[7, -1\]' is invalid.* \(in the model, Function\)",
    ),
}


@pytest.mark.parametrize("name", WRONG_SHAPES)
def test_shape_errors_name_the_line_and_the_module(name: str) -> None:
    model, message = WRONG_SHAPES[name]
    with pytest.raises(ExportError, match=message):
        rushlight.compile(model, (torch.randn(1, 3, 8, 8),))


def test_what_torch_logs_of_a_shape_error_is_not_printed() -> None:
    records: list[logging.LogRecord] = []

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    handler = Recorder()
    log = logging.getLogger("torch._subclasses.fake_tensor")
    log.addHandler(handler)
    try:
        with pytest.raises(ExportError, match="same reduction dim"):
            rushlight.compile(Function(torch.mm), (X, X))
        assert records == []
        with pytest.raises(RuntimeError, match="same reduction dim"):
            torch.export.export(Function(torch.mm), (X, X))
        assert "failed while attempting to run meta for aten.mm" in records[0].getMessage()
    finally:
        log.removeHandler(handler)


def test_errors_that_a_model_raises_itself_stay_as_they_are() -> None:
    def check(x: Any) -> Any:
        raise KeyError("no such language")

    with pytest.raises(KeyError, match="no such language"):
        rushlight.compile(Function(check), (X,))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(5, 3, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        if lengths is None:
            return self.layer(x)[0]
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return self.layer(packed)[1][0]


def test_recurrent_layers() -> None:
    x = torch.randn(2, 7, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rushlight.compile(Recurrent(), (x,))
    with pytest.raises(ExportError, match="recurrent layers need a fixed number of steps"):
        rushlight.compile(Recurrent(), (x,), dynamic_shapes=({1: torch.export.Dim("t", max=9)},))
    with pytest.raises(ExportError, match="torch cannot export a packed sequence"):
        rushlight.compile(Recurrent(), (x, torch.tensor([7, 3])))


def test_dynamic_shapes_that_do_not_fit() -> None:
    dim = torch.export.Dim("k", max=30)
    with pytest.raises(ExportError, match="does not accept all sizes .*satisfy the generated guard"):
        rushlight.compile(
            Function(lambda x: x.reshape(-1, 5)), (torch.randn(10, 3),), dynamic_shapes=(({0: dim},),)
        )
    with pytest.raises(ExportError, match="dynamic_shapes needs one entry for each input"):
        rushlight.compile(nn.ReLU(), (X,), dynamic_shapes=({0: dim}, None))


def test_errors_of_the_decomposition_by_torch() -> None:
    def write(x: torch.Tensor) -> torch.Tensor:
        y = x * 1
        flat = y.ravel()
        y.t().put_(torch.tensor([0, -1]), torch.ones(2))
        return torch.vander(flat[:4], 3)

    with pytest.raises(
        ExportError, match="torch cannot decompose the model into Core ATen: ValueError: Cannot"
    ):
        rushlight.compile(Function(write), (torch.randn(6, 6),))


def test_modules_that_cannot_be_exported_are_named() -> None:
    model, x = nn.Sequential(nn.Linear(4, 4)), torch.randn(2, 4)
    scripted: Any = torch.jit.trace(model, x)  # type: ignore[no-untyped-call]
    with pytest.raises(ExportError, match="the model Sequential is a module of TorchScript: give the torch"):
        rushlight.compile(scripted, (x,))
    eager: Any = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)  # type: ignore[no-untyped-call]
    with pytest.raises(ExportError, match="module '0' is a Linear of PyTorch's eager mode quantization"):
        rushlight.compile(eager, (x,))
