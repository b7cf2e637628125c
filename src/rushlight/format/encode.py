"""Converts dataclasses to FlatBuffers.

Tables are written in depth-first order. Texts and vectors of numbers follow after all tables, so that equal
ones are written once. The bytes depend only on the values.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from rushlight.format.binding import Binding, FieldBinding, TableBinding
from rushlight.format.buffers import byte_view
from rushlight.format.errors import EncodeError
from rushlight.format.wire import MAX_DEPTH, Kind

_MAX_SIZE = 0x7FFFFFFF
# Larger vectors are not shared. This limits the size of the objects that a reader creates for a reference.
MAX_SHARED_BYTES = 64

_OFFSET = struct.Struct("<I")
_REFERENCES = (Kind.STRING, Kind.TABLE, Kind.UNION)
"""The kinds of fields that a table contains as offsets. Vectors of any kind are offsets too."""


class _Entry(NamedTuple):
    """A number in a table. A union has two entries: its tag and its offset.

    Attributes:
        field: the field.
        is_tag: whether it is the tag of a union.
        is_offset: whether it is the offset to a vector, text or table.
        is_checked: whether not every number that fits the code is valid.
        code: the format of the number in `struct`.
        slot: the index in the vtable.
    """

    field: FieldBinding
    is_tag: bool
    is_offset: bool
    is_checked: bool
    code: str
    slot: int


class _Plan(NamedTuple):
    """How to write a table. Entries are sorted by decreasing size, so that no padding is needed."""

    table: TableBinding
    get: Callable[[Any], tuple[object, ...]]
    entries: tuple[_Entry, ...]


class _Layout(NamedTuple):
    """The layout of a table for one set of present fields.

    Attributes:
        pack: a function that packs the numbers of the entries.
        offsets: the offsets of the entries in the table, in bytes.
        vtable: the bytes of the vtable.
        phase: the required address of the table modulo 8, or None if any multiple of 4 is valid.
    """

    pack: Callable[..., bytes]
    offsets: tuple[int, ...]
    vtable: bytes
    phase: int | None


@cache
def _plan(table: TableBinding) -> _Plan:
    entries = []
    for field in table.fields:
        wire = field.wire
        if wire.kind is Kind.UNION:
            entries.append(_Entry(field, True, False, False, "B", wire.slot - 1))
        is_offset = wire.is_vector or wire.kind in _REFERENCES
        is_checked = wire.kind in (Kind.ENUM, Kind.BOOL) or bool(wire.bounds)
        entries.append(
            _Entry(field, False, is_offset, is_checked, "I" if is_offset else wire.code, wire.slot)
        )
    entries.sort(key=lambda entry: -struct.calcsize(entry.code))
    return _Plan(table, table.getter([entry.field.wire.name for entry in entries]), tuple(entries))


@cache
def _layout(entries: tuple[_Entry, ...]) -> _Layout:
    codes = "".join(entry.code for entry in entries)
    offsets, at = [], 4
    for entry in entries:
        offsets.append(at)
        at += struct.calcsize(entry.code)
    slots = [0] * (max((entry.slot for entry in entries), default=-1) + 1)
    for entry, offset in zip(entries, offsets, strict=True):
        slots[entry.slot] = offset
    vtable = struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), at, *slots)
    has_wide = any(struct.calcsize(entry.code) == 8 for entry in entries)
    return _Layout(struct.Struct("<i" + codes).pack, tuple(offsets), vtable, 4 if has_wide else None)


def encode(
    binding: Binding, root: object, *, start: int = 0, header_size: int = 0, align: int = 0
) -> bytearray:
    """Encodes the root table.

    Args:
        binding: the schema and its dataclasses.
        root: the dataclass of the root table.
        start: the number of zero bytes before the encoded bytes.
        header_size: the number of zero bytes after the file identifier, which the caller replaces.
        align: the smallest alignment in bytes of the vectors for which the schema sets an alignment.
            Alignment is relative to the first byte.

    Returns:
        The bytes.

    Raises:
        EncodeError: a value does not fit the schema.
    """
    return _Writer(binding, start, header_size, align).run(root)


class _Writer:
    """Writes one buffer. The methods that write an item return its address, or write the offset to it."""

    def __init__(self, binding: Binding, start: int, header_size: int, align: int) -> None:
        self._binding = binding
        self._start = start
        self._out = bytearray(bytes(start + _OFFSET.size) + binding.schema.identifier + bytes(header_size))
        self._align = align
        self._vtables: dict[bytes, int] = {}
        # Texts and vectors in the order of first use: alignment of the first element, which follows 4 bytes
        # for the length; bytes; addresses of the offsets to them.
        self._leaves: list[tuple[int, tuple[bytes | memoryview, ...], list[int]]] = []
        self._shared: dict[tuple[int, bytes], list[int]] = {}
        self._layouts: dict[tuple[TableBinding, int], _Layout] = {}
        self._depth = 0

    def run(self, root: object) -> bytearray:
        self._point(self._start, self._table(root, self._binding.root))
        out = self._out
        for align, parts, sources in self._leaves:
            self._pad(align, 4)
            at = len(out)
            for part in parts:
                out += part
            for source in sources:
                self._point(source, at)
        self._pad(8, 0)
        if len(out) > _MAX_SIZE:
            raise EncodeError(
                f"the size of the tables is {len(out)} bytes; at most {_MAX_SIZE} are supported"
            )
        return out

    def _pad(self, align: int, ahead: int) -> None:
        """Adds padding so that the position `ahead` bytes after the end is a multiple of `align`."""
        self._out += bytes(-(len(self._out) + ahead) % align)

    def _point(self, source: int, target: int) -> None:
        """Writes the offset to the item at the address `target`, at the address `source`."""
        distance = target - source
        if distance > _MAX_SIZE:
            raise EncodeError(
                f"the tables are larger than {_MAX_SIZE} bytes, which is the largest supported size"
            )
        _OFFSET.pack_into(self._out, source, distance)

    def _table(self, value: object, table: TableBinding) -> int:
        """Writes a table, and the tables to which it refers, and returns its address."""
        plan = _plan(table)
        if type(value) is not table.cls:
            raise EncodeError(f"expected a {table.cls.__name__}, got {type(value).__name__}")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise EncodeError(f"{table.name}: more than {MAX_DEPTH} tables are inside each other")
        present, numbers, references = self._present_fields(plan, value)
        layout = self._layouts.get((table, present))
        if layout is None:
            chosen = tuple(entry for i, entry in enumerate(plan.entries) if present >> i & 1)
            layout = self._layouts[table, present] = _layout(chosen)
        vtable = self._vtables.get(layout.vtable)
        if vtable is None:
            vtable = self._add_vtable(layout.vtable)
        out = self._out
        at = len(out)
        padding = -at % 4 if layout.phase is None else (layout.phase - at) % 8
        if padding:
            out += bytes(padding)
            at += padding
        try:
            out += layout.pack(at - vtable, *numbers)
        except struct.error as error:
            raise _explain(plan, value, error) from error
        for index, field, item in references:
            self._reference(at + layout.offsets[index], field, item)
        self._depth -= 1
        return at

    def _present_fields(
        self, plan: _Plan, value: object
    ) -> tuple[int, list[object], list[tuple[int, FieldBinding, object]]]:
        """Collects the fields of a table that are neither absent nor equal to their default value.

        Returns:
            A number whose bit i is set if entry i of the plan is present; the numbers of the present entries,
            with 0 for references, whose offsets are written later; and for each reference the index of its
            number, its field and its value.
        """
        present = 0
        numbers: list[object] = []
        references: list[tuple[int, FieldBinding, object]] = []
        bit = 1  # of the entry
        for entry, item in zip(plan.entries, plan.get(value), strict=True):
            field = entry.field
            wire = field.wire
            if entry.is_tag:
                if item is not None:
                    numbers.append(self._tag(field, item))
                    present |= bit
            elif entry.is_offset:
                if item is not None:
                    references.append((len(numbers), field, item))
                    numbers.append(0)
                    present |= bit
                elif wire.required or not field.optional:
                    raise _error(field, "is None")
            elif item != wire.default or (item == 0 and wire.code in "fd" and math.copysign(1, item) < 0):
                numbers.append(_checked_number(field, item) if entry.is_checked else item)
                present |= bit
            bit <<= 1
        return present, numbers, references

    def _add_vtable(self, data: bytes) -> int:
        """Writes a vtable, which the tables with this layout share, and returns its address."""
        self._pad(2, 0)
        address = self._vtables[data] = len(self._out)
        self._out += data
        return address

    def _tag(self, field: FieldBinding, item: object) -> int:
        tag = field.tag_of.get(type(item))
        if tag is None:
            raise _error(field, f"a {type(item).__name__} is not a member of {field.wire.target}")
        return tag

    def _reference(self, source: int, field: FieldBinding, item: object) -> None:
        """Writes an item, or adds it to the leaves, and writes the offset to it at the address `source`."""
        wire = field.wire
        if wire.is_vector:
            self._vector(source, field, item)
        elif wire.kind is Kind.STRING:
            self._string(source, field, item)
        else:
            table = field.table or field.tags[field.tag_of[type(item)]]
            self._point(source, self._table(item, table))

    def _string(self, source: int, field: FieldBinding, item: object) -> None:
        if not isinstance(item, str):
            raise _error(field, f"expected text, got {type(item).__name__}")
        try:
            data = item.encode()
        except UnicodeEncodeError as error:
            raise _error(field, str(error)) from error
        self._leaf(source, 4, _OFFSET.pack(len(data)) + data + b"\0")

    def _vector(self, source: int, field: FieldBinding, item: object) -> None:
        wire = field.wire
        if field.as_bytes:
            try:
                view = byte_view(item)
            except TypeError as error:
                raise _error(field, str(error)) from error
            if wire.align or view.nbytes > MAX_SHARED_BYTES:
                align = max(wire.align, self._align if wire.align else 0, 4)
                self._leaves.append((align, (_OFFSET.pack(view.nbytes), view), [source]))
            else:
                self._leaf(source, 4, _OFFSET.pack(view.nbytes) + view)
            return
        if not isinstance(item, (list, tuple)):
            raise _error(field, f"expected a list, got {type(item).__name__}")
        if wire.kind in _REFERENCES:
            self._offsets(source, field, item)
            return
        if wire.kind is Kind.BOOL:
            item = [bool(element) for element in item]
        try:
            data = struct.pack(f"<I{len(item)}{wire.code}", len(item), *item)
        except struct.error as error:
            raise _error(field, f"{error}, in {_shorten(item)}") from error
        align = max(4, struct.calcsize(wire.code))
        if len(data) > MAX_SHARED_BYTES:
            self._leaves.append((align, (data,), [source]))
        else:
            self._leaf(source, align, data)

    def _offsets(
        self, source: int, field: FieldBinding, items: Sequence[object] | tuple[object, ...]
    ) -> None:
        out = self._out
        self._pad(4, 0)
        at = len(out)
        self._point(source, at)
        out += struct.pack("<I", len(items)) + bytes(4 * len(items))
        if field.wire.kind is Kind.STRING:
            for i, item in enumerate(items, 1):
                self._string(at + 4 * i, field, item)
        else:
            assert field.table is not None
            for i, item in enumerate(items, 1):
                self._point(at + 4 * i, self._table(item, field.table))

    def _leaf(self, source: int, align: int, data: bytes) -> None:
        """Adds a text or vector, to which the offset at `source` refers. Equal ones are written once."""
        sources = self._shared.get((align, data))
        if sources is None:
            sources = self._shared[align, data] = []
            self._leaves.append((align, (data,), sources))
        sources.append(source)


def _checked_number(field: FieldBinding, item: Any) -> object:
    """Returns the number of a field as it is written; raises EncodeError if the field does not allow it."""
    wire = field.wire
    if wire.kind is Kind.ENUM and not (isinstance(item, int) and item in field.members):
        raise _error(field, f"{item!r} is not a member of {wire.target}")
    if wire.kind is Kind.BOOL:
        return bool(item)
    if wire.bounds and isinstance(item, int) and not wire.bounds[0] <= item <= wire.bounds[1]:
        raise _error(field, f"{item} is outside the range {wire.bounds[0]} to {wire.bounds[1]}")
    return item


def _error(field: FieldBinding, message: str) -> EncodeError:
    return EncodeError(f"{field.table_name}.{field.wire.name}: {message}")


def _explain(plan: _Plan, value: object, error: struct.error) -> EncodeError:
    """Returns the error for the number that could not be packed."""
    for field in plan.table.fields:
        item = getattr(value, field.wire.name)
        if field.wire.code and not field.wire.is_vector:
            try:
                struct.pack("<" + field.wire.code, item)
            except struct.error as cause:
                return _error(field, f"{cause}, got {item!r}")
    return EncodeError(f"{plan.table.name}: {error}")


def _shorten(items: Any) -> str:
    text = repr(list(items))
    return text if len(text) <= 80 else text[:77] + "..."
