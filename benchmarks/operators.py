"""Compares operators with eager PyTorch: `python -m benchmarks.operators [--rounds N] [filter ...]`.

Prints two ratios of processor times with one thread (Rushlight / eager PyTorch) for each operator: that of
the default kernel, and that of a program for the CPU backend with the operator between two others. If the
plan does not contain the operator, it prints "split". Calls run in turn, and ratios are medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

import rushlight
from rushlight.runtime import call_kernel

SIDE = 1024


@dataclass
class Operator:
    """An operator: its kernel and its function in PyTorch."""

    kernel: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    """The arguments of the kernel after the inputs."""
    inputs: Callable[[], tuple[torch.Tensor, ...]] = lambda: (torch.randn(SIDE, SIDE),)


def positive() -> tuple[torch.Tensor, ...]:
    return (torch.rand(SIDE, SIDE) * 4 + 0.01,)


def proper() -> tuple[torch.Tensor, ...]:
    return (torch.rand(SIDE, SIDE) * 1.98 - 0.99,)


def two_positive() -> tuple[torch.Tensor, ...]:
    return positive()[0], positive()[0]


def two() -> tuple[torch.Tensor, ...]:
    return torch.randn(SIDE, SIDE), torch.randn(SIDE, SIDE)


def places(*shape: int) -> torch.Tensor:
    return torch.randint(0, SIDE, shape)


OPERATORS: dict[str, Operator] = {
    "mish": Operator("aten::mish.out", F.mish),
    "softplus": Operator("aten::softplus.out", F.softplus, (1, 20)),
    "log1p": Operator("aten::log1p.out", torch.log1p, inputs=positive),
    "expm1": Operator("aten::expm1.out", torch.expm1),
    "elu": Operator("aten::elu.out", F.elu, (1, 1, 1)),
    "log2": Operator("aten::log2.out", torch.log2, inputs=positive),
    "log10": Operator("aten::log10.out", torch.log10, inputs=positive),
    "floor": Operator("aten::floor.out", torch.floor),
    "ceil": Operator("aten::ceil.out", torch.ceil),
    "trunc": Operator("aten::trunc.out", torch.trunc),
    "round": Operator("aten::round.out", torch.round),
    "sign": Operator("aten::sign.out", torch.sign),
    "atan2": Operator("aten::atan2.out", torch.atan2, inputs=two),
    "acos": Operator("aten::acos.out", torch.acos, inputs=proper),
    "asin": Operator("aten::asin.out", torch.asin, inputs=proper),
    "atan": Operator("aten::atan.out", torch.atan),
    "atanh": Operator("aten::atanh.out", torch.atanh, inputs=proper),
    "cosh": Operator("aten::cosh.out", torch.cosh),
    "sinh": Operator("aten::sinh.out", torch.sinh),
    "tan": Operator("aten::tan.out", torch.tan),
    "erfc": Operator("aten::erfc.out", torch.erfc),
    "erfinv": Operator("aten::erfinv.out", torch.erfinv, inputs=proper),
    "exp2": Operator("aten::exp2.out", torch.exp2),
    "hypot": Operator("aten::hypot.out", torch.hypot, inputs=two),
    "logaddexp": Operator("aten::logaddexp.out", torch.logaddexp, inputs=two),
    "pow": Operator("aten::pow.Tensor_Tensor_out", torch.pow, inputs=two_positive),
    "celu": Operator("aten::celu.out", F.celu, (1,)),
    "softshrink": Operator("aten::softshrink.out", F.softshrink, (0.5,)),
    "hardshrink": Operator("aten::hardshrink.out", F.hardshrink, (0.5,)),
    "nan_to_num": Operator("aten::nan_to_num.out", torch.nan_to_num, (None, None, None)),
    "clamp_max": Operator("aten::clamp_max.out", lambda x: torch.clamp_max(x, 0.5), (0.5,)),
    "frac": Operator("aten::frac.out", torch.frac),
    "round_decimals": Operator("aten::round.decimals_out", lambda x: torch.round(x, decimals=2), (2,)),
    "logsumexp_rows": Operator("aten::logsumexp.out", lambda x: torch.logsumexp(x, -1), ([1], False)),
    "logsumexp_columns": Operator("aten::logsumexp.out", lambda x: torch.logsumexp(x, 0), ([0], False)),
    "prod_rows": Operator("aten::prod.int_out", lambda x: torch.prod(x, -1), (1, False, None)),
    "prod_columns": Operator("aten::prod.int_out", lambda x: torch.prod(x, 0), (0, False, None)),
    "cumsum_rows": Operator("aten::cumsum.out", lambda x: torch.cumsum(x, -1), (1, None)),
    "cumsum_columns": Operator("aten::cumsum.out", lambda x: torch.cumsum(x, 0), (0, None)),
    "gather_rows": Operator(
        "aten::gather.out",
        lambda x, i: torch.gather(x, 0, i),
        (False,),
        lambda: (*positive(), places(SIDE, SIDE)),
    ),
    "gather_columns": Operator(
        "aten::gather.out",
        lambda x, i: torch.gather(x, 1, i),
        (False,),
        lambda: (*positive(), places(SIDE, SIDE)),
    ),
    "index_select_rows": Operator(
        "aten::index_select.out",
        lambda x, i: torch.index_select(x, 0, i),
        (),
        lambda: (*positive(), places(SIDE)),
    ),
    "index_select_columns": Operator(
        "aten::index_select.out",
        lambda x, i: torch.index_select(x, 1, i),
        (),
        lambda: (*positive(), places(SIDE)),
    ),
    "index_add_rows": Operator(
        "aten::index_add.out",
        lambda x, i, y: torch.index_add(x, 0, i, y),
        (1,),
        lambda: (torch.randn(SIDE, SIDE), places(SIDE), torch.randn(SIDE, SIDE)),
    ),
    "index_add_columns": Operator(
        "aten::index_add.out",
        lambda x, i, y: torch.index_add(x, 1, i, y),
        (1,),
        lambda: (torch.randn(SIDE, SIDE), places(SIDE), torch.randn(SIDE, SIDE)),
    ),
    "cdist": Operator("aten::_cdist_forward.out", torch.cdist, (2.0, None), two),
    "cdist_p1": Operator(
        "aten::_cdist_forward.out",
        lambda x, y: torch.cdist(x, y, 1.0),
        (1.0, None),
        lambda: (torch.randn(256, 256), torch.randn(256, 256)),
    ),
}
DIM_BEFORE = {"gather": True, "index_select": True, "index_add": True}
"""Kernels whose second argument is the dimension."""


class Between(torch.nn.Module):
    """A function between a product and a sum, which the CPU backend supports."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        """Returns function(2 * inputs[0], ...) + 1."""
        return self.function(inputs[0] * 2, *inputs[1:]) + 1


def processor_time(run: Callable[[], object]) -> float:
    """Returns the processor seconds of a call."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def ratio(ours: Callable[[], object], eager: Callable[[], object], rounds: int) -> float:
    """Returns the median of the ratios of times, with calls in turn."""
    ours(), eager()
    repeat = max(1, round(0.005 / max(processor_time(eager), 1e-6)))

    def repeated(run: Callable[[], object]) -> float:
        return processor_time(lambda: [run() for _ in range(repeat)])

    return statistics.median(repeated(ours) / repeated(eager) for _ in range(rounds))


def kernel_call(name: str, operator: Operator, inputs: tuple[torch.Tensor, ...]) -> Callable[[], object]:
    """Returns a call of the default kernel with one thread."""
    result = operator.function(*inputs)
    arguments: list[Any] = [*inputs, *operator.arguments]
    if any(name.startswith(word) for word in DIM_BEFORE):
        arguments.insert(1, 0 if name.endswith("rows") else 1)
    out = torch.empty_like(result)
    call = (operator.kernel, [*arguments, out], None, 1)
    call_kernel(*call)
    torch.testing.assert_close(out, result, rtol=1e-4, atol=1e-4, equal_nan=True)
    return lambda: call_kernel(*call)


def plan_call(
    operator: Operator, inputs: tuple[torch.Tensor, ...]
) -> tuple[Callable[[], object], Callable[[], object], bool]:
    """Returns a call of the program, the same call in eager PyTorch, and whether the program is one plan."""
    module = Between(operator.function).eval()
    program = bytes(rushlight.compile(module, inputs).buffer)
    loaded = rushlight.load(program, threads=1)
    return (lambda: loaded(*inputs)), (lambda: module(*inputs)), b"aten::" not in program


def line(name: str, operator: Operator, rounds: int) -> str:
    """Measures an operator, and returns its output line."""
    inputs = operator.inputs()
    with torch.no_grad():
        kernel = ratio(kernel_call(name, operator, inputs), lambda: operator.function(*inputs), rounds)
        ours, eager, is_whole = plan_call(operator, inputs)
        plan = ratio(ours, eager, rounds)
    return f"{name:24}{kernel:8.2f}{plan:8.2f}{'' if is_whole else '  split'}"


def main() -> int:
    """Prints a line for each operator."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("filters", nargs="*", help="parts of the names of operators")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"{'operator':24}{'kernel':>8}{'plan':>8}")
    for name, operator in OPERATORS.items():
        if not options.filters or any(part in name for part in options.filters):
            print(line(name, operator, options.rounds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
