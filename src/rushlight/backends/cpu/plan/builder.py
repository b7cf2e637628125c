"""Builds the tables of a plan from its steps: constants, values, arguments and offsets in the arena."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.fx import Node

from rushlight.backends.cpu.plan import arena, tables
from rushlight.backends.cpu.plan.bindings import Bindings
from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.sizes import Size, Symbols, may_be_negative, not_negative
from rushlight.backends.cpu.plan.tables import StorageKind
from rushlight.backends.cpu.plan.tensor import Storage, Tensor
from rushlight.backends.cpu.target import Target
from rushlight.delegate.named_data import NamedDataStore
from rushlight.format.program import ScalarType
from rushlight.ir import meta
from rushlight.ir.errors import CompileError

ALIGNMENT = 64  # in bytes, of constants and of arena offsets
DTYPES = {
    torch.float32: ScalarType.FLOAT,
    torch.int64: ScalarType.LONG,
    torch.int32: ScalarType.INT,
    torch.bool: ScalarType.BOOL,
    torch.int8: ScalarType.CHAR,
    torch.uint8: ScalarType.BYTE,
    torch.float16: ScalarType.HALF,
    torch.bfloat16: ScalarType.BFLOAT16,
}
"""The dtypes that plans support, and the numbers by which plans and program files represent them."""


class Builder:
    """Builds the tables of a plan. Equal objects are stored once.

    Args:
        target: the instruction set.
        symbols: the bounds of the symbols of sizes.
        store: the store that gets the constants.
    """

    def __init__(self, target: Target, symbols: Symbols, store: NamedDataStore) -> None:
        self.plan = tables.Plan(target=target.name, vector_floats=target.vector, panel_floats=target.panel)
        self._symbols = symbols
        self._store = store
        self._bindings = Bindings()
        self._ints: list[tuple[Size, tuple[int, int]]] = []
        self._expressions: dict[tuple[int, ...], int] = {}
        self._storages: dict[Storage, int] = {}
        self._values: dict[tuple[object, ...], int] = {}
        self._arguments: list[Tensor | None] = []
        self._file: str | None = None  # the file with the constants of the current step

    def add_argument(self, tensor: Tensor | None, is_output: bool = False) -> None:
        """Adds an argument of the delegate; `tensor` is None if it is not a tensor."""
        self._arguments.append(tensor)
        self.plan.arguments.append(tables.Argument(is_output=is_output))

    def add_int(self, size: Size) -> None:
        """Adds an int argument with the value `size`."""
        self._ints.append((size, (len(self._arguments), -1)))
        self.add_argument(None)

    def bind_symbols(self) -> None:
        """Adds the symbols of sizes, with the argument that determines each of them."""
        sizes: list[tuple[Size, tuple[int, int]]] = [
            (size, (index, axis))
            for index, tensor in enumerate(self._arguments)
            if tensor is not None and not self.plan.arguments[index].is_output
            for axis, size in enumerate(tensor.sizes)
        ]
        for binding, (argument, axis) in self._bindings.solve([*sizes, *self._ints]):
            upper = self._symbols.upper(binding.unknown)
            self.plan.symbols.append(
                tables.Symbol(
                    argument=argument, axis=axis, factor=binding.factor, shift=binding.shift, upper=upper
                )
            )

    def _extent(self, size: Size) -> int:
        """Returns the index of the expression max(0, size) for a size, stride or offset."""
        code = self._code(size)
        return self._expression(not_negative(code) if may_be_negative(size) else code)

    def _code(self, size: Size) -> list[int]:
        try:
            return self._bindings.code(size)
        except KeyError as error:
            raise CompileError(
                f"the sizes of the delegate's arguments do not determine the size {error.args[0]}"
            ) from None

    def _expression(self, code: Sequence[int]) -> int:
        """Returns the index of an expression; adds the expression if it is new."""
        index = self._expressions.setdefault(tuple(code), len(self.plan.expressions))
        if index == len(self.plan.expressions):
            self.plan.expressions.append(tables.Expression(code=list(code)))
        return index

    def _storage(self, storage: Storage) -> int:
        index = self._storages.get(storage)
        if index is not None:
            return index
        size = self._symbols.upper(storage.numel) * storage.dtype.itemsize
        entry = tables.Storage(kind=storage.kind, bytes=size)
        if storage.kind is StorageKind.ARGUMENT:
            entry.index, entry.bytes = storage.index, 0
        elif storage.data is not None:
            entry.name = self._store_data(storage)
        index = self._storages[storage] = len(self.plan.storages)
        self.plan.storages.append(entry)
        return index

    def _store_data(self, storage: Storage) -> str:
        assert storage.data is not None
        data = storage.data.detach().contiguous().flatten().view(torch.uint8).numpy()
        return self._store.add_by_content(data.tobytes(), ALIGNMENT, "cpu/", self._file)

    def value(self, tensor: Tensor) -> int:
        """Returns the index of the entry for a view; adds the entry if it is new."""
        offset = self._extent(tensor.offset)
        sizes = [self._extent(size) for size in tensor.sizes]
        strides = [self._extent(stride) for stride in tensor.strides]
        key = (tensor.storage, offset, tuple(sizes), tuple(strides))
        index = self._values.setdefault(key, len(self.plan.values))
        if index == len(self.plan.values):
            storage = self._storage(tensor.storage)
            dtype = int(DTYPES[tensor.dtype])
            self.plan.values.append(
                tables.Value(storage=storage, dtype=dtype, offset=offset, sizes=sizes, strides=strides)
            )
        return index

    def finish(
        self,
        nodes: Sequence[PlanNode],
        file_of: Callable[[Sequence[Node]], str | None] = lambda nodes: None,
    ) -> tables.Plan:
        """Writes the steps, in order, and plans the arena.

        Args:
            nodes: the steps.
            file_of: returns the file for the constants of the nodes of a step; None for the program file.

        Returns:
            The finished plan.
        """
        for index, tensor in enumerate(self._arguments):
            if tensor is not None:
                self.plan.arguments[index].value = self.value(tensor)
        for node in nodes:
            self._file = file_of(node.nodes)
            operation = node.operation.mapped(lambda _, tensor: self.value(tensor))
            handle = next(iter(_handles(node)), 0)
            self.plan.steps.append(tables.Step(operation=operation, debug_handle=handle))
        sizes = {s: self.plan.storages[i].bytes for s, i in self._storages.items()}
        offsets, self.plan.arena_bytes = arena.plan_arena(nodes, sizes, ALIGNMENT)
        for storage, offset in offsets.items():
            self.plan.storages[self._storages[storage]].offset = offset
        return self.plan


def debug_handles(plan: tables.Plan, steps: Sequence[PlanNode]) -> dict[int, tuple[int, ...]]:
    """Returns, by the debug handle of each step, the debug handles of the operators that it computes."""
    found: dict[int, dict[int, None]] = {}
    for written, step in zip(plan.steps, steps, strict=True):
        if written.debug_handle:
            found.setdefault(written.debug_handle, {}).update(dict.fromkeys(_handles(step)))
    return {key: tuple(handles) for key, handles in found.items()}


def _handles(step: PlanNode) -> list[int]:
    return [handle for node in step.nodes if isinstance(handle := meta.get_debug_handle(node), int)]
