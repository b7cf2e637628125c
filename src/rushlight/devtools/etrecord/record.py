"""The ETRecord of a program: exported, edge and lowered programs, and maps from instructions to nodes.

The file is a zip archive with the same entries as an ETRecord of ExecuTorch. Rushlight and ExecuTorch can
read the files of each other.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import IO, Any, BinaryIO, Protocol, TypeAlias, runtime_checkable

import torch
from torch.export import ExportedProgram

from rushlight.delegate.lowered import get_lowered_submodules
from rushlight.devtools.etrecord.entries import (
    EDGE,
    EXPORTED,
    FINGERPRINT,
    LOWERED,
    Names,
    write_program_entries,
)
from rushlight.files import write_file
from rushlight.format.pte import program_fingerprint
from rushlight.ir.json_types import JsonObject
from rushlight.ir.program import copy_program

Target: TypeAlias = "str | os.PathLike[str] | BinaryIO | IO[bytes]"


@runtime_checkable
class EdgeManager(Protocol):
    """The part of the interface of an edge program manager that an ETRecord uses."""

    _edge_programs: dict[str, ExportedProgram]

    @property
    def methods(self) -> set[str]:
        """The names of the methods."""

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """Returns the program of a method.

        Args:
            method_name: the name of the method.

        Returns:
            The edge program.
        """


class ProgramManager(Protocol):
    """The part of the interface of an ExecuTorch program manager that an ETRecord uses."""

    @property
    def debug_handle_map(self) -> JsonObject:
        """The debug handles by method and instruction."""

    @property
    def delegate_map(self) -> JsonObject:
        """The backend name and debug handle map of delegate calls, by method and instruction."""

    @property
    def instruction_id_to_num_outs_map(self) -> JsonObject:
        """The number of results of delegate calls, by method and instruction."""


class Bundle(Protocol):
    """The part of the interface of a bundled program that an ETRecord uses."""

    @property
    def executorch_program(self) -> Any:
        """The manager of the program."""

    @property
    def method_test_suites(self) -> Sequence[Any]:
        """The inputs and expected outputs of each method."""


class ETRecord:
    """The information of the compiler about a program, for the developer tools.

    `to_edge` and `to_edge_transform_and_lower` create an ETRecord if `generate_etrecord` is True, and
    `ExecutorchProgramManager.get_etrecord` returns it. The methods whose names begin with `add_` add parts
    from program managers.

    Args:
        exported_program: the program of torch.export for the method `forward`, or None.
        export_graph_id: the id of the graph of `exported_program`. The origins of edge nodes refer to it.
        edge_dialect_program: the edge program before lowering; a dict by method if there are several methods.
        graph_map: other programs by "name/method". Lowered programs have the keys "lowered/<method>".
        _debug_handle_map: the debug handles by method and instruction index.
        _delegate_map: the backend and the debug handles of delegate calls, by method and instruction index.
        _instruction_id_to_num_outs_map: the number of outputs by method and instruction index.
        _reference_outputs: the expected outputs of each test case, by method.
        _representative_inputs: the inputs of `forward`.
    """

    def __init__(
        self,
        exported_program: ExportedProgram | None = None,
        export_graph_id: int | None = None,
        edge_dialect_program: ExportedProgram | dict[str, ExportedProgram] | None = None,
        graph_map: dict[str, ExportedProgram] | None = None,
        _debug_handle_map: JsonObject | None = None,
        _delegate_map: JsonObject | None = None,
        _instruction_id_to_num_outs_map: JsonObject | None = None,
        _reference_outputs: dict[str, list[Any]] | None = None,
        _representative_inputs: list[Any] | None = None,
    ) -> None:
        """Stores the given parts. The `add_` methods add parts from program managers."""
        self.exported_program = exported_program
        self.export_graph_id = export_graph_id
        self.edge_dialect_program = edge_dialect_program
        self.graph_map = graph_map
        self._debug_handle_map = _debug_handle_map
        self._delegate_map = _delegate_map
        self._instruction_id_to_num_outs_map = _instruction_id_to_num_outs_map
        self._reference_outputs = _reference_outputs
        self._representative_inputs = _representative_inputs
        self.path: str | None = None
        self._program: Any = None  # the manager or bundled program, from which the fingerprint is computed
        self._fingerprint = 0

    @property
    def edge_programs(self) -> dict[str, ExportedProgram]:
        """The edge programs by method."""
        edge = self.edge_dialect_program
        if isinstance(edge, ExportedProgram):
            methods = list(self._debug_handle_map or ("forward",))
            return {methods[0] if len(methods) == 1 else "forward": edge}
        return dict(edge or {})

    def exported_of(self, method: str) -> ExportedProgram | None:
        """Returns the program of torch.export for a method.

        Args:
            method: the name of the method.

        Returns:
            The program, or None if the ETRecord does not have it.
        """
        found = (self.graph_map or {}).get(f"{EXPORTED}/{method}")
        if found is None and (method == "forward" or len(self.edge_programs) == 1):
            found = self.exported_program
        return found

    def lowered_of(self, method: str) -> ExportedProgram | None:
        """Returns the edge program of a method with its delegate calls.

        Args:
            method: the name of the method.

        Returns:
            The program, or None if nothing was lowered.
        """
        return (self.graph_map or {}).get(f"{LOWERED}/{method}")

    def handles_of(self, method: str) -> dict[int, tuple[int, ...]]:
        """Returns the debug handles of each instruction of a method.

        Args:
            method: the name of the method.

        Returns:
            The debug handles by instruction index. A delegate call has the handles of all its operators. The
            dict is empty if the ETRecord has no debug handles for the method.
        """
        found = (self._debug_handle_map or {}).get(method, {})
        return {int(index): as_handles(handles) for index, handles in found.items()}

    def delegates_of(self, method: str) -> dict[int, tuple[str, dict[str, tuple[int, ...]]]]:
        """Returns the delegate calls of a method.

        Args:
            method: the name of the method.

        Returns:
            The name of the backend, and a dict from the identifiers of steps to debug handles, by instruction
            index. The dict is empty if the ETRecord has no delegate calls of the method.
        """
        found = (self._delegate_map or {}).get(method, {})
        return {
            int(index): (
                str(entry.get("name", "")),
                {str(key): as_handles(value) for key, value in (entry.get("delegate_map") or {}).items()},
            )
            for index, entry in found.items()
        }

    @property
    def program_fingerprint(self) -> int:
        """The `rushlight.format.pte.program_fingerprint` of the program file; 0 if it is unknown."""
        if not self._fingerprint and self._program is not None:
            self._fingerprint = program_fingerprint(self._program.buffer)
        return self._fingerprint

    def forget_program(self) -> None:
        """Removes the fingerprint. The ETRecord then fits programs with other weights, for example."""
        self._program, self._fingerprint = None, 0

    def add_exported_program(self, exported_program: Any) -> None:
        """Adds programs of torch.export.

        Args:
            exported_program: one program, or a dict by method name; None adds nothing.

        Raises:
            RuntimeError: the ETRecord already has an exported program.
        """
        if self.exported_program is not None or self.export_graph_id is not None:
            raise RuntimeError("Exported program already exists in the ETRecord; make a new record instead")
        if isinstance(exported_program, Mapping):
            if len(exported_program) > 1:
                graphs = {f"{EXPORTED}/{name}": program for name, program in exported_program.items()}
                self.graph_map = {**(self.graph_map or {}), **graphs}
            only = next(iter(exported_program.values())) if len(exported_program) == 1 else None
            exported_program = exported_program.get("forward", only)
        if exported_program is not None:
            self.exported_program = exported_program
            self.export_graph_id = id(exported_program.graph)

    def add_edge_dialect_program(self, edge_dialect_program: EdgeManager) -> None:
        """Adds copies of the edge programs of a manager. The copies share their tensors with the originals.

        If `install_as_executorch()` was called, `to_executorch` replaces the programs of a manager by planned
        programs, as in ExecuTorch. To add the edge programs afterwards, pass a copy of the manager that was
        made before `to_executorch`.

        Args:
            edge_dialect_program: the manager that `to_edge` returned.

        Raises:
            RuntimeError: the ETRecord already has edge programs, or the argument is not an edge program
                manager.
        """
        if self.edge_dialect_program is not None:
            raise RuntimeError(
                "Edge dialect program already exists in the ETRecord; make a new record instead"
            )
        if not isinstance(edge_dialect_program, EdgeManager):
            raise RuntimeError(
                f"Unsupported type of edge_dialect_program: {type(edge_dialect_program)}; pass the "
                "manager that to_edge() returned"
            )
        programs = {
            name: copy_program(edge_dialect_program.exported_program(name))
            for name in sorted(edge_dialect_program.methods)
        }
        self.edge_dialect_program = next(iter(programs.values())) if len(programs) == 1 else {**programs}

    def add_lowered_programs(self, programs: Mapping[str, ExportedProgram]) -> None:
        """Adds the programs that call lowered modules. Programs without delegate calls are not added.

        Args:
            programs: the edge programs after lowering, by method name. They are not copied.
        """
        graphs = {
            f"{LOWERED}/{name}": program
            for name, program in programs.items()
            if get_lowered_submodules(program.graph_module)
        }
        if graphs:
            self.graph_map = {**(self.graph_map or {}), **graphs}

    def add_extra_export_modules(self, extra_recorded_export_modules: Mapping[str, object]) -> None:
        """Adds other programs.

        Args:
            extra_recorded_export_modules: programs, or managers of edge programs, by name.

        Raises:
            RuntimeError: a name is reserved, or a value has another type.
        """
        graphs = dict(self.graph_map or {})
        for name, module in extra_recorded_export_modules.items():
            if any(reserved.value in name for reserved in Names):
                raise RuntimeError(f"The name {name} is a reserved name in the ETRecord; choose another one")
            if isinstance(module, ExportedProgram):
                graphs[f"{name}/forward"] = module
            elif isinstance(module, EdgeManager):
                graphs |= {
                    f"{name}/{method}": program for method, program in sorted(module._edge_programs.items())
                }
            else:
                raise RuntimeError(
                    f"Unsupported graph module type {type(module)} of {name!r}; pass an ExportedProgram or "
                    "an EdgeProgramManager"
                )
        self.graph_map = graphs

    def add_executorch_program(self, executorch_program: Any) -> None:
        """Adds the maps of a program file: debug handles, delegates, and numbers of results.

        Args:
            executorch_program: the manager that `to_executorch` returned, or a bundled program. The inputs
                and expected outputs of a bundled program are added too.

        Raises:
            RuntimeError: the ETRecord already has these maps.
        """
        present = (
            self._debug_handle_map,
            self._delegate_map,
            self._instruction_id_to_num_outs_map,
            self._reference_outputs,
            self._representative_inputs,
        )
        if any(part is not None for part in present):
            raise RuntimeError(
                "Executorch program data already exists in the ETRecord; make a new record instead"
            )
        manager: ProgramManager = executorch_program
        if hasattr(executorch_program, "method_test_suites"):
            manager = executorch_program.executorch_program
            self._reference_outputs = reference_outputs_of(executorch_program)
            self._representative_inputs = representative_inputs_of(executorch_program)
        self._program = manager if hasattr(manager, "buffer") else None
        self._debug_handle_map = manager.debug_handle_map
        self._delegate_map = manager.delegate_map
        self._instruction_id_to_num_outs_map = manager.instruction_id_to_num_outs_map

    def update_representative_inputs(self, representative_inputs: Sequence[object] | Bundle) -> None:
        """Sets the inputs of `forward`.

        Args:
            representative_inputs: a list of inputs; or a bundled program, whose first test case of `forward`
                provides the inputs.

        Raises:
            ValueError: the bundled program has a method `forward` without test cases.
        """
        bundle: Any = representative_inputs
        is_bundle = hasattr(bundle, "method_test_suites")
        self._representative_inputs = representative_inputs_of(bundle) if is_bundle else bundle

    def update_reference_outputs(
        self, reference_outputs: Mapping[str, Sequence[object]] | Sequence[object] | Bundle
    ) -> None:
        """Sets the expected outputs.

        Args:
            reference_outputs: a dict from method name to a list with the outputs of each test case; only this
                list for the method `forward`; or a bundled program.

        Raises:
            ValueError: a test case of the bundled program has no expected outputs.
        """
        given: Any = reference_outputs
        if hasattr(given, "method_test_suites"):
            given = reference_outputs_of(given)
        self._reference_outputs = {"forward": given} if isinstance(given, list) else given

    def copy(self) -> ETRecord:
        """Returns an ETRecord with the same programs, but without the maps of a program file."""
        return ETRecord(
            self.exported_program,
            self.export_graph_id,
            self.edge_dialect_program,
            None if self.graph_map is None else dict(self.graph_map),
        )

    def save(self, path: Target) -> None:
        """Writes the ETRecord to a file. If writing fails, no incomplete file is left.

        Args:
            path: the path of the file, or an open binary file.

        Raises:
            RuntimeError: the ETRecord lacks the edge program, or the maps of the program file.
            DevtoolsError: a program has a part that the file format does not support.
        """
        if self.edge_dialect_program is None or self._debug_handle_map is None:
            raise RuntimeError(
                "ETRecord must contain edge dialect program and executorch program to be saved; add them "
                "with add_edge_dialect_program and add_executorch_program"
            )
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(Names.ETRECORD_IDENTIFIER.value, "")
            self._write_programs(archive)
            self._write_maps(archive)
            # ExecuTorch treats unknown entries as programs, but ignores the comment.
            archive.comment = json.dumps({FINGERPRINT: self.program_fingerprint}).encode()
        if isinstance(path, (str, os.PathLike)):
            write_file(os.fspath(path), buffer.getvalue())
        else:
            path.write(buffer.getvalue())

    def _write_programs(self, archive: zipfile.ZipFile) -> None:
        if self.exported_program is not None:
            write_program_entries(archive, Names.EXPORTED_PROGRAM.value, self.exported_program)
        for method, program in self.edge_programs.items():
            write_program_entries(archive, f"{EDGE}{method}", program)
        for name, program in (self.graph_map or {}).items():
            write_program_entries(archive, name if "/" in name else f"{name}/forward", program)

    def _write_maps(self, archive: zipfile.ZipFile) -> None:
        for name, value in (
            (Names.DEBUG_HANDLE_MAP_NAME, self._debug_handle_map),
            (Names.DELEGATE_MAP_NAME, self._delegate_map),
            (Names.INSTRUCTION_ID_TO_NUM_OUTS_MAP_NAME, self._instruction_id_to_num_outs_map),
            (Names.EXPORT_GRAPH_ID, self.export_graph_id),
        ):
            if value is not None:
                archive.writestr(name.value, json.dumps(value))
        for name, tensors in (
            (Names.REFERENCE_OUTPUTS, self._reference_outputs),
            (Names.REPRESENTATIVE_INPUTS, self._representative_inputs),
        ):
            if tensors is not None:
                saved = io.BytesIO()
                torch.save(tensors, saved)
                archive.writestr(name.value, saved.getvalue())


def as_handles(handles: Any) -> tuple[int, ...]:
    """Returns debug handles as a tuple.

    Args:
        handles: a debug handle, a (nested) sequence of handles, or None.

    Returns:
        All handles in order; an empty tuple for None.
    """
    if handles is None:
        return ()
    if isinstance(handles, int):
        return (handles,)
    return tuple(handle for item in handles for handle in as_handles(item))


def generate_etrecord(
    et_record: Target,
    edge_dialect_program: EdgeManager,
    executorch_program: object,
    exported_program: object = None,
    extra_recorded_export_modules: Mapping[str, object] | None = None,
) -> None:
    """Writes an ETRecord for the given programs.

    Args:
        et_record: the path of the file, or an open binary file.
        edge_dialect_program: the manager that `to_edge` returned, before lowering.
        executorch_program: the manager that `to_executorch` returned, or a bundled program.
        exported_program: a program of torch.export, or a dict of such programs by method.
        extra_recorded_export_modules: other programs or managers of edge programs, by name.

    Raises:
        RuntimeError: an argument has an unsupported type.
        DevtoolsError: a program has a part that the file format does not support.
    """
    record = ETRecord()
    record.add_exported_program(exported_program)
    record.add_edge_dialect_program(edge_dialect_program)
    record.add_executorch_program(executorch_program)
    if extra_recorded_export_modules is not None:
        record.add_extra_export_modules(extra_recorded_export_modules)
    record.save(et_record)


def reference_outputs_of(bundle: Bundle) -> dict[str, list[Any]]:
    """Returns the expected outputs of each test case of a bundled program, by method.

    Args:
        bundle: the bundled program.

    Returns:
        A dict from method name to a list with an item for each test case.

    Raises:
        ValueError: a test case has no expected outputs.
    """
    found = {}
    for suite in bundle.method_test_suites:
        for case in suite.test_cases:
            if not case.expected_outputs:
                raise ValueError(f"a test case of method {suite.method_name} has no expected outputs")
        found[suite.method_name] = [case.expected_outputs for case in suite.test_cases]
    return found


def representative_inputs_of(bundle: Bundle) -> list[object] | None:
    """Returns the inputs of the first test case of `forward`.

    Args:
        bundle: the bundled program.

    Returns:
        The inputs, or None if the bundle has no method `forward`.

    Raises:
        ValueError: the method `forward` has no test case.
    """
    for suite in bundle.method_test_suites:
        if suite.method_name == "forward":
            if not suite.test_cases:
                raise ValueError(
                    "the method 'forward' of the bundled program has no test case, which would provide the "
                    "inputs"
                )
            inputs: list[object] = suite.test_cases[0].inputs
            return inputs
    return None
