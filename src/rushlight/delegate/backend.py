"""The ahead-of-time part of a backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from torch.export import ExportedProgram

from rushlight.delegate.named_data import NamedDataStoreOutput
from rushlight.ir.errors import CompileError
from rushlight.ir.program import copy_program


class BackendNotFoundError(CompileError, NotImplementedError):
    """No imported class derived from `BackendDetails` has the requested name."""


@dataclass
class CompileSpec:
    """An option of a backend, stored with the payload. Options with equal contents are equal.

    Attributes:
        key: the name of the option.
        value: its value, as bytes whose meaning the backend defines.
    """

    key: str
    value: bytes

    def __eq__(self, other: object) -> bool:
        contents = (getattr(other, "key", None), getattr(other, "value", None))
        return type(other).__name__ == "CompileSpec" and contents == (self.key, self.value)


@dataclass
class PreprocessResult:
    """The result of compiling a partition.

    Attributes:
        processed_bytes: the payload, which the run-time part of the backend receives.
        debug_handle_map: debug handles of the edge program by identifiers of the backend (ints or strings).
        data_store_output: the named data that the backend stores besides the payload, or None.
    """

    processed_bytes: bytes = b""
    debug_handle_map: dict[int, tuple[int, ...]] | dict[str, tuple[int, ...]] | None = None
    data_store_output: NamedDataStoreOutput | None = None
    _delegate_info_meta: Any | None = None


class BackendDetails(ABC):
    """Compiles edge programs for one backend.

    The name of the class is the name of the backend. A class of a backend cannot have derived classes.
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for base in cls.__bases__:
            if issubclass(base, BackendDetails) and base is not BackendDetails:
                raise TypeError(f"{base.__name__} is a backend; {cls.__name__} cannot derive from it")

    @classmethod
    def copy_exported_program_for_preprocess(
        cls, edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> ExportedProgram:
        """Copies a program, so that `preprocess` may change it.

        Args:
            edge_program: the partition. It is not changed.
            compile_specs: the options of the partition. The copy does not depend on them; a backend that
                overrides this method may use them.

        Returns:
            A program with a graph of its own. Its weights are the same tensors, which are not copied.
        """
        return copy_program(edge_program)

    @staticmethod
    @abstractmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Compiles one partition.

        Args:
            edge_program: the partition. The delegate's arguments are its user inputs followed by its outputs.
            compile_specs: the options of the partitioner.

        Returns:
            The payload.
        """

    @classmethod
    def preprocess_multimethod(
        cls,
        edge_programs: dict[str, list[ExportedProgram]],
        compile_specs: dict[str, list[list[CompileSpec]]],
    ) -> dict[str, list[PreprocessResult]]:
        """Compiles all partitions of all methods.

        A backend overrides this method to share data between partitions. The default calls `preprocess` for
        each partition.

        Args:
            edge_programs: the partitions of each method.
            compile_specs: the options of each partition: `compile_specs[method][i]` belongs to
                `edge_programs[method][i]`.

        Returns:
            The results: `results[method][i]` belongs to `edge_programs[method][i]`.

        Raises:
            ValueError: a method has different numbers of partitions and lists of compile specs.
        """
        results = {}
        for method, programs in edge_programs.items():
            specs = compile_specs.get(method, [])
            if len(specs) != len(programs):
                raise ValueError(
                    f"method {method} has {len(programs)} partitions but {len(specs)} lists of compile specs"
                )
            results[method] = [cls.preprocess(p, s) for p, s in zip(programs, specs, strict=True)]
        return results


def find_backend(backend_id: str) -> type[BackendDetails]:
    """Returns the class of a backend.

    Args:
        backend_id: the name of the class. The module that defines the class must have been imported.

    Returns:
        The class, which is derived from `BackendDetails`.

    Raises:
        BackendNotFoundError: there is no such class. The message lists the names of all backends.
    """
    classes = {cls.__name__: cls for cls in BackendDetails.__subclasses__()}
    if backend_id not in classes:
        known = ", ".join(sorted(classes)) or "none"
        raise BackendNotFoundError(
            f"Backend {backend_id} was not found. Import the module that defines its class. The imported "
            f"backends are: {known}"
        )
    return classes[backend_id]
