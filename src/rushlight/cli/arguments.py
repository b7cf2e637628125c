"""Options that several subcommands share, and functions that read the files which these options name."""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from rushlight.format.pte import refuse_bundled_program
from rushlight.runtime import Method, MethodMeta, Program, Runtime, load_library
from rushlight.runtime.errors import InvalidArgumentError, NotSupportedError

_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_loading_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the data files, the kernel libraries and the threads of a program."""
    parser.add_argument(
        "--data",
        nargs="+",
        default=[],
        metavar="FILE",
        help=".ptd files with the external data of the program (weights outside of the .pte file)",
    )
    add_library_option(parser)
    parser.add_argument(
        "--threads",
        type=at_least(1),
        help="the number of threads (default: RUSHLIGHT_NUM_THREADS, else the number of usable CPU cores)",
    )


def add_program_options(
    parser: argparse.ArgumentParser, default_inputs: str = "tensors filled with ones"
) -> None:
    """Adds the options for a program, its data, the method, threads and inputs.

    Args:
        parser: the parser of the subcommand.
        default_inputs: the inputs without the option --inputs, for the help text.
    """
    parser.add_argument("program", help="a .pte file")
    parser.add_argument("--method", help="the method to run (default: the only method, else forward)")
    add_loading_options(parser)
    parser.add_argument(
        "--inputs",
        nargs="+",
        default=[],
        metavar="VALUE",
        help="values of the inputs: a .npy file; a .npz file, in which each array is an input; "
        "a .png or .jpg file (needs Pillow), which is resized to the input's height and width, with values "
        "from 0 to 1 for a float input and from 0 to 255 for an integer input; or a number, true, false, "
        f'null or "text" as JSON (default: {default_inputs})',
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_library_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option for shared libraries of kernels and backends."""
    parser.add_argument(
        "--kernel-library",
        "--backend-library",
        dest="libraries",
        nargs="+",
        default=[],
        metavar="FILE",
        help="shared libraries of kernels and backends",
    )


def add_output_option(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds the option for the file that a subcommand writes.

    Args:
        parser: the parser of the subcommand.
        default: the default file name that the help text shows.
    """
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help=f"the .pte file (default: {default})"
    )


def add_record_output_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option for the ETRecord that a subcommand writes together with a program."""
    parser.add_argument(
        "--etrecord",
        type=Path,
        metavar="FILE",
        help="also write an ETRecord, which the developer tools need to name source lines of the model",
    )


def check_output(path: Path | None) -> None:
    """Checks the path of an output file before long work starts.

    Raises:
        InvalidArgumentError: the path does not end with .pte, is a folder, or its folder does not exist.
    """
    if path is not None and path.suffix != ".pte":
        raise InvalidArgumentError(f"--output {path}: the name of a program must end with .pte")
    check_folder("--output", path)


_Number = TypeVar("_Number", int, float)


def at_least(low: _Number) -> Callable[[str], _Number]:
    """Returns an argparse type for numbers of the type of `low` that are not less than `low`."""

    def number(text: str) -> _Number:
        value = type(low)(text)
        if not low <= value:
            raise argparse.ArgumentTypeError(f"{text} is less than {low}")
        return value

    return number


def check_folder(option: str, path: Path | None) -> None:
    """Checks the path of any other output file before long work starts.

    Args:
        option: the option that gives the path, such as "--html".
        path: the path; None if the option is not given.

    Raises:
        InvalidArgumentError: the path is a folder, or its folder does not exist.
    """
    if path is None:
        return
    if path.is_dir():
        raise InvalidArgumentError(f"{option} {path}: this is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InvalidArgumentError(
            f"{option} {path}: the folder {path.parent} does not exist; create it first"
        )


def load_libraries(options: argparse.Namespace) -> None:
    """Loads the kernel and backend libraries that the options name."""
    for path in options.libraries:
        load_library(path)


def check_no_bundled_program(path: Path) -> None:
    """Raises FormatError if the file is a bundled program. A missing file is not an error here."""
    if path.is_file():
        with path.open("rb") as file:
            refuse_bundled_program(path, file.read(8))


def load_program(options: argparse.Namespace, **trace: Any) -> Program:
    """Loads the libraries and then the program that the options name.

    Args:
        options: the parsed options.
        trace: arguments of `Runtime.load_program` for event traces.
    """
    load_libraries(options)
    check_no_bundled_program(Path(options.program))
    return Runtime.get().load_program(
        options.program, data_path=options.data or None, threads=getattr(options, "threads", None), **trace
    )


def load_method(program: Program, options: argparse.Namespace) -> Method:
    """Loads the method that the options choose."""
    return program.load_method(method_name(program.method_names, options))


def method_name(names: set[str], options: argparse.Namespace) -> str:
    """Returns the name of the chosen method: the option --method, else the only method, else "forward".

    Args:
        names: the names of all methods of the program.
        options: the parsed options.
    """
    return options.method or (min(names) if len(names) == 1 else "forward")


def read_inputs(meta: MethodMeta, given: Sequence[str]) -> list[Any]:
    """Reads the values of --inputs.

    Args:
        meta: the metadata of the method.
        given: the values of --inputs; if empty, the inputs are tensors filled with ones.

    Raises:
        InvalidArgumentError: a value is neither a file nor JSON, or no values are given for a method that has
            inputs other than tensors.
        OSError: a file cannot be read.
    """
    if not given:
        return [_ones(meta, index) for index in range(meta.num_inputs())]
    values: list[object] = []
    for text in given:
        values += _read_values(text, meta, len(values))
    return values


def load_array(path: str) -> Any:
    """Reads the array of a .npy file.

    Raises:
        InvalidArgumentError: the file is not a .npy file.
        OSError: the file cannot be read.
    """
    array = _load_arrays(path)
    if isinstance(array, np.ndarray):
        return array
    raise InvalidArgumentError(f"{path!r} is not a .npy file of numbers")


def _load_arrays(path: str) -> np.ndarray | list[np.ndarray]:
    """The array in a .npy file, or all arrays in a .npz file."""
    with open(path, "rb") as file:
        try:
            found = np.load(file, allow_pickle=False)
            return found if isinstance(found, np.ndarray) else [found[name] for name in found.files]
        except Exception:  # numpy raises errors of many types for damaged files
            raise InvalidArgumentError(f"{path!r} is not a .npy or .npz file of numbers") from None


def _read_values(text: str, meta: MethodMeta, index: int) -> list[Any]:
    """The inputs that one value of --inputs gives; `index` is the number of the first of these inputs."""
    path = Path(text)
    if path.suffix.lower() in _IMAGE_SUFFIXES:
        return [_read_image(path, meta, index)]
    if path.suffix in (".npy", ".npz") or path.is_file():
        arrays = _load_arrays(text)
        return arrays if isinstance(arrays, list) else [arrays]
    try:
        return [_for_input(json.loads(text), meta, index)]
    except ValueError:
        raise InvalidArgumentError(
            f'{text!r} is neither a .npy, .npz, .png or .jpg file nor a number, true, false, null or "text"'
        ) from None


def _for_input(value: Any, meta: MethodMeta, index: int) -> Any:
    """Returns a number as an array without dimensions if the input is such a tensor and can hold it."""
    if not isinstance(value, (int, float)) or index >= meta.num_inputs() or meta.input_tag(index) != "Tensor":
        return value
    tensor = meta.input_tensor_meta(index)
    name = tensor.dtype_name()
    is_exact = isinstance(value, bool) == (name == "bool") and (isinstance(value, int) or "float" in name)
    if tensor.sizes() or not is_exact:
        return value
    try:
        return np.array(value, name)
    except (OverflowError, TypeError):  # a number that does not fit, or a dtype that numpy does not have
        return value


def _read_image(path: Path, meta: MethodMeta, index: int) -> Any:
    """Reads an image in the shape of an input: [1, channels, height, width], or without the first dim."""
    try:
        from PIL import Image
    except ImportError:
        raise NotSupportedError(f"{str(path)!r}: images need Pillow: pip install pillow") from None
    where = f"{str(path)!r} is given for input {index} of method {meta.name()!r}"
    if index >= meta.num_inputs() or meta.input_tag(index) != "Tensor":
        raise InvalidArgumentError(f"{where}, which is not a tensor")
    tensor = meta.input_tensor_meta(index)
    sizes, dtype = list(tensor.sizes()), tensor.dtype_name()
    if len(sizes) not in (3, 4) or sizes[-3] not in (1, 3) or 0 in sizes:
        shape = ", ".join(map(str, sizes))
        raise InvalidArgumentError(
            f"{where}, which has the shape [{shape}]: an image needs an input of shape [1, 3, height, "
            "width], or [1, 1, height, width] for grey levels"
        )
    with path.open("rb") as file:
        try:
            with Image.open(file) as image:
                image = image.convert("RGB" if sizes[-3] == 3 else "L").resize((sizes[-1], sizes[-2]))
        except Exception as error:  # Pillow raises errors of many types for damaged files
            reason = str(error) or type(error).__name__
            raise InvalidArgumentError(f"{str(path)!r} is not an image: {reason}") from None
    levels = np.asarray(image).reshape(sizes[-2], sizes[-1], sizes[-3]).transpose(2, 0, 1)
    values = levels if dtype.startswith(("int", "uint")) else levels / np.float32(255)
    return _converted(
        np.ascontiguousarray(values.reshape([1] * (len(sizes) - 3) + list(values.shape))), dtype
    )


def _ones(meta: MethodMeta, index: int) -> Any:
    tag = meta.input_tag(index)
    if tag == "None":
        return None
    if tag != "Tensor":
        raise InvalidArgumentError(
            f"input {index} of method {meta.name()!r} is of type {tag}: give all inputs with --inputs"
        )
    tensor = meta.input_tensor_meta(index)
    return _converted(np.ones(tensor.sizes(), np.float32), tensor.dtype_name())


def _converted(array: np.ndarray, name: str) -> Any:
    """Converts an array to a dtype: an array of numpy or ml_dtypes, else a tensor of torch.

    Raises:
        NotSupportedError: numpy does not have the dtype, and neither ml_dtypes nor torch is installed.
    """
    try:
        return np.asarray(array, name)
    except TypeError:
        pass
    try:
        return array.astype(getattr(importlib.import_module("ml_dtypes"), name))
    except (ImportError, AttributeError):
        pass
    try:
        torch = importlib.import_module("torch")
        return torch.from_numpy(array).to(getattr(torch, name))
    except (ImportError, AttributeError):
        raise NotSupportedError(f"numpy has no dtype {name}: pip install ml_dtypes") from None


def count_text(count: int, noun: str) -> str:
    """Returns a number with a noun, such as "1 step" or "2 steps".

    Args:
        count: the number.
        noun: the singular of a noun whose plural ends in "s".
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def size_text(count: int) -> str:
    """Formats a number of bytes with a decimal unit, such as "1.50 MB"."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.2f} {unit}"
    return f"{count} bytes"


def time_text(seconds: float) -> str:
    """Formats a time with three or more digits and a unit, such as "20.89 us"."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
