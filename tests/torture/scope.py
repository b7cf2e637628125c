"""Builds a case statement by statement. Each statement is first evaluated in eager PyTorch."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from tests.torture.case import (
    Case,
    Dim,
    Function,
    Input,
    Member,
    Size,
    Statement,
    Tree,
    evaluate_size,
    input_expression,
    names,
    result_names,
    statement_lines,
)
from tests.torture.eager import plain_control_flow
from torch import nn

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
LARGEST = {torch.float32: 1e3, torch.float16: 1e2, torch.bfloat16: 1e2, torch.float64: 1e3}
MAX_ELEMENTS = 20_000


@dataclass
class Value:
    """A tensor of the module, with its data for each set of sizes."""

    name: str
    data: list[torch.Tensor]

    @property
    def tensor(self) -> torch.Tensor:
        return self.data[0]

    @property
    def dtype(self) -> torch.dtype:
        return self.tensor.dtype

    @property
    def rank(self) -> int:
        return self.tensor.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype.is_floating_point

    @property
    def fixed(self) -> bool:
        """Whether every size is the same in all sets of sizes."""
        return all(t.shape == self.tensor.shape for t in self.data)

    def dynamic(self, axis: int) -> bool:
        return any(t.shape[axis] != self.tensor.shape[axis] for t in self.data)

    def size(self, axis: int) -> str:
        """Returns the source of the size of an axis: a number, or an expression if it is dynamic."""
        return f"{self.name}.shape[{axis}]" if self.dynamic(axis) else str(self.tensor.shape[axis])


def rows(text: str) -> tuple[str, ...]:
    """Returns the rows of a table, which semicolons separate."""
    return tuple(" ".join(row.split()) for row in text.split(";"))


Maker = Callable[["Scope"], Value]
"""Adds one or more statements to a scope. Raises Refused if this is not possible."""


class Refused(Exception):
    """The statement is not possible in this scope."""


class Scope:
    """The statements of the module so far.

    Methods that add a statement raise Refused if eager PyTorch does not support it or it exceeds a limit.
    """

    def __init__(self, rng: random.Random, dims: Sequence[Dim] = (), dtype: str = "float32") -> None:
        self.rng = rng
        self.dims = tuple(dims)
        self.dtype = dtype
        self.sizes: tuple[int, ...] = (1, 2, 3, 4)
        self.sets = self._sets()
        self.modules = [nn.Module() for _ in self.sets]
        self.inputs: list[Input] = []
        self.members: list[Member] = []
        self.statements: list[Statement] = []
        self.values: list[Value] = []
        self.selected: list[Value] = []  # their sizes depend on data: outputs only
        self.written: set[str] = set()
        self.specials = False
        self.mixed = False
        self.writes_inputs = False
        self._count = 0

    def _sets(self) -> list[dict[str, int]]:
        if not self.dims:
            return [{}]
        choices: tuple[Callable[[Dim], int], ...] = (
            lambda d: d.example,
            lambda d: d.low,
            lambda d: d.high,
        )
        return [{d.name: choose(d) for d in self.dims} for choose in choices]

    # Methods that add members and statements.

    def fresh(self, prefix: str) -> str:
        """Returns a new name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def input(
        self,
        shape: Sequence[Size],
        dtype: str | None = None,
        values: str = "normal",
        layout: str = "contiguous",
    ) -> Value:
        """Adds an input; see `Input` for the arguments. A number is not among the values of the scope."""
        given = Input(f"x{len(self.inputs)}", tuple(shape), dtype or self.dtype, values, layout)
        expression = input_expression(given)
        data = []
        for sizes in self.sets:
            torch.manual_seed(len(self.inputs))
            data.append(_evaluate(expression, dict(sizes)))
        self.inputs.append(given)
        value = Value(given.name, data)
        if values.startswith("number"):
            return value
        self.values.append(value)
        return value

    def member(self, kind: str, expression: str, name: str = "") -> str:
        """Adds a submodule, parameter or buffer, and returns its source `self.<name>`.

        The expression may read earlier members.
        """
        member = Member(name or f"{kind[0]}{len(self.members)}", kind, expression)
        for module in self.modules:
            torch.manual_seed(len(self.members))
            made = _evaluate(expression, {"self": module})
            if kind == "buffer":
                module.register_buffer(member.name, made)
            else:
                setattr(module, member.name, nn.Parameter(made) if kind == "parameter" else made.eval())
        self.members.append(member)
        return f"self.{member.name}"

    def module(self, expression: str) -> str:
        """Adds a submodule with the dtype of the case, and returns its source."""
        cast = "" if self.dtype == "float32" else f".to(torch.{self.dtype})"
        return self.member("module", expression + cast)

    def layer(self, expression: str, *operands: Value) -> Value:
        """Adds a submodule and calls it."""
        return self.add(f"{self.module(expression)}({', '.join(['{}'] * len(operands))})", *operands)

    def parameter(self, shape: Sequence[int], dtype: str | None = None) -> Value:
        """Adds a parameter and gives it a name in forward."""
        dtype = dtype or self.dtype
        cast = "" if dtype == "float32" else f".to(torch.{dtype})"
        name = self.member("parameter", f"torch.randn({list(shape)}){cast}")
        return self.add(name)

    def add(
        self,
        template: str,
        *operands: Value | str,
        count: int = 1,
        results: str = "",
        functions: tuple[Function, ...] = (),
    ) -> Value:
        """Adds `result = template.format(*operands)` and returns the (first) result.

        Args:
            template: the source of the statement, with `{}` for each operand.
            operands: values, or sources such as the size of an axis.
            count: the number of results. It is 0 for a statement that writes to the first operand in place;
                the method then returns this operand.
            results: a pattern of the results such as `{}, ({}, {})`.
            functions: local functions in the template.
        """
        texts = tuple(o if isinstance(o, str) else o.name for o in operands)
        new_names = [self.fresh("v") for _ in range(count)]
        pattern = (results.format(*new_names),) if results else tuple(new_names)
        statement = Statement(template, texts, pattern, functions)
        before = self._snapshot() if not count else []
        made: list[list[Any]] = []
        try:
            for k in range(len(self.sets)):
                made.append(self._run(statement, k))
            self._check(made, count)
        except Refused:
            self._restore(before)
            raise
        except Exception as error:
            self._restore(before)
            raise Refused(str(error)) from None
        self.statements.append(statement)
        new = [Value(name, [row[i] for row in made]) for i, name in enumerate(new_names)]
        self.values += new
        if not count:
            assert isinstance(operands[0], Value)
            return operands[0]
        return new[0]

    def add_several(self, template: str, *operands: Value | str, count: int) -> tuple[Value, ...]:
        """Adds a statement with `count` results, and returns all of them; see `add`."""
        self.add(template, *operands, count=count)
        return tuple(self.values[-count:])

    def _run(self, statement: Statement, k: int) -> list[Any]:
        """Returns the results of a statement for set `k` of sizes."""
        space: dict[str, Any] = {v.name: v.data[k] for v in self.values}
        space["self"] = self.modules[k]
        text = "\n".join(statement_lines(statement))
        scope = {"torch": torch, "F": F, "nn": nn, **space}
        with torch.no_grad(), plain_control_flow():
            exec(compile(text, "<statement>", "exec"), scope)  # noqa: S102
        return [scope[name] for name in result_names(statement)]

    def _check(self, made: list[list[Any]], count: int) -> None:
        """Raises Refused if a new or overwritten tensor is not allowed.

        Args:
            made: the results of the statement for each set of sizes.
            count: the number of results; 0 if the statement writes in place.
        """
        given = [v.data for v in self.values] if not count else []
        for tensors in [*made, *(list(row) for row in given)]:
            for tensor in tensors:
                self._check_tensor(tensor)
        for i in range(count):
            if len({(row[i].dtype, row[i].dim()) for row in made}) != 1:
                raise Refused("another dtype or rank at other sizes")

    def _check_tensor(self, tensor: Any) -> None:
        if not isinstance(tensor, torch.Tensor):
            raise Refused("no tensor")
        doubles = tensor.dtype == torch.float64 and not self.mixed
        if tensor.is_complex() or doubles or tensor.layout != torch.strided:
            raise Refused("a dtype that is left out")
        if tensor.numel() > MAX_ELEMENTS or tensor.dim() > 6:
            raise Refused("too large")
        if tensor.numel() == 0 or tensor.dtype == torch.bool:
            return
        if tensor.is_floating_point():
            largest = tensor.abs().max().item()
            if self.specials:
                return
            if not largest <= LARGEST[tensor.dtype]:
                raise Refused("too large, or not finite")
        elif (
            not self.mixed
            and tensor.dtype in (torch.int64, torch.int32)
            and tensor.abs().max().item() > 1 << 20
        ):
            raise Refused("too large")

    def _snapshot(self) -> list[tuple[torch.UntypedStorage, torch.UntypedStorage]]:
        """Returns the storages of all values and buffers, each with a copy."""
        tensors = [t for v in self.values for t in v.data]
        tensors += [t for module in self.modules for t in module.buffers()]
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage() for t in tensors}
        return [(storage, storage.clone()) for storage in storages.values()]

    def _restore(self, before: list[tuple[torch.UntypedStorage, torch.UntypedStorage]]) -> None:
        for storage, saved in before:
            storage.copy_(saved)

    # Methods that choose values.

    def chance(self, probability: float) -> bool:
        """Returns True with this probability."""
        return self.rng.random() < probability

    def pick(self, accept: Callable[[Value], bool] | None = None) -> Value:
        """Returns a value for which `accept` is true, in most cases a late one."""
        found = [v for v in self.values if accept is None or accept(v)]
        if not found:
            raise Refused("no value of that kind")
        if self.chance(0.5):
            return found[-1 - min(len(found) - 1, int(self.rng.expovariate(0.8)))]
        return self.rng.choice(found)

    def floating(self, low_rank: int = 0, high_rank: int = 6) -> Value:
        """Returns a float value with a rank in these bounds; see `pick`."""
        return self.pick(lambda v: v.is_float and low_rank <= v.rank <= high_rank)

    def writable(self, value: Value) -> bool:
        """Whether a statement may write to the value in place."""
        if self.writes_inputs:
            return True
        mine = value.tensor.untyped_storage().data_ptr()
        given = {v.tensor.untyped_storage().data_ptr() for v in self.values[: len(self.inputs)]}
        parameters = {p.untyped_storage().data_ptr() for p in self.modules[0].parameters()}
        return mine not in given and mine not in parameters

    def axis(self, value: Value, accept: Callable[[int], bool] | None = None) -> int:
        """Returns an axis for which `accept` is true. It may be negative."""
        axes = [a for a in range(value.rank) if accept is None or accept(a)]
        if not axes:
            raise Refused("no such axis")
        axis = self.rng.choice(axes)
        return axis - value.rank if self.chance(0.4) else axis

    def case(self, seed: int, index: int, kind: str, outputs: Tree, **more: Any) -> Case:
        """Returns the case with everything in the scope; see `Case` for the arguments.

        A case with state has several calls. A case with dynamic dims also has calls with other sizes.
        """
        calls: list[dict[str, int]] = copy.deepcopy(self.sets)
        if more.get("state") and not self.dims:
            calls = calls * 3
        if self.dims:
            # The sizes grow and shrink from call to call.
            calls += [{d.name: self.rng.randint(d.low, d.high) for d in self.dims} for _ in range(3)]
            calls += calls[1:3]
        assert set(names(outputs)) <= {v.name for v in (*self.values, *self.selected)}, outputs
        return Case(
            seed,
            index,
            kind,
            tuple(self.inputs),
            tuple(self.statements),
            outputs,
            tuple(self.members),
            dims=self.dims,
            calls=tuple(calls),
            **more,
        )


def _evaluate(expression: str, sizes: dict[str, Any]) -> Any:
    return eval(expression, {"torch": torch, "nn": nn, "F": F, **sizes})  # noqa: S307


def size_at(size: Size, sizes: dict[str, int]) -> int:
    return evaluate_size(size, sizes)
