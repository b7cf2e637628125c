"""`rushlight run`: runs a method once."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rushlight.cli.arguments import (
    Commands,
    add_program_options,
    load_libraries,
    load_method,
    load_program,
    method_name,
    read_inputs,
)
from rushlight.cli.interrupts import cancellable
from rushlight.files import replacing
from rushlight.runtime.errors import InvalidArgumentError, NotSupportedError


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "run",
        help="run a method and print or save its outputs",
        description="Runs a method of a program once, and prints its outputs, or saves them with --outputs.",
        epilog="example: rushlight run model.pte --inputs image.png --outputs results",
    )
    add_program_options(parser)
    parser.add_argument(
        "--outputs", type=Path, metavar="DIR", help="save the tensor of output i as DIR/output_i.npy"
    )
    parser.add_argument(
        "--aten", action="store_true", help="run the kernels of torch, one instruction at a time (ATen mode)"
    )
    parser.add_argument(
        "--steps",
        action="store_true",
        help="with --aten: print each instruction, and the difference between the results of the native "
        "kernel and of torch's kernel",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Runs the method, prints its outputs, and saves tensors as .npy files if --outputs is given.

    Raises:
        InvalidArgumentError: the folder for outputs is a file.
        NotSupportedError: --aten without torch, --steps without --aten, or --steps with --json.
    """
    if options.json and options.steps:
        raise NotSupportedError(
            "--json: --steps prints a table, which has no JSON form; give only one of these options"
        )
    if options.outputs is not None and options.outputs.exists() and not options.outputs.is_dir():
        raise InvalidArgumentError(f"--outputs {options.outputs}: this is a file; give the name of a folder")
    outputs = _run_on_torch(options) if options.aten else _run(options)
    if options.outputs:
        _save(options.outputs, outputs)
    if options.json:
        print(json.dumps({"outputs": [_fact(value) for value in outputs]}))
        return
    for index, value in enumerate(outputs):
        print(f"output {index}: {_text(value)}")


def _save(folder: Path, outputs: Sequence[object]) -> None:
    """Saves the tensors, before anything is printed, because a reader of the pipe may stop early."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, (value, _) in enumerate(map(_array, outputs)):
        if isinstance(value, np.ndarray):
            with replacing(folder / f"output_{index}.npy") as file:
                np.save(file, value)


def _array(value: Any) -> tuple[Any, str]:
    """Returns a tensor as an array, and the name of its dtype. Returns other values with the name "".

    The dtypes of ml_dtypes and torch that .npy files do not support, such as bfloat16, become float32.
    """
    if not hasattr(value, "dtype"):
        return value, ""
    name = str(value.dtype).removeprefix("torch.")
    if isinstance(value, np.ndarray):
        return value if value.dtype.isbuiltin == 1 else value.astype(np.float32), name
    return value.float().numpy(), name


def _run(options: argparse.Namespace) -> list[Any]:
    if options.steps:
        raise NotSupportedError(
            "--steps needs --aten, because the native runtime does not stop between instructions"
        )
    method = load_method(load_program(options), options)
    inputs = read_inputs(method.metadata, options.inputs)
    return cancellable(method, lambda _: method.execute(inputs))


def _run_on_torch(options: argparse.Namespace) -> list[Any]:
    try:
        from rushlight.runtime import aten
    except ModuleNotFoundError as error:
        raise NotSupportedError(f"--aten needs torch ({error}): pip install 'rushlight[compile]'") from None
    load_libraries(options)
    program = aten.Runtime.get().load_program(
        options.program, data_path=options.data or None, threads=options.threads
    )
    steps = aten.NativeComparison() if options.steps else None
    method = program.load_method(method_name(program.method_names, options), hook=steps)
    outputs = method.execute(read_inputs(method.metadata, options.inputs))
    if steps is not None:
        print(steps.table())
    return [aten.to_numpy(value) for value in outputs]


def _fact(value: object) -> Any:
    """An output as JSON: a tensor has its dtype, shape and values."""
    value, dtype = _array(value)
    if isinstance(value, np.ndarray):
        return {"dtype": dtype, "shape": list(value.shape), "values": _plain(value.tolist())}
    return _plain(value)


def _plain(value: object) -> Any:
    """Converts numbers that JSON does not support to text: "nan", "inf", "-inf", "(1+2j)"."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    is_other = isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value))
    return str(value) if is_other else value


def _text(value: object) -> str:
    value, dtype = _array(value)
    if not isinstance(value, np.ndarray):
        return repr(value)
    shape = ", ".join(map(str, value.shape))
    numbers = np.array2string(value, threshold=20, edgeitems=3, separator=", ")
    return f"{dtype}[{shape}]" + ("\n" if "\n" in numbers else " ") + numbers
