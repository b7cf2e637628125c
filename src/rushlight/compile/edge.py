"""Converts exported programs to edge programs, and manages them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_manager import PassManager as GraphModulePassManager

from rushlight.compile.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compile.executorch import ExecutorchProgramManager, lower_programs
from rushlight.compile.preserve import decompose_for, left_over
from rushlight.delegate.partitioner import Partitioner
from rushlight.delegate.program_copy import copy_program
from rushlight.delegate.to_backend import MethodProgramsPartitionerSpec, to_backend
from rushlight.frontend.affine import lower_quantized_tensors, uses_quantized_tensors
from rushlight.frontend.decompose import decompose
from rushlight.frontend.edge import to_edge_dialect
from rushlight.frontend.export import as_programs, remove_unused_parameters
from rushlight.ir.errors import ExportError
from rushlight.ir.shared_state import mark_shared_state, shared_state
from rushlight.ir.verifier import ATEN, EDGE, Options, edge_verifier, verify
from rushlight.passes import pipelines
from rushlight.passes.base import run_passes
from rushlight.passes.pass_manager import ExportedProgramPassManager
from rushlight.passes.transform import transform_program

Passes = Sequence[Any] | Mapping[str, Sequence[Any]] | GraphModulePassManager | ExportedProgramPassManager
Record = Callable[..., Any]

# Makes an empty record of a compile for developer tools; they set it, since the core imports no tools.
_new_record: list[Callable[[], Any]] = []


def set_record_factory(factory: Callable[[], Any]) -> None:
    """Sets the function that makes records for developer tools."""
    _new_record[:] = [factory]


def options_of(config: EdgeCompileConfig, preserve: Sequence[Any] = ()) -> Options:
    """Returns the options of the verifier for a configuration."""
    return Options(
        dim_order=not config._skip_dim_order,
        exceptions=frozenset(config._core_aten_ops_exception_list or ()),
        preserve=frozenset([*config.preserve_ops, *preserve]),
        core_only=config.core_aten_only,
    )


def make_edge_program(
    core: ExportedProgram, config: EdgeCompileConfig, preserve: Sequence[Any] = ()
) -> ExportedProgram:
    """The edge program of a Core ATen program, whose graph is changed on the way."""
    options = options_of(config, preserve)
    remove_unused_parameters(core)
    run_passes(core.graph_module, pipelines.core_aten_to_edge())
    verifier = edge_verifier(options, enabled=False)
    edge = to_edge_dialect(core, dim_order=not config._skip_dim_order, verifier=verifier)
    run_passes(edge.graph_module, pipelines.edge_cleanup())
    edge._verifiers = [edge_verifier(options, enabled=config._check_ir_validity)]
    return edge


def to_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    constant_methods: dict[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Edge programs of exported programs, which are not changed.

    programs: one, which becomes the method `forward`, or several by method name. constant_methods: values, by
    method name, that the program returns as they are. Raises ExportError naming node, operator and source
    line where a program is not Core ATen after decomposition.
    """
    config = compile_config or EdgeCompileConfig()
    methods = as_programs(programs)
    edge_programs = {}
    for name, program in _plain(methods).items():
        core = decompose(program, config.preserve_ops)
        if config._check_ir_validity:
            verify(core.graph_module, ATEN, options_of(config))
        edge_programs[name] = make_edge_program(core, config)
    manager = EdgeProgramManager(edge_programs, constant_methods, config)
    if generate_etrecord:
        manager._start_record(methods)
    return manager


def to_edge_transform_and_lower(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    transform_passes: Passes | None = None,
    partitioner: Sequence[Partitioner] | Mapping[str, Sequence[Partitioner]] | None = None,
    constant_methods: dict[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Edge programs of exported programs, transformed, and lowered to backends in the order of partitioners.

    Operators that a partitioner asks to keep reach it whole. Partitioners and passes are for all methods or
    by method name. Raises ExportError as `to_edge`, and CompileError where a kept operator is left over.
    """
    config = compile_config or EdgeCompileConfig()
    methods = as_programs(programs)
    plain = _plain(methods)
    partitioners = _by_method(partitioner, methods)
    given_up: dict[str, set[OpOverload]] = {name: set() for name in methods}
    while True:
        manager, preserved = _kept_edge_programs(plain, partitioners, given_up, constant_methods, config)
        if generate_etrecord:
            manager._start_record(methods)
        if transform_passes is not None:
            manager = manager.transform(transform_passes)
            manager._record("add_extra_export_modules", {"edge_after_transform": copy.copy(manager)})
        for position in range(max((len(items) for items in partitioners.values()), default=0)):
            manager = manager.to_backend(
                {name: items[position] for name, items in partitioners.items() if position < len(items)}
            )
        lowered = manager._edge_programs
        left = {n: left_over(n, p, partitioners.get(n, ()), config.preserve_ops) for n, p in lowered.items()}
        if all(left[name] <= given_up[name] for name in given_up):
            break
        for name, ops in given_up.items():
            ops |= left[name]
    for name, program in lowered.items():
        if partitioners.get(name) and config._check_ir_validity:
            verify(program.graph_module, EDGE, options_of(config, preserved))
    return manager


def _plain(methods: Mapping[str, ExportedProgram]) -> dict[str, ExportedProgram]:
    """The programs with plain tensors in the place of torchao's quantized ones."""
    plain = dict(methods)
    for name, program in methods.items():
        if uses_quantized_tensors(program):
            plain[name] = copy_program(program)
            lower_quantized_tensors(plain[name])
    return plain


def _kept_edge_programs(
    methods: Mapping[str, ExportedProgram],
    partitioners: Mapping[str, Sequence[Partitioner]],
    given_up: Mapping[str, Collection[OpOverload]],
    constant_methods: dict[str, Any] | None,
    config: EdgeCompileConfig,
) -> tuple[EdgeProgramManager, list[Any]]:
    """Edge programs in which operators are whole that partitioners ask for, and these operators."""
    edge_programs = {}
    preserved: list[Any] = []
    shared = shared_state(methods)
    for name, program in methods.items():
        if shared[name]:  # which no partitioner may take for constants
            program = copy_program(program)
            mark_shared_state(program, program.graph_module, shared[name])
        core, kept = decompose_for(program, partitioners[name], config.preserve_ops, given_up[name])
        edge_programs[name] = make_edge_program(core, config, kept)
        preserved += [op for op in kept if op not in preserved]
    config._core_aten_ops_exception_list = list(
        dict.fromkeys([*(config._core_aten_ops_exception_list or ()), *preserved])
    )
    return EdgeProgramManager(edge_programs, constant_methods, config, preserve_ops=preserved), preserved


def _by_method(
    partitioner: Sequence[Partitioner] | Mapping[str, Sequence[Partitioner]] | None,
    methods: Mapping[str, ExportedProgram],
) -> dict[str, Sequence[Partitioner]]:
    if partitioner is None:
        return {name: () for name in methods}
    if isinstance(partitioner, Mapping):
        return {name: _as_list(partitioner.get(name, ())) for name in methods}
    return {name: _as_list(partitioner) for name in methods}


def _as_list(partitioners: Any) -> Sequence[Partitioner]:
    return [partitioners] if isinstance(partitioners, Partitioner) else list(partitioners)


class EdgeProgramManager:
    """Edge programs by method name. They can be transformed, lowered to backends, and made a program file."""

    def __init__(
        self,
        edge_programs: ExportedProgram | dict[str, ExportedProgram],
        constant_methods: dict[str, Any] | None = None,
        compile_config: EdgeCompileConfig | None = None,
        core_aten_ops_exception_list: list[Any] | None = None,
        preserve_ops: list[Any] | None = None,
    ) -> None:
        if isinstance(edge_programs, ExportedProgram):
            edge_programs = {"forward": edge_programs}
        self.compile_config = compile_config or EdgeCompileConfig()
        self._exceptions = list(core_aten_ops_exception_list or ())
        self._preserve = list(preserve_ops or ())
        self._edge_programs = dict(edge_programs)
        self._config_methods = constant_methods
        self._etrecord: Any = None
        for program in self._edge_programs.values():
            self._verify(program, self.compile_config)

    def _verify(self, program: ExportedProgram, config: EdgeCompileConfig) -> None:
        if config._check_ir_validity:
            verify(program.graph_module, EDGE, options_of(config, [*self._exceptions, *self._preserve]))

    @property
    def methods(self) -> set[str]:
        """The names of the methods."""
        return set(self._edge_programs)

    @property
    def config_methods(self) -> set[str]:
        """The names of the constant methods."""
        return set(self._config_methods or ())

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """Returns the edge program of a method.

        Raises:
            KeyError: there is no such method. The message lists the existing names.
        """
        try:
            return self._edge_programs[method_name]
        except KeyError:
            raise KeyError(f"no method {method_name!r}; there are {sorted(self._edge_programs)}") from None

    def transform(
        self, passes: Passes, compile_config: EdgeCompileConfig | None = None
    ) -> EdgeProgramManager:
        """Returns a manager with transformed programs. This manager does not change.

        Args:
            passes: a list for all methods, lists by method name (other methods do not change), or a pass
                manager.
            compile_config: options of the verifier; None means those of this manager.
        """
        config = compile_config or self.compile_config
        programs = {}
        for name, program in self._edge_programs.items():
            copied = copy_program(program)
            if isinstance(passes, Mapping):
                chosen: Any = passes.get(name)
            else:
                chosen = passes
            programs[name] = copied if chosen is None else transform_program(copied, chosen)
        manager = EdgeProgramManager(
            programs, copy.deepcopy(self._config_methods), config, self._exceptions, self._preserve
        )
        manager._etrecord = self._etrecord
        return manager

    def to_backend(self, partitioner: Partitioner | Mapping[str, Partitioner]) -> EdgeProgramManager:
        """Returns a manager with programs in which the tagged parts are lowered to a backend.

        Args:
            partitioner: a partitioner for all methods, or partitioners by method name.
        """
        if isinstance(partitioner, Mapping):
            chosen = dict(partitioner)
        else:
            chosen = {name: partitioner for name in self._edge_programs}
        programs = to_backend(MethodProgramsPartitionerSpec(self._edge_programs, chosen))
        config = EdgeCompileConfig(
            _check_ir_validity=False, _skip_dim_order=self.compile_config._skip_dim_order
        )
        manager = EdgeProgramManager(programs, copy.deepcopy(self._config_methods), config)
        manager._etrecord = self._etrecord
        return manager

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgramManager:
        """Plans memory, emits the program, and returns the manager of the program file.

        Args:
            config: options of memory planning and of the file.

        Raises:
            CompileError: a program cannot be compiled.
        """
        return lower_programs(
            self._edge_programs,
            config or ExecutorchBackendConfig(),
            config_methods=self._config_methods,
            dim_order=not self.compile_config._skip_dim_order,
            record=self._etrecord,
        )

    def _start_record(self, methods: Mapping[str, ExportedProgram]) -> None:
        if not _new_record:
            raise ExportError(
                "generate_etrecord asks for the developer tools: import rushlight.devtools first"
            )
        self._etrecord = _new_record[0]()
        self._record("add_exported_program", dict(methods))
        self._record("add_edge_dialect_program", copy.copy(self))

    def _record(self, event: str, *items: Any) -> None:
        if self._etrecord is not None:
            getattr(self._etrecord, event)(*items)
