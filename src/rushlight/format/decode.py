"""FlatBuffers to dataclasses. Every byte is hostile: all is checked before it is used.

The checks are those of the C++ verifier, and that fields do not overlap, that text is UTF-8 and that
enum values are known.
"""

from __future__ import annotations

import enum
import itertools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from rushlight.format.binding import Binding, FieldBinding, TableBinding
from rushlight.format.errors import MalformedError
from rushlight.format.wire import Kind

_MAX_SIZE = 0x7FFFFFFF
# Children may be shared by several parents. What all of them expand to is bounded by this multiple of the
# size of the file, each table counting at least TABLE_COST bytes.
_EXPANSION = 16
_TABLE_COST = 32

_U32 = struct.Struct("<I").unpack_from
_I32 = struct.Struct("<i").unpack_from
_VTABLE = struct.Struct("<HH").unpack_from


class _Step(NamedTuple):
    """One field that is present. at: its offset in the table. raw: its index among the unpacked numbers."""

    field: FieldBinding
    position: int
    raw: int
    tag: int
    at: int


class _Layout(NamedTuple):
    """A vtable, checked. phase: what a table's address must be modulo 8, or None if any multiple of 4.

    defaults: constructor arguments, those of absent immutable fields filled in. absent: the others.
    """

    size: int
    unpack: Callable[[memoryview, int], tuple[int | float, ...]]
    phase: int | None
    steps: tuple[_Step, ...]
    defaults: list[object]
    absent: tuple[FieldBinding, ...]


def decode(binding: Binding, data: memoryview, *, start: int = 0) -> Any:
    """The root of `data`, a view of bytes.

    start: where the offset of the root is. Alignment counts from the first byte. Raises MalformedError.
    """
    return _Reader(binding, data).run(start)


class _Reader:
    def __init__(self, binding: Binding, data: memoryview) -> None:
        self._binding = binding
        self._data = data
        self._size = len(data)
        self._budget = _EXPANSION * self._size + 4096
        self._layouts: dict[tuple[TableBinding, int], _Layout] = {}
        self._strings: dict[int, str] = {}
        self._place: FieldBinding | None = None

    def run(self, start: int) -> Any:
        if self._size < start + 8:
            self._fail("shorter than the smallest file", 0)
        if self._size > _MAX_SIZE:
            self._fail("tables longer than 2 GiB", 0)
        identifier = self._data[start + 4 : start + 8].tobytes()
        if identifier != self._binding.schema.identifier:
            expected = self._binding.schema.identifier.decode()
            self._fail(f"the file identifier is {identifier!r}, not {expected!r}", start + 4)
        return self._table(self._binding.root, self._follow(start))

    def _fail(self, reason: str, offset: int) -> NoReturn:
        field = self._place
        raise MalformedError(
            reason,
            table=field.table_name if field else None,
            field=field.wire.name if field else None,
            offset=offset,
        )

    def _spend(self, cost: int, at: int) -> None:
        self._budget -= cost
        if self._budget < 0:
            self._fail("children are shared too often", at)

    def _follow(self, at: int) -> int:
        """Target of the offset at `at`, which must be inside; four bytes can be read from the target."""
        (offset,) = _U32(self._data, at)
        target: int = at + offset
        if offset == 0:
            self._fail("null offset", at)
        if target + 4 > self._size:
            self._fail("offset leads out of the file", at)
        if target % 4:
            self._fail("offset leads to an unaligned object", at)
        return target

    def _table(self, table: TableBinding, at: int) -> Any:
        self._spend(_TABLE_COST, at)
        vtable = at - _I32(self._data, at)[0]
        layout = self._layouts.get((table, vtable))
        if layout is None:
            layout = self._layouts[table, vtable] = self._layout(table, vtable, at)
        if at + layout.size > self._size:
            self._fail(f"{table.name} runs out of the file", at)
        if layout.phase is not None and at % 8 != layout.phase:
            self._fail(f"a field of {table.name} is not aligned", at)
        raw = layout.unpack(self._data, at)
        values = layout.defaults.copy()
        for step in layout.steps:
            field = step.field
            kind = field.wire.kind
            if field.wire.is_vector:
                values[step.position] = self._vector(field, at + step.at)
            elif kind is Kind.SCALAR:
                number = raw[step.raw]
                values[step.position] = self._bounded(field, number, at) if field.wire.bounds else number
            elif kind is Kind.ENUM:
                values[step.position] = self._member(field, int(raw[step.raw]), at + step.at)
            elif kind is Kind.BOOL:
                if raw[step.raw] not in (0, 1):
                    self._place = field
                    self._fail("bool is neither 0 nor 1", at + step.at)
                values[step.position] = raw[step.raw] == 1
            else:
                values[step.position] = self._reference(field, int(raw[step.tag]), at + step.at)
        for field in layout.absent:
            values[field.position] = self._absent(field)
        return table.make(*values)

    def _bounded(self, field: FieldBinding, value: int | float, at: int) -> int | float:
        assert field.wire.bounds is not None
        low, high = field.wire.bounds
        if not low <= value <= high:
            self._place = field
            self._fail(f"{value} is outside of {low} to {high}", at)
        return value

    def _layout(self, table: TableBinding, vtable: int, at: int) -> _Layout:
        if vtable < 0 or vtable % 2 or vtable + 4 > self._size:
            self._fail(f"the vtable of {table.name} is out of the file or unaligned", at)
        length, size = _VTABLE(self._data, vtable)
        if length < 4 or length % 2 or vtable + length > self._size or size < 4:
            self._fail(f"the vtable of {table.name} has a bad size", vtable)
        slots = struct.unpack_from(f"<{length // 2 - 2}H", self._data, vtable + 4)

        def offset_of(slot: int) -> int:
            return int(slots[slot]) if slot < len(slots) else 0

        # (offset, code, field, whether it is a union's tag) of the fields that are present
        found: list[tuple[int, str, FieldBinding, bool]] = []
        defaults: list[object] = [None] * len(table.fields)
        absent = []
        for field in table.fields:
            wire = field.wire
            is_scalar = not wire.is_vector and wire.kind in (Kind.SCALAR, Kind.ENUM, Kind.BOOL)
            if offset_of(wire.slot):
                found.append((offset_of(wire.slot), wire.code if is_scalar else "I", field, False))
            elif wire.required:
                self._place = field
                self._fail("the field is missing", vtable)
            elif not field.optional and (wire.is_vector or wire.kind is Kind.TABLE):
                absent.append(field)
            else:
                defaults[field.position] = self._absent(field)
            if wire.kind is Kind.UNION:
                tag_at = offset_of(wire.slot - 1)
                if bool(tag_at) != bool(offset_of(wire.slot)):
                    self._place = field
                    self._fail("a union's type and value are not both present", vtable)
                if tag_at:
                    found.append((tag_at, "B", field, True))
        found.sort(key=lambda item: item[0])
        codes, end = "<", 4
        phases = set()
        for offset, code, field, _ in found:
            self._place = field
            width = struct.calcsize(code)
            if offset < end or offset + width > size:
                self._fail("the field is out of its table or overlaps another", vtable)
            if offset % min(width, 4):
                self._fail("the field is not aligned", vtable)
            if width == 8:
                phases.add(-offset % 8)
            codes += f"{offset - end}x{code}"
            end = offset + width
        if len(phases) > 1:
            self._fail("the fields cannot all be aligned", vtable)
        self._place = None
        raw_of_tag = {item[2].wire.slot: i for i, item in enumerate(found) if item[3]}
        steps = tuple(
            _Step(field, field.position, i, raw_of_tag.get(field.wire.slot, 0), offset)
            for i, (offset, _, field, is_tag) in enumerate(found)
            if not is_tag
        )
        unpack = struct.Struct(codes.replace("<", "<4x", 1)).unpack_from
        return _Layout(size, unpack, phases.pop() if phases else None, steps, defaults, tuple(absent))

    def _member(self, field: FieldBinding, value: int, at: int) -> enum.IntEnum:
        member = field.members.get(value)
        if member is None:
            self._place = field
            self._fail(f"{value} is no {field.wire.target}", at)
        return member

    def _reference(self, field: FieldBinding, tag: int, at: int) -> Any:
        self._place = field
        target = self._follow(at)
        if field.wire.kind is Kind.STRING:
            return self._string(target)
        table = field.table
        if table is None:
            table = field.tags.get(tag)
            if table is None:
                self._fail(f"{tag} is no member of {field.wire.target}", at)
        self._place = field
        return self._table(table, target)

    def _string(self, at: int) -> str:
        known = self._strings.get(at)
        if known is not None:
            return known
        (length,) = _U32(self._data, at)
        if at + 4 + length >= self._size:
            self._fail("text runs out of the file", at)
        if self._data[at + 4 + length]:
            self._fail("text is not NUL-terminated", at)
        self._spend(length, at)
        try:
            text = str(self._data[at + 4 : at + 4 + length], "utf-8")
        except UnicodeDecodeError as error:
            self._fail(f"text is not UTF-8: {error.reason}", at + 4 + error.start)
        self._strings[at] = text
        return text

    def _vector(self, field: FieldBinding, source: int) -> Any:
        wire = field.wire
        self._place = field
        at = self._follow(source)
        (count,) = _U32(self._data, at)
        width = struct.calcsize(wire.code or "I")
        first = at + 4
        if count * width > self._size - first:
            self._fail(f"a vector of {count} runs out of the file", at)
        if count and first % width:
            self._fail("vector elements are not aligned", at)
        self._spend(count * width, at)
        if wire.kind is Kind.SCALAR:
            if field.as_bytes:
                return self._data[first : first + count].tobytes()
            return list(struct.unpack_from(f"<{count}{wire.code}", self._data, first))
        if wire.kind is Kind.BOOL:
            if count and max(self._data[first : first + count]) > 1:
                self._fail("bool is neither 0 nor 1", at)
            return [byte == 1 for byte in self._data[first : first + count]]
        if wire.kind is Kind.ENUM:
            numbers = struct.unpack_from(f"<{count}{wire.code}", self._data, first)
            return [self._member(field, number, at) for number in numbers]
        elements = []
        for source in itertools.islice(itertools.count(first, 4), count):
            self._place = field
            target = self._follow(source)
            if field.table is None:
                elements.append(self._string(target))
            else:
                elements.append(self._table(field.table, target))
        return elements

    def _absent(self, field: FieldBinding) -> Any:
        """What Python holds for an absent field: None if it may, else an empty value."""
        wire = field.wire
        if field.optional or wire.kind is Kind.UNION:
            return None
        if wire.is_vector:
            return b"" if field.as_bytes else []
        if wire.kind is Kind.ENUM:
            return field.members[int(wire.default or 0)]
        if wire.kind is Kind.BOOL:
            return wire.default == 1
        if wire.kind is Kind.STRING:
            return ""
        if field.table is None:
            return wire.default
        values: list[object] = [None] * len(field.table.fields)
        for member in field.table.fields:
            values[member.position] = self._absent(member)
        return field.table.make(*values)
