"""A case as plain data, and its source code in PyTorch."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

Size: TypeAlias = int | str
"""A size, or an expression with names of dynamic dims, such as `b`, `2*b` or `b+1`."""

Tree: TypeAlias = str | list[Any] | dict[str, Any]
"""A name, or a list (rendered as a tuple) or dict of trees."""


@dataclass(frozen=True)
class Dim:
    """A dynamic dim: its bounds, and its size in the example inputs of the export."""

    name: str
    low: int
    high: int
    example: int


@dataclass(frozen=True)
class Input:
    """An input of the module.

    Attributes:
        name: the name of the argument of forward.
        shape: the sizes.
        dtype: the name of the dtype.
        values: normal, positive, unit, special (includes infinities and NaN), integer, bool, `index N`,
            `permutation DIM`, or `number VALUE` for a Python number.
        layout: contiguous, transposed, strided, offset, expanded or channels_last.
    """

    name: str
    shape: tuple[Size, ...]
    dtype: str = "float32"
    values: str = "normal"
    layout: str = "contiguous"


@dataclass(frozen=True)
class Member:
    """A submodule, parameter or buffer. `kind` is one of these words, and `expression` creates the member."""

    name: str
    kind: str
    expression: str


@dataclass(frozen=True)
class Function:
    """A local function, which is an argument of a control-flow statement."""

    name: str
    arguments: tuple[str, ...]
    statements: tuple[Statement, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """One line of forward: `results = template.format(*operands)`. Without results it writes in place.

    A result may be a pattern of names such as `(v1, v2)`.
    """

    template: str
    operands: tuple[str, ...]
    results: tuple[str, ...] = ()
    functions: tuple[Function, ...] = ()


@dataclass(frozen=True)
class Case:
    """A module with inputs, dynamic dims and calls.

    Attributes:
        seed, index: the numbers with which `python -m tests.torture` generates the case again.
        kind: the kind of the module, as in the option `--kinds` of `python -m tests.torture`.
        inputs: the tensors and numbers that forward takes.
        statements: the lines of forward, in order.
        outputs: the return value of forward.
        members: the submodules, parameters and buffers.
        arguments: the grouping of the inputs into arguments of forward.
        dims: the dynamic dims.
        calls: the sizes of the dynamic dims in each call. The first call has the sizes of the export.
        quantizer: empty, or a name of `configurations.QUANTIZERS`.
        state: whether the module writes to its buffers, so that a call depends on earlier calls.
    """

    seed: int
    index: int
    kind: str
    inputs: tuple[Input, ...]
    statements: tuple[Statement, ...]
    outputs: Tree
    members: tuple[Member, ...] = ()
    arguments: tuple[Tree, ...] = ()
    dims: tuple[Dim, ...] = ()
    calls: tuple[dict[str, int], ...] = ({},)
    quantizer: str = ""
    state: bool = False


def names(tree: Tree) -> Iterator[str]:
    """Returns the names in a tree, in order."""
    if isinstance(tree, str):
        yield tree
    else:
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from names(part)


def to_json(case: Case) -> str:
    """Returns a case as JSON."""
    return json.dumps(dataclasses.asdict(case))


def from_json(text: str) -> Case:
    """Returns the case of a text from `to_json`."""
    data = json.loads(text)
    data["inputs"] = tuple(Input(**{**i, "shape": tuple(i["shape"])}) for i in data["inputs"])
    data["members"] = tuple(Member(**m) for m in data["members"])
    data["dims"] = tuple(Dim(**d) for d in data["dims"])
    data["statements"] = tuple(_statement(s) for s in data["statements"])
    data["arguments"] = tuple(data["arguments"])
    data["calls"] = tuple(data["calls"])
    return Case(**data)


def _statement(data: dict[str, Any]) -> Statement:
    functions = tuple(
        Function(
            f["name"],
            tuple(f["arguments"]),
            tuple(_statement(s) for s in f["statements"]),
            tuple(f["results"]),
        )
        for f in data["functions"]
    )
    return Statement(data["template"], tuple(data["operands"]), tuple(data["results"]), functions)


def result_names(statement: Statement) -> list[str]:
    """Returns the names that a statement defines."""
    return re.findall(r"\w+", " ".join(statement.results))


def all_statements(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yields the statements and those of local functions."""
    for statement in statements:
        yield statement
        for function in statement.functions:
            yield from all_statements(function.statements)


def operators(case: Case) -> list[str]:
    """Returns the operators of a case, sorted and without duplicates.

    A submodule has the name of its class.
    """
    found = {o for s in all_statements(case.statements) for o in operators_of(s.template)}
    found |= {m.expression.split("(")[0] for m in case.members if m.kind == "module"}
    return sorted(found - {f"self.{m.name}" for m in case.members})


SYMBOLS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floor_divide", "%": "remainder",
    "**": "pow", "@": "matmul",
    "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne", "&": "and", "|": "or", "^": "xor",
    "+=": "iadd", "-=": "isub", "*=": "imul", "/=": "idiv", "=": "setitem", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
PLAIN = {"float", "item", "abs", "clone", "shape"}


def operators_of(template: str) -> list[str]:
    """Returns the last names of the operators in an expression."""
    calls = re.findall(r"(?<![\w.])((?:torch|F|self)\.[\w.]+)\(", template)
    found = [c if c.startswith("self.") else c.split(".")[-1] for c in calls]
    found += re.findall(r"(?<=[})\]])\.(\w+)\(", template)
    found += [SYMBOLS[s] for s in re.findall(r"(?<= )([-+*/%@<>=&|^!]+)(?= )", template) if s in SYMBOLS]
    if re.search(r"\}\s*\[", template):
        found.append("slice")
    return found or ["other"]


def source(case: Case) -> str:
    """Returns Python source with the module as class `M` and its inputs as function `inputs(call, dims)`."""
    return "\n".join(
        [
            "import torch",
            "import torch.nn.functional as F",
            "from torch import nn",
            "",
            "",
            *_module(case),
            "",
            "",
            *_inputs(case),
            "",
        ]
    )


def _module(case: Case) -> list[str]:
    lines = ["class M(nn.Module):"]
    if case.members:
        lines += ["    def __init__(self):", "        super().__init__()"]
        lines += [f"        {member_line(m)}" for m in case.members] + [""]
    arguments, unpacking = [], []
    for i, tree in enumerate(case.arguments or tuple(i.name for i in case.inputs)):
        arguments.append(tree if isinstance(tree, str) else f"a{i}")
        unpacking += [] if isinstance(tree, str) else list(_unpack(tree, f"a{i}"))
    lines.append(f"    def forward({', '.join(['self', *arguments])}):")
    lines += [f"        {line}" for line in unpacking]
    lines += [f"        {line}" for s in case.statements for line in statement_lines(s)]
    lines.append(f"        return {_tree(case.outputs)}")
    return lines


def member_line(member: Member) -> str:
    if member.kind == "buffer":
        return f'self.register_buffer("{member.name}", {member.expression})'
    if member.kind == "parameter":
        return f"self.{member.name} = nn.Parameter({member.expression})"
    return f"self.{member.name} = {member.expression}"


def _unpack(tree: Tree, path: str) -> Iterator[str]:
    if isinstance(tree, str):
        yield f"{tree} = {path}"
    elif isinstance(tree, dict):
        for key, part in tree.items():
            yield from _unpack(part, f"{path}[{key!r}]")
    else:
        for i, part in enumerate(tree):
            yield from _unpack(part, f"{path}[{i}]")


def _tree(tree: Tree) -> str:
    if isinstance(tree, str):
        return tree
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {_tree(part)}" for key, part in tree.items()) + "}"
    return "(" + ", ".join(map(_tree, tree)) + ("," if len(tree) == 1 else "") + ")"


def statement_lines(statement: Statement) -> list[str]:
    lines = [line for function in statement.functions for line in _function(function)]
    text = statement.template.format(*statement.operands)
    return [*lines, f"{', '.join(statement.results)} = {text}" if statement.results else text]


def _function(function: Function) -> list[str]:
    lines = [f"def {function.name}({', '.join(function.arguments)}):"]
    lines += [f"    {line}" for s in function.statements for line in statement_lines(s)]
    return [*lines, f"    return {', '.join(function.results)}"]


def _inputs(case: Case) -> list[str]:
    lines = ["def inputs(call, " + "".join(f"{d.name}={d.example}, " for d in case.dims)]
    lines = [lines[0].rstrip(", ") + "):", "    torch.manual_seed(call)"]
    lines += [f"    {i.name} = {input_expression(i)}" for i in case.inputs]
    return [*lines, f"    return {_tree(list(case.arguments or [i.name for i in case.inputs]))}"]


def input_expression(given: Input) -> str:
    """Returns the expression that creates an input."""
    shape = list(given.shape)
    layout = given.layout
    after = ""
    if layout == "transposed" and len(shape) >= 2:
        shape[-1], shape[-2] = shape[-2], shape[-1]
        after = ".transpose(-1, -2)"
    elif layout == "strided" and shape:
        shape[-1] = f"2*({shape[-1]})" if isinstance(shape[-1], str) else 2 * shape[-1]
        after = "[..., ::2]"
    elif layout == "offset" and shape:
        shape[0] = f"{shape[0]}+1" if isinstance(shape[0], str) else shape[0] + 1
        after = "[1:]"
    elif layout == "expanded" and shape:
        after = f".expand({', '.join(map(str, shape))})"
        shape[0] = 1
    elif layout == "channels_last" and len(shape) in (4, 5):
        after = f".to(memory_format=torch.channels_last{'_3d' if len(shape) == 5 else ''})"
    return _values(given, f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})") + after


def _values(given: Input, shape: str) -> str:
    dtype = f"torch.{given.dtype}"
    is_float = "float" in given.dtype
    kind, *rest = given.values.split()
    if kind == "number":
        return rest[0]
    if kind == "index":
        return f"torch.randint(0, {rest[0]}, {shape}, dtype={dtype})"
    if kind == "permutation":
        text = (
            f"torch.rand{shape}.argsort({rest[0]})" if shape != "()" else "torch.zeros((), dtype=torch.int64)"
        )
        return text if given.dtype == "int64" else f"{text}.to({dtype})"
    if given.dtype == "bool":
        return f"(torch.rand{shape} < 0.5)" if shape != "()" else "torch.tensor(True)"
    if not is_float:
        low = 0 if given.dtype == "uint8" or kind == "positive" else -6
        return f"torch.randint({low}, 7, {shape}, dtype={dtype})"
    cast = "" if given.dtype == "float32" else f".to({dtype})"
    if kind == "positive":
        return f"(torch.rand{_call(shape)} + 0.25){cast}"
    if kind == "unit":
        return f"(torch.rand{_call(shape)} * 1.8 - 0.9){cast}"
    if kind == "special":
        return f"(torch.randint(-1, 2, {shape}) / torch.randint(0, 3, {shape})){cast}"
    return f"torch.randn{_call(shape)}{cast}"


def _call(shape: str) -> str:
    return f"({shape})"


def reproduction(case: Case, compile_arguments: str, quantizer: str, header: str, threads: int) -> str:
    """Returns a script that prints the results of the compiled program and of eager PyTorch for each call.

    Args:
        case: the case.
        compile_arguments: the source of the arguments of rushlight.compile after the program.
        quantizer: the source of a quantizer, or an empty text.
        header: the docstring of the script.
        threads: the number of threads of the compiled program.
    """
    imports = ["import rushlight"]
    if "CpuQuantizer" in quantizer:
        imports.append("from rushlight.backends.cpu.quantizer import CpuQuantizer")
    if "Xnnpack" in compile_arguments:
        imports.append("from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner")
    if "XNNPACKQuantizer" in quantizer:
        imports.append("from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer")
    if quantizer:
        configuration = re.findall(r"(\w+)\((?!.*\w\()", quantizer)[0]
        imports.append(f"from rushlight.quantize import quantize, {configuration}")
    shapes = dynamic_shapes(case)
    dynamic = f", dynamic_shapes={shapes}" if shapes else ""
    lines = [
        f'"""{header}"""',
        "",
        *source(case).splitlines()[:3],
        "",
        *imports,
        *source(case).splitlines()[3:],
        "",
        "torch.manual_seed(0)",
        "model = M().eval().requires_grad_(False)",
        f"program = torch.export.export(model, inputs(0{_sizes(case.calls[0])}){dynamic}, strict=False)",
    ]
    if quantizer:
        data = ", ".join(f"inputs({i}{_sizes(case.calls[0])})" for i in range(3))
        lines += [f"program = quantize(program, None, {quantizer}, [{data}])", "model = program.module()"]
    lines += [
        f"module = rushlight.load(rushlight.compile(program{compile_arguments}).buffer, threads={threads})",
        f"for call, sizes in enumerate({list(case.calls)}):",
        '    print("compiled", module(*inputs(call, **sizes)))',
        '    print("eager", model(*inputs(call, **sizes)))',
        "",
    ]
    return "\n".join(lines)


def _sizes(call: dict[str, int]) -> str:
    return "".join(f", {name}={size}" for name, size in call.items())


def dynamic_shapes(case: Case) -> str | None:
    """Returns the expression for dynamic_shapes of torch.export, or None if all sizes are static."""
    if not case.dims:
        return None
    made = {d.name: f'torch.export.Dim("{d.name}", min={d.low}, max={d.high})' for d in case.dims}
    shapes = {
        i.name: None
        if i.values.startswith("number")
        else "{"
        + ", ".join(f"{axis}: {size}" for axis, size in enumerate(i.shape) if isinstance(size, str))
        + "}"
        for i in case.inputs
    }

    def tree(part: Tree) -> str:
        if isinstance(part, str):
            return str(shapes[part])
        if isinstance(part, dict):
            return "{" + ", ".join(f"{key!r}: {tree(value)}" for key, value in part.items()) + "}"
        return "(" + "".join(f"{tree(value)}, " for value in part) + ")"

    text = tree(list(case.arguments or [i.name for i in case.inputs]))
    parameters = ", ".join(made)
    return f"(lambda {parameters}: {text})({', '.join(made.values())})"


def evaluate_size(size: Size, sizes: dict[str, int]) -> int:
    """Returns the value of a size for given sizes of the dynamic dims."""
    return size if isinstance(size, int) else int(eval(size, {}, sizes))  # noqa: S307


def fixed(case: Case, sizes: dict[str, int], only: str | None = None) -> Case:
    """Returns the case with static sizes for all dynamic dims (or only one), with calls of these sizes."""
    gone = {d.name for d in case.dims} if only is None else {only}

    def size_of(size: Size) -> Size:
        return evaluate_size(size, sizes) if size_names(size) & gone else size

    calls = [{k: v for k, v in c.items() if k not in gone} for c in case.calls]
    if not case.state:
        calls = [c for i, c in enumerate(calls) if c not in calls[:i]]
    return dataclasses.replace(
        case,
        inputs=tuple(dataclasses.replace(i, shape=tuple(map(size_of, i.shape))) for i in case.inputs),
        dims=tuple(d for d in case.dims if d.name not in gone),
        calls=tuple(calls),
    )


def size_names(size: Size) -> set[str]:
    return set() if isinstance(size, int) else set(re.findall(r"[a-z]\w*", size))
