"""`rushlight quantize`: quantizes and compiles a model, and reports its accuracy."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import rushlight
from rushlight.cli.arguments import (
    Commands,
    add_library_option,
    add_output_option,
    add_record_output_option,
    check_folder,
    check_output,
    count_text,
    load_array,
    load_libraries,
    size_text,
)
from rushlight.cli.backends import add_backend_options, explanation, partitioners
from rushlight.cli.factory import load_function, load_model
from rushlight.files import write_file
from rushlight.ir.json_types import JsonObject
from rushlight.runtime.errors import InvalidArgumentError

if TYPE_CHECKING:
    from torchao.quantization.pt2e.quantizer import Quantizer

    from rushlight.quantize.pattern_quantizer import PatternQuantizer
    from rushlight.quantize.tables import Table

_CONFIGS = (
    "static_int8",
    "static_int16",
    "dynamic_int8",
    "dynamic_int8_weight_int4",
    "weight_only_int8",
    "weight_only_int4",
)
_GROUPED = ("dynamic_int8_weight_int4", "weight_only_int8", "weight_only_int4")


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "quantize",
        help="quantize and compile a model, and report its accuracy (needs rushlight[compile])",
        description="Quantizes a model and compiles it to a .pte file. The model is the result of "
        "FACTORY(), a Python function that returns the model and a tuple of its example inputs.",
        epilog="example: rushlight quantize model.py:factory --data calibration.npy --report",
    )
    parser.add_argument(
        "factory",
        metavar="FILE.py:FACTORY",
        help="the function that returns the model, also as package.module:FACTORY",
    )
    add_output_option(parser, "FACTORY-CONFIG.pte")
    add_record_output_option(parser)
    parser.add_argument(
        "--data",
        nargs="+",
        default=[],
        metavar="SOURCE",
        help="the inputs for calibration and reports: FILE.py:FUNCTION, a function that returns tensors or "
        "tuples of tensors; or a .npy file for each input, with the samples along the first dimension",
    )
    parser.add_argument(
        "--config",
        choices=_CONFIGS,
        default=_CONFIGS[0],
        help="the quantization configuration (default: %(default)s)",
    )
    parser.add_argument(
        "--group-size",
        type=int,
        help="the number of weights along the input dimension that share a scale; if it does not divide "
        "the length of a row, a common divisor or the whole row is used",
    )
    parser.add_argument(
        "--by-inputs",
        action="store_true",
        help="round 4-bit weights so that the outputs of each layer change little for the given data (GPTQ)",
    )
    add_backend_options(parser)
    parser.add_argument(
        "--quantizer", metavar="FILE.py:FUNCTION", help="a function that returns a quantizer of your own"
    )
    parser.add_argument(
        "--float-modules", nargs="+", default=[], metavar="NAME", help="the names of modules to keep in float"
    )
    parser.add_argument(
        "--float-types",
        nargs="+",
        default=[],
        metavar="CLASS",
        help="the classes of modules to keep in float",
    )
    parser.add_argument(
        "--float-layers",
        nargs="+",
        default=[],
        metavar="LAYER",
        help="the names of layers to keep in float, as the reports print them",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="print how much the outputs of each layer differ from the float program",
    )
    parser.add_argument(
        "--sensitivity",
        action="store_true",
        help="rank the layers by the error that quantization of this layer alone causes",
    )
    parser.add_argument(
        "--min-snr",
        type=float,
        metavar="DB",
        help="keep the most sensitive layers in float, as few as possible, so that the outputs reach this "
        "signal-to-noise ratio",
    )
    parser.add_argument(
        "--floor",
        type=float,
        default=10.0,
        metavar="DB",
        help="the report names the first layer below this signal-to-noise ratio (default: 10)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write the report as an HTML page with plots"
    )
    add_library_option(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Quantizes and compiles the model, and writes the files. If this fails, no incomplete file is left."""
    with rushlight.show_progress():
        printed = _run(options)
    print(printed)


def _run(options: argparse.Namespace) -> str:
    """Does the work of `run`, and returns the text to print."""
    if options.html is not None and not (options.report or options.sensitivity):
        raise InvalidArgumentError("--html: there is no report to write; add --report or --sensitivity")
    check_output(options.output)
    check_folder("--html", options.html)
    check_folder("--etrecord", options.etrecord)
    load_libraries(options)
    backends = partitioners(options)
    quantize = _quantize_package()
    import torch

    from rushlight.frontend.diagnosis import plain_words
    from rushlight.quantize.tables import page

    name, model, example = load_model(options.factory)
    quantizer = _quantizer(options)
    data = _data(options.data, example)
    with plain_words(model if isinstance(model, torch.nn.Module) else None):
        program = quantize.export_float(model, example)
    facts: JsonObject = {}
    sections: list[tuple[str, str | Table]] = []
    lines: list[str] = []
    left: list[str] = list(options.float_layers)

    if options.sensitivity or options.min_snr is not None:
        found = quantize.sensitivity(program, None, quantizer, data)
        facts["sensitivity"] = found.to_dict()
        if options.sensitivity:
            lines += [found.text(), ""]
            sections += found.sections()
    if options.min_snr is None:
        quantized = quantize.quantize(program, example, quantizer, data or None)
    else:
        chosen = quantize.hybrid(program, example, quantizer, data, min_snr_db=options.min_snr, found=found)
        quantized, left = chosen.program, left + chosen.left
    has_record = options.etrecord is not None
    compiled = rushlight.compile(quantized, partitioner=backends, generate_etrecord=has_record)
    lines += explanation(options, backends)
    report = None
    if options.report:
        loaded = rushlight.load(compiled.buffer)
        report = quantize.compare(
            program, quantized, data, floor_db=options.floor, also={"compiled, in the runtime": loaded}
        )
        facts["report"] = report.to_dict()
        lines += [report.text(), ""]
        sections = [*report.sections(), *sections]
    if options.html is not None:
        write_file(options.html, page(f"{name}, quantized and float", sections))
    output = options.output or Path(f"{name}-{'quantized' if options.quantizer else options.config}.pte")
    compiled.save(output)
    if has_record:
        compiled.get_etrecord().save(options.etrecord)
    if left:
        lines.append(f"layers in float: {', '.join(left)}")
    lines.append(f"{output}: {size_text(output.stat().st_size)}")
    facts |= {"file": str(output), "bytes": output.stat().st_size, "float": left}
    if has_record:
        facts["etrecord"] = str(options.etrecord)
    return json.dumps(facts, indent=2) if options.json else "\n".join(lines)


def _quantize_package() -> ModuleType:
    """Imports rushlight.quantize, which needs torch."""
    try:
        from rushlight import quantize
    except ModuleNotFoundError as error:
        if error.name in ("torch", "torchao"):
            raise ImportError("rushlight quantize needs torch: pip install 'rushlight[compile]'") from error
        raise
    return quantize


def _quantizer(options: argparse.Namespace) -> Quantizer:
    from rushlight.quantize import ExcludeFromQuantization

    if options.quantizer is not None:
        quantizer = load_function(options.quantizer)[1]()
    else:
        quantizer = _built_in(options)
    if options.float_layers or options.float_modules or options.float_types:
        return ExcludeFromQuantization(
            quantizer, options.float_layers, modules=options.float_modules, types=options.float_types
        )
    return quantizer


def _built_in(options: argparse.Namespace) -> PatternQuantizer:
    from rushlight import quantize
    from rushlight.backends.cpu.quantizer import CpuQuantizer
    from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer

    make: Callable[..., Any] = getattr(quantize, options.config)
    if options.group_size is not None and options.config not in _GROUPED:
        raise InvalidArgumentError(
            f"--group-size: {options.config} has no groups; use --config {' or '.join(_GROUPED)}"
        )
    if options.by_inputs and options.config != "weight_only_int4":
        raise InvalidArgumentError(
            f"--by-inputs: {options.config} does not support this option; use --config weight_only_int4"
        )
    if options.group_size is not None and options.group_size < 1:
        raise InvalidArgumentError(f"--group-size {options.group_size}: a group needs at least one weight")
    if options.config == "static_int16" and options.backend == "xnnpack":
        raise InvalidArgumentError(
            "--config static_int16: XNNPACK supports only 8-bit activations; use --backend cpu"
        )
    settings: dict[str, object] = {} if options.group_size is None else {"group_size": options.group_size}
    if options.by_inputs:
        settings["by_inputs"] = True
    config = make(**settings)
    return (XNNPACKQuantizer if options.backend == "xnnpack" else CpuQuantizer)().set_global(config)


def _data(sources: list[str], example: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Returns the input tuples of the data sources; the list is empty if there are no sources."""
    import torch

    if not sources:
        return []
    if not all(source.endswith(".npy") for source in sources):
        if len(sources) != 1:
            raise InvalidArgumentError("--data: give one FILE.py:FUNCTION, or a .npy file for each input")
        items = [
            item if isinstance(item, (tuple, list)) else (item,) for item in load_function(sources[0])[1]()
        ]
        return [tuple(item) for item in items]
    arrays = [load_array(source) for source in sources]
    if len(arrays) != len(example):
        raise InvalidArgumentError(
            f"--data: {count_text(len(arrays), 'file')} given for a model with "
            f"{count_text(len(example), 'input')}; give one .npy file for each input"
        )
    counts = {len(array) for array in arrays}
    if len(counts) != 1:
        raise InvalidArgumentError(f"--data: the files have different numbers of samples: {sorted(counts)}")
    batch = int(example[0].shape[0])
    return [
        tuple(torch.from_numpy(array[start : start + batch]) for array in arrays)
        for start in range(0, counts.pop() - batch + 1, batch)
    ]
