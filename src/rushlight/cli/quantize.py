"""`rushlight quantize`: quantizes and compiles a model, and reports its accuracy."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
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
from rushlight.cli.backends import add_backend_options, add_explain_option, explanation, partitioners
from rushlight.cli.factory import load_function, load_model
from rushlight.files import write_file
from rushlight.ir.json_types import JsonObject
from rushlight.runtime.errors import InvalidArgumentError

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torchao.quantization.pt2e.quantizer import Quantizer

    from rushlight.api import CompiledProgram
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
# The configurations in which groups of weights share a scale.
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
        help="the function that returns the model, also as package.module:FACTORY; or a .pt2 file that "
        "torch.export.save wrote",
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
    _add_configuration_options(parser)
    add_backend_options(parser)
    add_explain_option(parser)
    parser.add_argument(
        "--quantizer", metavar="FILE.py:FUNCTION", help="a function that returns a quantizer of your own"
    )
    _add_float_options(parser)
    _add_report_options(parser)
    add_library_option(parser)
    parser.set_defaults(command=run)


def _add_configuration_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the quantization configuration."""
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


def _add_float_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that keep parts of the model in float."""
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


def _add_report_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for reports on the accuracy, and for their format."""
    parser.add_argument(
        "--report",
        action="store_true",
        help="print how much the outputs of each layer differ from the float program",
    )
    parser.add_argument(
        "--sensitivity",
        action="store_true",
        help="rank the layers by the error of the outputs if only this layer is quantized",
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


def run(options: argparse.Namespace) -> None:
    """Quantizes and compiles the model, and writes the files. If this fails, no incomplete file is left."""
    with rushlight.show_progress():
        output = _run(options)
    print(json.dumps(output.facts, indent=2) if options.json else "\n".join(output.lines))


@dataclass
class _Output:
    """What the command prints and writes about the quantized program.

    Attributes:
        facts: the content of the JSON output.
        lines: the lines of the text output.
        sections: the title and the table or text of each section of the HTML page.
    """

    facts: JsonObject = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    sections: list[tuple[str, str | Table]] = field(default_factory=list)


@dataclass
class _Job:
    """What is quantized, and how.

    Attributes:
        package: rushlight.quantize.
        program: the model in float.
        example: the example inputs.
        quantizer: the quantizer.
        data: representative inputs; empty if there are none.
    """

    package: ModuleType
    program: ExportedProgram
    example: tuple[Any, ...]
    quantizer: Quantizer
    data: list[tuple[Any, ...]]


def _run(options: argparse.Namespace) -> _Output:
    """Does the work of `run`, and returns what it prints."""
    _check_options(options)
    load_libraries(options)
    backends = partitioners(options)
    quantize = _quantize_package()
    import torch

    from rushlight.frontend.diagnosis import plain_words
    from rushlight.quantize.tables import page

    name, model, example = load_model(options.factory)
    quantizer = _quantizer(options)
    if not options.data:
        _check_no_data(options)
    data = _data(options.data, example)
    with plain_words(model if isinstance(model, torch.nn.Module) else None):
        program = quantize.export_float(model, example)
    job, output = _Job(quantize, program, example, quantizer, data), _Output()
    quantized, float_layers = _quantized(job, options, output)
    compiled = rushlight.compile(
        quantized, partitioner=backends, generate_etrecord=options.etrecord is not None
    )
    output.lines += explanation(options, backends)
    if options.report:
        _add_report(job, quantized, compiled, options.floor, output)
    if options.html is not None:
        write_file(options.html, page(f"{name}, quantized and float", output.sections))
    path = options.output or Path(f"{name}-{'quantized' if options.quantizer else options.config}.pte")
    _save(compiled, path, options.etrecord, float_layers, output)
    return output


def _quantized(job: _Job, options: argparse.Namespace, output: _Output) -> tuple[ExportedProgram, list[str]]:
    """Quantizes the model, and adds the sensitivity of its layers to the output if an option needs it.

    Returns:
        The quantized program, and the names of the layers that stay in float.
    """
    package, layers = job.package, list(options.float_layers)
    if options.sensitivity or options.min_snr is not None:
        found = package.sensitivity(job.program, None, job.quantizer, job.data)
        output.facts["sensitivity"] = found.to_dict()
        if options.sensitivity:
            output.lines += [found.text(), ""]
            output.sections += found.sections()
    if options.min_snr is None:
        return package.quantize(job.program, job.example, job.quantizer, job.data or None), layers
    chosen = package.hybrid(
        job.program, job.example, job.quantizer, job.data, min_snr_db=options.min_snr, found=found
    )
    return chosen.program, layers + chosen.left


def _add_report(
    job: _Job, quantized: ExportedProgram, compiled: CompiledProgram, floor: float, output: _Output
) -> None:
    """Compares the quantized layers with those of the model, and adds the report to the output."""
    also = {"compiled, in the runtime": rushlight.load(compiled.buffer)}
    report = job.package.compare(job.program, quantized, job.data, floor_db=floor, also=also)
    output.facts["report"] = report.to_dict()
    output.lines += [report.text(), ""]
    output.sections = [*report.sections(), *output.sections]


def _check_options(options: argparse.Namespace) -> None:
    """Checks the options for output files before long work starts."""
    if options.html is not None and not (options.report or options.sensitivity):
        raise InvalidArgumentError("--html: there is no report to write; add --report or --sensitivity")
    check_output(options.output)
    check_folder("--html", options.html)
    check_folder("--etrecord", options.etrecord)


def _check_no_data(options: argparse.Namespace) -> None:
    """Refuses options that need data."""
    given = {
        "--report": options.report,
        "--sensitivity": options.sensitivity,
        "--by-inputs": options.by_inputs,
    }
    wanted = [name for name, is_given in given.items() if is_given]
    if options.min_snr is not None:
        wanted.append("--min-snr")
    if options.quantizer is None and options.config.startswith("static"):
        wanted.append(f"--config {options.config}")
    if wanted:
        raise InvalidArgumentError(
            f"no data was given, but {' and '.join(wanted)} {'needs' if len(wanted) == 1 else 'need'} "
            "representative inputs: give --data; a dynamic or weight-only --config needs no data"
        )


def _save(
    compiled: CompiledProgram, path: Path, record_path: Path | None, float_layers: list[str], output: _Output
) -> None:
    """Saves the program and its ETRecord, and adds the files and the layers in float to the output.

    Args:
        compiled: the quantized program.
        path: the path of the .pte file.
        record_path: the path of the ETRecord; None to write none.
        float_layers: the names of the layers that stay in float.
        output: gets the paths and the size.
    """
    compiled.save(path)
    if record_path is not None:
        compiled.get_etrecord().save(record_path)
    size = path.stat().st_size
    if float_layers:
        output.lines.append(f"layers in float: {', '.join(float_layers)}")
    output.lines.append(f"{path}: {size_text(size)}")
    output.facts |= {"file": str(path), "bytes": size, "float": float_layers}
    if record_path is not None:
        output.facts["etrecord"] = str(record_path)


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
        quantizer = _built_in_quantizer(options)
    if options.float_layers or options.float_modules or options.float_types:
        return ExcludeFromQuantization(
            quantizer, options.float_layers, modules=options.float_modules, types=options.float_types
        )
    return quantizer


def _built_in_quantizer(options: argparse.Namespace) -> PatternQuantizer:
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
    """Returns the inputs of each call for calibration and reports; none if there are no sources.

    Samples of .npy files are divided into batches of the size of the example inputs. The remaining samples,
    which do not fill a batch, are not used.

    Args:
        sources: the values of --data.
        example: the example inputs of the model. The first dimension of the first input is the batch.
    """
    import torch

    if not sources:
        return []
    if not all(source.endswith(".npy") for source in sources):
        if len(sources) != 1:
            raise InvalidArgumentError("--data: give one FILE.py:FUNCTION, or a .npy file for each input")
        name, function = load_function(sources[0])
        made = function()
        if not isinstance(made, Iterable):
            raise InvalidArgumentError(
                f"--data: {name}() must return several tensors or tuples of tensors, not "
                f"{type(made).__name__}"
            )
        return [tuple(item) if isinstance(item, (tuple, list)) else (item,) for item in made]
    arrays = [load_array(source) for source in sources]
    if len(arrays) != len(example):
        raise InvalidArgumentError(
            f"--data: {count_text(len(arrays), 'file')} given for a model with "
            f"{count_text(len(example), 'input')}; give one .npy file for each input"
        )
    counts = {len(array) for array in arrays}
    if len(counts) != 1:
        raise InvalidArgumentError(f"--data: the files have different numbers of samples: {sorted(counts)}")
    batch = int(example[0].shape[0]) if isinstance(example[0], torch.Tensor) and example[0].dim() else 1
    return [
        tuple(torch.from_numpy(array[start : start + batch]) for array in arrays)
        for start in range(0, counts.pop() - batch + 1, batch)
    ]
