"""Converts exported programs to edge programs. Contains the manager of edge programs."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_manager import PassManager as GraphModulePassManager

from rushlight.compiler.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compiler.executorch import ExecutorchProgramManager, check_unchanged, lower_programs
from rushlight.compiler.garbage import heap_frozen
from rushlight.compiler.pipelines import core_to_edge, exported_to_plain, plain_to_core
from rushlight.compiler.preserve import CoreProgram, undelegated_ops
from rushlight.compiler.to_backend import to_backend
from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.delegate.lowering import MethodProgramsPartitionerSpec
from rushlight.delegate.named_data import NamedDataStore
from rushlight.delegate.partitioner import Partitioner
from rushlight.frontend.export import as_programs
from rushlight.ir import meta
from rushlight.ir.errors import InternalError
from rushlight.ir.fingerprint import fingerprint
from rushlight.ir.program import copy_program
from rushlight.ir.shared_state import shared_state
from rushlight.ir.verifier import ATEN, EDGE, stands_for_executorch, verify
from rushlight.passes.base import AnyPass, graph_modules
from rushlight.passes.merge_aliased_buffers import merge_aliased_buffers
from rushlight.passes.pass_manager import ExportedProgramPassManager
from rushlight.passes.transform import transform_program

if TYPE_CHECKING:
    from rushlight.devtools.etrecord.record import ETRecord

Passes = (
    Sequence[AnyPass] | Mapping[str, Sequence[AnyPass]] | GraphModulePassManager | ExportedProgramPassManager
)


@heap_frozen()
def to_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    constant_methods: Mapping[str, object] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Converts exported programs to edge programs.

    Args:
        programs: one program, which becomes the method `forward`, or several programs by method name. They
            are not changed.
        constant_methods: the values of constant methods, by name. A constant method returns its value.
        compile_config: the options; None means the defaults.
        generate_etrecord: whether the manager stores the programs in an ETRecord, for the developer tools.

    Returns:
        The manager of the edge programs.

    Raises:
        ExportError: a program has operators outside Core ATen after decomposition. The message names the
            node, the operator and the source line.
    """
    config = compile_config or EdgeCompileConfig()
    methods = as_programs(programs)
    fingerprints = {name: fingerprint(program) for name, program in methods.items()}
    edge_programs: dict[str, ExportedProgram] = {}
    for name, program in merge_aliased_buffers(methods).items():
        core = plain_to_core(exported_to_plain(program, {}), config).program
        if config._check_ir_validity:
            verify(core.graph_module, ATEN, config.options())
        edge_programs[name] = core_to_edge(core, config)
    check_unchanged(methods, fingerprints)
    manager = EdgeProgramManager(edge_programs, constant_methods, config)
    manager._etrecord = _make_etrecord(methods, manager, generate_etrecord)
    return manager


@heap_frozen()
def to_edge_transform_and_lower(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    transform_passes: Passes | None = None,
    partitioner: Sequence[Partitioner] | Mapping[str, Sequence[Partitioner]] | None = None,
    constant_methods: Mapping[str, object] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Converts exported programs to edge programs, transforms them, and lowers them with partitioners.

    Args:
        programs: one program, which becomes the method `forward`, or several programs by method name. They
            are not changed.
        transform_passes: passes that run on the edge programs before lowering, for all methods or by method
            name.
        partitioner: partitioners in the order of their use, for all methods or by method name. Operators that
            a partitioner preserves are not decomposed.
        constant_methods: the values of constant methods, by name. A constant method returns its value.
        compile_config: the options; None means the defaults.
        generate_etrecord: whether the manager stores the programs before and after lowering in an ETRecord,
            for the developer tools.

    Returns:
        The manager of the lowered edge programs.

    Raises:
        ExportError: a program has operators outside Core ATen after decomposition. The message names the
            node, the operator and the source line.
        CompileError: an operator that a partitioner preserves was not lowered.
    """
    config = compile_config or EdgeCompileConfig()
    methods = as_programs(programs)
    fingerprints = {name: fingerprint(program) for name, program in methods.items()}
    merged = merge_aliased_buffers(methods)
    shared = shared_state(merged)
    partitioners = _by_method(partitioner, methods)
    cores = {
        name: plain_to_core(exported_to_plain(program, shared[name]), config, partitioners[name])
        for name, program in merged.items()
    }

    def lower() -> EdgeProgramManager:
        manager = _edge_manager(cores, constant_methods, config)
        if transform_passes is not None:
            manager = manager.transform(transform_passes)
        record = manager._etrecord = _make_etrecord(methods, manager, generate_etrecord)
        if record is not None and transform_passes is not None:
            record.add_extra_export_modules({"edge_after_transform": manager})
        for position in range(max((len(items) for items in partitioners.values()), default=0)):
            manager = manager._lowered(
                {name: items[position] for name, items in partitioners.items() if position < len(items)}
            )
        return manager

    manager = lower()
    while _decompose_leftovers(manager, cores, partitioners, config):
        manager = lower()
    preserved = _preserved_ops(cores)
    lowered = manager._edge_programs
    for name, program in lowered.items():
        if partitioners.get(name) and config._check_ir_validity:
            verify(program.graph_module, EDGE, config.options(preserved))
    check_unchanged(methods, fingerprints)
    return manager


def _edge_manager(
    cores: Mapping[str, CoreProgram], constant_methods: Mapping[str, object] | None, config: EdgeCompileConfig
) -> EdgeProgramManager:
    """Converts decomposed programs to edge programs. A program that may still change is copied first."""
    edge_programs: dict[str, ExportedProgram] = {}
    for name, core in cores.items():
        program = copy_program(core.program) if core.may_change else core.program
        edge_programs[name] = core_to_edge(program, config, core.preserved)
    return EdgeProgramManager(edge_programs, constant_methods, config, preserve_ops=_preserved_ops(cores))


def _preserved_ops(cores: Mapping[str, CoreProgram]) -> list[OpOverload]:
    return list(dict.fromkeys(op for core in cores.values() for op in core.preserved))


def _decompose_leftovers(
    manager: EdgeProgramManager,
    cores: Mapping[str, CoreProgram],
    partitioners: Mapping[str, Sequence[Partitioner]],
    config: EdgeCompileConfig,
) -> bool:
    """Decomposes operators that were preserved for partitioners, but that the partitioners did not lower.

    Returns:
        Whether a program has changed and must be lowered again.
    """
    leftovers = {
        name: undelegated_ops(name, manager.exported_program(name), partitioners[name], config.preserve_ops)
        for name in cores
    }
    # A list, and not a generator, so that the operators of all methods are decomposed.
    return any([cores[name].stop_preserving(ops) for name, ops in leftovers.items()])


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
    is_several = isinstance(partitioners, Iterable) and not isinstance(partitioners, (str, Partitioner))
    items = list(partitioners) if is_several else [partitioners]
    for item in items:
        if not isinstance(item, Partitioner):
            raise TypeError(f"partitioner takes partitioners such as CpuPartitioner(), but {item!r} is given")
    return items


class EdgeProgramManager:
    """Edge programs by method name. The manager can transform, lower and emit them.

    Args:
        edge_programs: one program, which becomes the method `forward`, or several programs by method name.
        constant_methods: the values of constant methods, by name. A constant method returns its value.
        compile_config: the options; None means the defaults.
        core_aten_ops_exception_list: operators outside Core ATen that the verifier accepts.
        preserve_ops: operators that were not decomposed. The verifier also accepts them.

    Raises:
        DialectError: a program is not in the Edge dialect. `_check_ir_validity=False` in the options
            disables this check.
    """

    def __init__(
        self,
        edge_programs: ExportedProgram | dict[str, ExportedProgram],
        constant_methods: Mapping[str, object] | None = None,
        compile_config: EdgeCompileConfig | None = None,
        core_aten_ops_exception_list: list[OpOverload] | None = None,
        preserve_ops: list[OpOverload] | None = None,
    ) -> None:
        if isinstance(edge_programs, ExportedProgram):
            edge_programs = {"forward": edge_programs}
        self.compile_config = compile_config or EdgeCompileConfig()
        self._exceptions = list(core_aten_ops_exception_list or ())
        self._preserve = list(preserve_ops or ())
        self._edge_programs = dict(edge_programs)
        self._planned: dict[str, ExportedProgram] | None = None
        self._config_methods = constant_methods
        self._etrecord: ETRecord | None = None
        for program in self._edge_programs.values():
            self._verify(program, self.compile_config)

    def _verify(self, program: ExportedProgram, config: EdgeCompileConfig) -> None:
        if config._check_ir_validity:
            verify(program.graph_module, EDGE, config.options([*self._exceptions, *self._preserve]))

    @property
    def methods(self) -> set[str]:
        """The names of the methods."""
        return set(self._edge_programs)

    @property
    def _named_data_store(self) -> NamedDataStore:
        """The named data of all lowered modules. ExecuTorch's manager has a property with the same name."""
        store = NamedDataStore()
        for program in self._edge_programs.values():
            for graph_module in graph_modules(program.graph_module):
                for module in get_lowered_backend_modules(graph_module):
                    if module.named_data_store_output is not None:
                        store.merge_named_data_store(module.named_data_store_output)
        return store

    @property
    def config_methods(self) -> set[str]:
        """The names of the constant methods."""
        return set(self._config_methods or ())

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """Returns the edge program of a method.

        After `install_as_executorch()` and `to_executorch`, the planned program is returned instead, because
        ExecuTorch's passes change the edge program. `transform`, `to_backend` and a second `to_executorch`
        still use the edge program.

        Args:
            method_name: the name of the method.

        Returns:
            The program. It is not a copy.

        Raises:
            KeyError: there is no such method. The message lists the existing names.
        """
        programs = self._edge_programs if self._planned is None else self._planned
        try:
            return programs[method_name]
        except KeyError:
            raise KeyError(f"no method {method_name!r}; there are {sorted(programs)}") from None

    def transform(
        self, passes: Passes, compile_config: EdgeCompileConfig | None = None
    ) -> EdgeProgramManager:
        """Returns a manager with transformed programs. This manager does not change.

        Args:
            passes: a list of passes for all methods, lists by method name (other methods do not change), or a
                pass manager.
            compile_config: options of the verifier; None means the options of this manager.
        """
        config = compile_config or self.compile_config
        programs = {}
        for name, program in self._edge_programs.items():
            chosen = passes.get(name) if isinstance(passes, Mapping) else passes
            programs[name] = program if chosen is None else transform_program(program, chosen)
        manager = EdgeProgramManager(
            programs, copy.deepcopy(self._config_methods), config, self._exceptions, self._preserve
        )
        manager._etrecord = self._etrecord
        return manager

    @heap_frozen()
    def to_backend(self, partitioner: Partitioner | Mapping[str, Partitioner]) -> EdgeProgramManager:
        """Returns a manager whose programs have their partitions lowered to backends.

        Args:
            partitioner: a partitioner for all methods, or partitioners by method name.
        """
        chosen: Mapping[str, Partitioner]
        if isinstance(partitioner, Mapping):
            chosen = partitioner
        else:
            chosen = {name: partitioner for name in self._edge_programs}
        if stands_for_executorch():
            for each in {id(each): each for each in chosen.values()}.values():
                each.warn_of_decomposed_program()
        return self._lowered(chosen)

    def _lowered(self, chosen: Mapping[str, Partitioner]) -> EdgeProgramManager:
        """Returns a manager whose programs have their partitions lowered by the partitioner of the method."""
        programs = to_backend(MethodProgramsPartitionerSpec(self._edge_programs, dict(chosen)))
        config = EdgeCompileConfig(
            _check_ir_validity=False, _skip_dim_order=self.compile_config._skip_dim_order
        )
        manager = EdgeProgramManager(programs, copy.deepcopy(self._config_methods), config)
        manager._etrecord = self._etrecord
        return manager

    @heap_frozen()
    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgramManager:
        """Plans memory, emits the program, and returns the manager of the program file.

        Args:
            config: options of memory planning and of the file.

        Raises:
            CompileError: a program cannot be compiled.
            InternalError: after `install_as_executorch()`, an operator has a memory format argument.
        """
        if stands_for_executorch():
            _check_memory_formats(self._edge_programs)
        manager = lower_programs(
            self._edge_programs,
            config or ExecutorchBackendConfig(),
            config_methods=self._config_methods,
            dim_order=not self.compile_config._skip_dim_order,
        )
        if self._etrecord is not None:
            record = self._etrecord.copy()
            record.add_lowered_programs(self._edge_programs)
            record.add_executorch_program(manager)
            manager._etrecord = record
        if stands_for_executorch():
            self._planned = {name: manager.exported_program(name) for name in self._edge_programs}
            for nodes in manager._emitter_output.nodes.values():
                for index, node in nodes.items():
                    meta.set_debug_handle(node, index)
        return manager


def _check_memory_formats(programs: Mapping[str, ExportedProgram]) -> None:
    """Raises InternalError if an operator has a channels-last memory format, as ExecuTorch does."""
    plain = (None, torch.contiguous_format, torch.preserve_format)
    for name, program in programs.items():
        for module in graph_modules(program.graph_module):
            for node in module.graph.nodes:
                found = node.kwargs.get("memory_format")
                if found not in plain:
                    raise InternalError(
                        f"method {name!r}: {node.target} ({node.name}) creates a tensor with {found}. Only "
                        "the operators of the dim order dialect support this: remove _skip_dim_order=True"
                    )


def _make_etrecord(
    methods: Mapping[str, ExportedProgram], manager: EdgeProgramManager, wanted: bool
) -> ETRecord | None:
    if not wanted:
        return None
    from rushlight.devtools.etrecord.record import ETRecord

    record = ETRecord()
    record.add_exported_program(methods)
    record.add_edge_dialect_program(manager)
    return record
