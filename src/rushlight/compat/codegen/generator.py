"""The command `executorch.codegen.gen`: generates C++ sources of a library from YAML files of kernels."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rushlight.compat.codegen.operator_lists import FLAG, OPTIONAL, add_options
from rushlight.select.kernel_index import KernelIndex, read_kernels, selected_names
from rushlight.select.kernel_sources import MANUAL_HEADER, declarations, registration, torch_library
from rushlight.select.kernels_yaml import write_if_changed
from rushlight.select.signatures import parse_schema
from rushlight.select.usage import Usage, read_usage, read_yaml

REGISTRATION = "RegisterCodegenUnboxedKernelsEverything.cpp"
_REFUSED = {
    "use_aten_lib": "the kernels of Rushlight's runtime take the runtime's tensors, not ATen's",
    "add_exception_boundary": "a kernel must not throw, because the runtime is built without exceptions",
    "static_dispatch_backend": "the runtime chooses kernels when it loads a method",
    "rocm": "the runtime has kernels for CPUs only",
}
_LIST: Mapping[str, Any] = {"nargs": "*"}
_PARTS = ("headers", "sources")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command.

    Args:
        arguments: the arguments; None means those of the process. `-s`, `--source-path` and `--tags-path` may
            name files of PyTorch's and ExecuTorch's generators, which are not read.

    Raises:
        SystemExit: an option is not valid, or Rushlight does not support it.
        ValueError: a file is not valid.
        OSError: a file cannot be read or written.
    """
    options = _read(arguments)
    index = read_kernels(_path(options.functions_yaml_path), _path(options.custom_ops_yaml_path))
    if options.aten_yaml_path:
        _add_signatures(index, Path(options.aten_yaml_path))
    names = _selected(index, options)
    texts = _texts(index, names, options)
    folder = Path(options.install_dir)
    if not options.dry_run:
        for name, text in texts.items():
            write_if_changed(folder / name, text)
    if options.output_dependencies:
        _write_dependencies(Path(options.output_dependencies), [folder / name for name in texts])


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m executorch.codegen.gen", description=__doc__)
    parser.add_argument("-s", "--source-path", "--source_path", help="not read: there are no templates")
    parser.add_argument("--tags-path", "--tags_path", help="not read: kernels do not depend on tags")
    parser.add_argument("-d", "--install-dir", "--install_dir", default="build/generated")
    parser.add_argument("-o", "--output-dependencies", "--output_dependencies", help="a CMake file to write")
    parser.add_argument("--dry-run", "--dry_run", action="store_true", help="write only the dependencies")
    parser.add_argument("--generate", nargs="*", choices=_PARTS, default=_PARTS)
    add_options(
        parser,
        functions_yaml_path=OPTIONAL,
        custom_ops_yaml_path=OPTIONAL,
        aten_yaml_path={"help": "signatures of ATen operators; PyTorch has the others"},
        op_selection_yaml_path={"help": "selected_operators.yaml"},
        op_registration_whitelist={**_LIST, "help": "the operators to register, without overloads"},
        manual_registration=FLAG,
        use_aten_lib=FLAG,
        add_exception_boundary=FLAG,
        static_dispatch_backend=_LIST,
        rocm=FLAG,
    )
    options = parser.parse_args(arguments)
    for name, reason in _REFUSED.items():
        if getattr(options, name):
            parser.error(f"--{name.replace('_', '-')} is not available: {reason}")
    if not options.functions_yaml_path and not options.custom_ops_yaml_path:
        parser.error("--functions-yaml-path or --custom-ops-yaml-path is needed")
    return options


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _add_signatures(index: KernelIndex, path: Path) -> None:
    """Adds the signatures in a file such as `native_functions.yaml` to an index that has their kernels."""
    for entry in read_yaml(path) or ():
        text: str = entry["func"]
        name = text.partition("(")[0]
        name = name if "::" in name else f"aten::{name}"
        if name in index.kernels and name not in index.schemas:
            index.schemas[name] = parse_schema(text)


def _selected(index: KernelIndex, options: argparse.Namespace) -> list[str]:
    """Returns the operators to register, sorted."""
    path = _path(options.op_selection_yaml_path)
    usage = read_usage(path) if path else Usage(every_operator=True)
    names = selected_names(index, usage)
    allowed = options.op_registration_whitelist
    if allowed is not None:
        names = [name for name in names if name.partition(".")[0] in allowed]
    if not names:
        raise ValueError("the YAML files and the selection have no operators")
    return names


def _texts(index: KernelIndex, names: Sequence[str], options: argparse.Namespace) -> dict[str, str]:
    """Returns the texts of the files by name."""
    texts = {}
    if "headers" in options.generate:
        texts["NativeFunctions.h"] = declarations(index, names)
        if options.manual_registration:
            texts["RegisterKernels.h"] = MANUAL_HEADER
    if "sources" in options.generate:
        quantized = any(name.startswith("quantized_decomposed::") for name in names)
        tables = ("quantized", "portable") if quantized else ("portable",)
        texts[REGISTRATION] = registration(
            index, names, tables, Path(options.install_dir).name, options.manual_registration
        )
        custom = read_kernels(None, _path(options.custom_ops_yaml_path))
        callable_from_torch = [n for n in names if any(k.function for k in custom.kernels.get(n, ()))]
        if callable_from_torch:
            texts["RegisterCPUCustomOps.cpp"] = torch_library(custom, callable_from_torch)
    return texts


def _write_dependencies(path: Path, files: Sequence[Path]) -> None:
    """Writes a CMake file that sets a variable, named as the file, to the paths of the generated files."""
    lines = "".join(f'\n    "{file.absolute().as_posix()}"' for file in files)
    write_if_changed(path, f"set({path.stem}{lines})\n")
