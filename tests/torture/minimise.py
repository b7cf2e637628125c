"""Reduces a failing case as long as it fails in the same way."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from tests.torture.case import (
    Case,
    Function,
    Input,
    Statement,
    Tree,
    all_statements,
    fixed,
    names,
    result_names,
)
from tests.torture.eager import plain_control_flow
from tests.torture.model import leaves, load

Attempt = Callable[[Iterable[Case]], Case | None]
"""Returns the first of some cases that fails in the same way, or None."""


def minimise(case: Case, attempt: Attempt, call: int = 0, seconds: float = 90.0) -> Case:
    """Returns the smallest case that was found.

    Args:
        case: the failing case.
        attempt: tries candidates.
        call: the index of the failing call.
        seconds: the time limit. No new candidates are tried after this time.
    """
    end = time.monotonic() + seconds
    passes: tuple[Callable[[Case], Iterator[Case]], ...] = (
        lambda c: _fewer_calls(c, call),
        _plain_arguments,
        _fewer_outputs,
        _without_dependents,
        _inputs_for_values,
        _fewer_statements,
        _bypassed,
        _simpler_templates,
        _simpler_functions,
        _simpler_inputs,
        _smaller_sizes,
    )
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        for candidates in passes:
            while time.monotonic() < end:
                found = attempt(cleaned(c) for c in candidates(case))
                if found is None:
                    break
                case, changed = found, True
    return case


def cleaned(case: Case) -> Case:
    """Returns the case without unused inputs, members and pure statements."""
    statements = list(case.statements)
    needed = set(names(case.outputs))
    kept: list[Statement] = []
    for statement in reversed(statements):
        if not statement.results or needed & set(result_names(statement)):
            kept.append(statement)
            needed |= _uses(statement)
    statements = kept[::-1]
    used = needed | {n for s in all_statements(tuple(statements)) for n in _uses(s)}
    text = " ".join(s.template + " " + " ".join(s.operands) for s in all_statements(tuple(statements)))
    text += " ".join(m.expression for m in case.members)
    members = tuple(m for m in case.members if re.search(rf"self\.{m.name}\b", text))
    arguments = case.arguments
    inputs = tuple(i for i in case.inputs if i.name in used)
    if len(inputs) < len(case.inputs):
        arguments = ()
    known = {
        d for i in inputs for size in i.shape if isinstance(size, str) for d in re.findall(r"[a-z]+", size)
    }
    dims = tuple(d for d in case.dims if d.name in known)
    calls = tuple({k: v for k, v in c.items() if k in known} for c in case.calls)
    return dataclasses.replace(
        case,
        inputs=inputs,
        members=members,
        statements=tuple(statements),
        arguments=arguments,
        dims=dims,
        calls=calls,
        state=case.state and any(m.kind == "buffer" for m in members),
    )


def _uses(statement: Statement) -> set[str]:
    """Returns the names that a statement reads, including those of its local functions."""
    found = set(re.findall(r"\b[a-z]\d+\b", " ".join((statement.template, *statement.operands))))
    for function in statement.functions:
        found |= {n for s in function.statements for n in _uses(s)}
    return found


def _fewer_calls(case: Case, call: int) -> Iterator[Case]:
    calls = case.calls
    if case.dims:
        for sizes in (calls[min(call, len(calls) - 1)], calls[0]):
            yield fixed(case, sizes)
        for i, d in enumerate(case.dims):
            for size in {c[d.name] for c in calls}:
                yield _without_dim(case, i, size)
    for i in range(len(calls) - 1, 0, -1):
        yield dataclasses.replace(case, calls=calls[:i] + calls[i + 1 :])


def _without_dim(case: Case, place: int, size: int) -> Case:
    name = case.dims[place].name
    return fixed(case, {name: size}, only=name)


def _plain_arguments(case: Case) -> Iterator[Case]:
    if case.arguments:
        yield dataclasses.replace(case, arguments=())


def _fewer_outputs(case: Case) -> Iterator[Case]:
    found = list(dict.fromkeys(names(case.outputs)))
    if isinstance(case.outputs, str):
        return
    for name in found:
        yield dataclasses.replace(case, outputs=name)
    yield dataclasses.replace(case, outputs=found)
    if len(found) > 2:
        for i in range(len(found)):
            yield dataclasses.replace(case, outputs=found[:i] + found[i + 1 :])


def _without_dependents(case: Case) -> Iterator[Case]:
    """Returns the case without a statement, its dependent statements, and the dependent outputs."""
    outputs = list(dict.fromkeys(names(case.outputs)))
    for i in range(len(case.statements)):
        gone: set[str] = set()
        rest = list(case.statements[:i])
        for statement in case.statements[i:]:
            if statement is case.statements[i] or _uses(statement) & gone:
                gone |= set(result_names(statement))
            else:
                rest.append(statement)
        left = [name for name in outputs if name not in gone]
        if left:
            made: Tree = left[0] if isinstance(case.outputs, str) else left
            yield dataclasses.replace(case, statements=tuple(rest), outputs=made)


def _fewer_statements(case: Case) -> Iterator[Case]:
    """Yields cases with earlier values as the output, then cases without a single statement."""
    statements = case.statements
    if isinstance(case.outputs, str):
        defined = [n for s in statements for n in result_names(s)]
        for name in defined:
            if name != case.outputs:
                yield dataclasses.replace(case, outputs=name)
    for size in (len(statements) // 2, len(statements) // 4, 1):
        if size < 1:
            continue
        for i in range(len(statements) - size, -1, -size):
            gone = {n for s in statements[i : i + size] for n in result_names(s)}
            rest = statements[:i] + statements[i + size :]
            if not gone & {n for s in rest for n in _uses(s)} | gone & set(names(case.outputs)):
                yield dataclasses.replace(case, statements=rest)


def _renamed(case: Case, old: str, new: str, statements: tuple[Statement, ...]) -> Case:
    def text(part: str) -> str:
        return re.sub(rf"\b{old}\b", new, part)

    def one(statement: Statement) -> Statement:
        return dataclasses.replace(
            statement,
            template=text(statement.template),
            operands=tuple(map(text, statement.operands)),
            functions=tuple(
                dataclasses.replace(f, statements=tuple(one(s) for s in f.statements))
                for f in statement.functions
            ),
        )

    def tree(part: Tree) -> Tree:
        if isinstance(part, str):
            return new if part == old else part
        if isinstance(part, dict):
            return {k: tree(v) for k, v in part.items()}
        return [tree(v) for v in part]

    return dataclasses.replace(case, statements=tuple(map(one, statements)), outputs=tree(case.outputs))


def _bypassed(case: Case) -> Iterator[Case]:
    """Yields cases in which an operand replaces a result."""
    for i in range(len(case.statements) - 1, -1, -1):
        statement = case.statements[i]
        rest = case.statements[:i] + case.statements[i + 1 :]
        found = result_names(statement)
        for operand in dict.fromkeys(o for o in statement.operands if re.fullmatch(r"[vx]\d+", o)):
            made = dataclasses.replace(case, statements=rest)
            for name in found:
                made = _renamed(made, name, operand, made.statements)
            yield made


def values(case: Case) -> dict[str, torch.Tensor]:
    """Returns every value of forward in the first call."""
    found = [n for s in case.statements for n in result_names(s)]
    given = [i.name for i in case.inputs if not i.values.startswith("number")]
    model = load(dataclasses.replace(case, outputs=[*given, *found]))
    with torch.no_grad(), plain_control_flow():
        results = leaves(model.module()(*model.arguments(0)))
    return dict(zip([*given, *found], results, strict=True))


def _inputs_for_values(case: Case) -> Iterator[Case]:
    """Yields cases in which a new input replaces a result."""
    if case.dims:
        return
    try:
        known = values(case)
    except Exception:
        return
    count = max((int(i.name[1:]) for i in case.inputs), default=-1) + 1
    for i in range(len(case.statements) - 1, -1, -1):
        statement = case.statements[i]
        found = result_names(statement)
        if len(found) != 1 or statement.template.startswith("self.b"):
            continue
        value = known[found[0]]
        kind = "normal"
        if value.dtype == torch.int64:
            if value.numel() == 0 or value.min() < 0:
                continue
            kind = f"index {int(value.max()) + 1}"
        new = Input(f"x{count}", tuple(value.shape), str(value.dtype).split(".")[1], kind)
        rest = case.statements[:i] + case.statements[i + 1 :]
        made = dataclasses.replace(case, inputs=(*case.inputs, new), arguments=(), statements=rest)
        yield _renamed(made, found[0], new.name, rest)


def _simpler_templates(case: Case) -> Iterator[Case]:
    """Yields cases with an attribute of a statement or member removed, or with simpler operators."""
    for i, statement in enumerate(case.statements):
        for template in _shorter(statement.template):
            yield _with_statement(case, i, dataclasses.replace(statement, template=template))
    for i, member in enumerate(case.members):
        for expression in _shorter(member.expression):
            members = (
                *case.members[:i],
                dataclasses.replace(member, expression=expression),
                *case.members[i + 1 :],
            )
            yield dataclasses.replace(case, members=members)


def _with_statement(case: Case, i: int, statement: Statement) -> Case:
    return dataclasses.replace(case, statements=(*case.statements[:i], statement, *case.statements[i + 1 :]))


def _shorter(text: str) -> Iterator[str]:
    for found in re.finditer(r", \w+=(?:\([^()]*\)|[^,()]+)(?=[,)])", text):
        yield text[: found.start()] + text[found.end() :]


def _simpler_functions(case: Case) -> Iterator[Case]:
    for i, statement in enumerate(case.statements):
        for j, function in enumerate(statement.functions):
            for made in _shorter_function(function):
                functions = (*statement.functions[:j], made, *statement.functions[j + 1 :])
                yield _with_statement(case, i, dataclasses.replace(statement, functions=functions))


def _shorter_function(function: Function) -> Iterator[Function]:
    """Yields functions without one statement, in which an operand replaces the result."""
    for i, statement in enumerate(function.statements):
        if len(statement.results) != 1 or not statement.operands:
            continue
        old, new = statement.results[0], statement.operands[0]
        rest = []
        for other in function.statements[:i] + function.statements[i + 1 :]:
            operands = tuple(new if o == old else o for o in other.operands)
            rest.append(dataclasses.replace(other, operands=operands))
        if old in function.results:
            continue
        yield dataclasses.replace(function, statements=tuple(rest))


def _simpler_inputs(case: Case) -> Iterator[Case]:
    for i, given in enumerate(case.inputs):
        simpler: list[dict[str, Any]] = []
        if given.layout != "contiguous":
            simpler.append({"layout": "contiguous"})
        if given.values in ("positive", "unit", "special"):
            simpler.append({"values": "normal"})
        if given.dtype in ("float16", "bfloat16"):
            simpler.append({"dtype": "float32"})
        simpler += [{"shape": given.shape[:a] + given.shape[a + 1 :]} for a in range(len(given.shape))]
        for change in simpler:
            yield _with_input(case, i, dataclasses.replace(given, **change))


def _with_input(case: Case, i: int, given: Input) -> Case:
    """Returns the case with another input number `i`."""
    return dataclasses.replace(case, inputs=(*case.inputs[:i], given, *case.inputs[i + 1 :]))


def _smaller_sizes(case: Case) -> Iterator[Case]:
    """Yields cases with a smaller number at all its positions, then only in the shape of one input."""
    yield from _smaller_numbers(case)
    yield from _smaller_inputs(case)


def _smaller_numbers(case: Case) -> Iterator[Case]:
    """Yields cases in which a smaller number replaces a number of the case everywhere."""
    numbers = {n for i in case.inputs for n in i.shape if isinstance(n, int)}
    text = " ".join([m.expression for m in case.members] + [s.template for s in case.statements])
    numbers |= {int(n) for n in re.findall(r"(?<![\w.{])\d+(?![\w.}])", text)}
    for old in sorted(numbers, reverse=True):
        for new in _smaller(old, 1, 2, 3):
            yield _number_replaced(case, old, new)


def _smaller_inputs(case: Case) -> Iterator[Case]:
    """Yields cases in which one size of one input is smaller."""
    for i, given in enumerate(case.inputs):
        for axis, size in enumerate(given.shape):
            for new in _smaller(size, 1, 2) if isinstance(size, int) else ():
                shape = (*given.shape[:axis], new, *given.shape[axis + 1 :])
                yield _with_input(case, i, dataclasses.replace(given, shape=shape))


def _smaller(number: int, *first: int) -> Iterator[int]:
    """Yields distinct positive numbers below `number`: those in `first`, its half, and one less."""
    for new in dict.fromkeys((*first, number // 2, number - 1)):
        if 0 < new < number:
            yield new


def _number_replaced(case: Case, old: int, new: int) -> Case:
    def text(part: str) -> str:
        return re.sub(rf"(?<![\w.{{]){old}(?![\w.}}])", str(new), part)

    inputs = tuple(
        dataclasses.replace(i, shape=tuple(new if n == old else n for n in i.shape), values=text(i.values))
        for i in case.inputs
    )
    members = tuple(dataclasses.replace(m, expression=text(m.expression)) for m in case.members)
    statements = tuple(dataclasses.replace(s, template=text(s.template)) for s in case.statements)
    return dataclasses.replace(case, inputs=inputs, members=members, statements=statements)
