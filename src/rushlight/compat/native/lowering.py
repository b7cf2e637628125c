"""`to_native`, which makes a package of exported programs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.compat.native.checks import collect_data_keys, validate_program
from rushlight.compat.native.package import write_ptn
from rushlight.compat.native.partitioner import FURTHER_OPS, unsupported_nodes
from rushlight.compat.native.passes import get_default_compile_config, get_default_passes
from rushlight.compat.native.programs import serialize_program
from rushlight.compat.native.schema import Program
from rushlight.compat.native.tables import deserialize_program
from rushlight.compat.native.values import serialize_operator
from rushlight.compiler.edge import to_edge_transform_and_lower
from rushlight.ir import meta

__all__ = ["NativeProgramManager", "to_native"]


class NativeProgramManager:
    """The methods of a native program, and its tensors.

    Args:
        ptg: the bytes of the program.
        constants: the tensors by data key.
    """

    def __init__(self, ptg: bytes, constants: Mapping[str, torch.Tensor]) -> None:
        self._ptg = ptg
        self._constants = dict(constants)

    @property
    def methods(self) -> set[str]:
        """The names of the methods."""
        return {method.name for method in deserialize_program(self._ptg).methods}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a package (.ptn). A file at the path is replaced atomically.

        Args:
            path: the file. Missing folders are created.

        Raises:
            KeyError: a package cannot contain tensors of the dtype of a constant.
            ValueError: a tensor that the program changes shares memory with another tensor.
            OSError: the file cannot be written; the old file stays.
        """
        write_ptn(path, self._ptg, self._constants, changed_keys(deserialize_program(self._ptg)))


def changed_keys(program: Program) -> frozenset[str]:
    """Returns the keys of the tensors that a method of the program changes."""
    constants = (constant for method in program.methods for constant in method.constants or [])
    return frozenset(constant.data_key for constant in constants if constant.mutated)


def to_native(programs: ExportedProgram | Mapping[str, ExportedProgram]) -> NativeProgramManager:
    """Lowers exported programs to a native program, which ExecuTorch's native backend runs.

    Args:
        programs: one program, which becomes the method `forward`, or several programs by method name. They
            are not changed.

    Returns:
        The manager, whose method `save` writes a package.

    Raises:
        TypeError: `programs` contains something other than exported programs by name.
        ValueError: there is no method, a method name is empty, the native backend does not have an operator
            of a method, or two methods have different parameters of one name. The message names the method,
            and the operators or the parameter.
    """
    methods = _as_methods(programs)
    config = get_default_compile_config()
    config.preserve_ops = list(FURTHER_OPS)
    edge = to_edge_transform_and_lower(methods, transform_passes=get_default_passes(), compile_config=config)
    parts = {}
    for name in methods:
        program = edge.exported_program(name)
        _check_operators(name, program)
        parts[name] = (
            program.graph_module,
            program.graph_signature,
            program.state_dict,
            program.constants,
        )
    ptg, constants = serialize_program(parts)
    check_program(deserialize_program(ptg), constants)
    return NativeProgramManager(ptg, constants)


def _as_methods(programs: Any) -> dict[str, ExportedProgram]:
    if isinstance(programs, ExportedProgram):
        return {"forward": programs}
    if not isinstance(programs, Mapping):
        raise TypeError(
            "programs must be an ExportedProgram, or a dict of ExportedPrograms by method name, not "
            f"{type(programs).__name__}"
        )
    if not programs:
        raise ValueError("programs is empty; give at least one method")
    for name, program in programs.items():
        if not isinstance(name, str):
            raise TypeError(f"every method name must be str, not {type(name).__name__}: {name!r}")
        if not name:
            raise ValueError("method names must be non-empty strings")
        if not isinstance(program, ExportedProgram):
            raise TypeError(f"method {name!r} must map to an ExportedProgram, not {type(program).__name__}")
    return dict(programs)


def _check_operators(method: str, program: ExportedProgram) -> None:
    missing = unsupported_nodes(program.graph_module)
    if missing:
        places = [f"{serialize_operator(node.target)} ({_place_of(node)})" for node in missing]
        raise ValueError(
            f"to_native: method {method!r} did not fully delegate to the native backend, which does not have "
            f"{', '.join(dict.fromkeys(places))}; to_executorch() makes a program (.pte) of the same model"
        )


def _place_of(node: Node) -> str:
    source = meta.source_of(node)
    return f"node {node.name}" if source is None else f"node {node.name}, {source}"


def check_program(program: Program, constants: Mapping[str, torch.Tensor]) -> None:
    """Checks the references of a program, also those to its tensors.

    Args:
        program: the program.
        constants: the tensors by data key.

    Raises:
        ValueError: a reference has no target.
    """
    validate_program(program, constants.keys())
    missing = sorted(collect_data_keys(program) - constants.keys())
    if missing:
        raise ValueError(f"the program refers to tensors that do not exist: {missing}")
