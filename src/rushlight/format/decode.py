"""Converts FlatBuffers to dataclasses. The bytes are not trusted: they are checked before use.

The checks are those of the C++ verifier of FlatBuffers, including the limit on nested tables, and these:
fields do not overlap, texts are UTF-8, and enum values are known.
"""

from __future__ import annotations

import enum
import itertools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from rushlight.format.binding import Binding, FieldBinding, TableBinding
from rushlight.format.errors import MalformedError
from rushlight.format.wire import MAX_DEPTH, Kind

_MAX_SIZE = 0x7FFFFFFF
# Several parents may share a child, so that the decoded objects can be larger than the file. Their total size
# is limited to this multiple of the file size. Each table counts at least _TABLE_COST bytes.
_EXPANSION = 16
_TABLE_COST = 32

_U32 = struct.Struct("<I").unpack_from
_I32 = struct.Struct("<i").unpack_from
_VTABLE = struct.Struct("<HH").unpack_from


class _Step(NamedTuple):
    """How to decode one field that is present.

    Attributes:
        field: the field.
        position: the position of the argument in the constructor of the dataclass.
        raw: the index of the field's number among the unpacked numbers.
        tag: the index of a union's tag among the unpacked numbers.
        at: the offset of the field in the table, in bytes.
    """

    field: FieldBinding
    position: int
    raw: int
    tag: int
    at: int


class _Entry(NamedTuple):
    """A present entry of a vtable.

    Attributes:
        offset: the offset in the table.
        code: the code of the number in the `struct` module; references are "I".
        field: the field.
        is_tag: whether the entry is the tag of a union.
    """

    offset: int
    code: str
    field: FieldBinding
    is_tag: bool


class _Layout(NamedTuple):
    """A checked vtable.

    Attributes:
        size: the size of a table in bytes.
        unpack: a function that unpacks the numbers of all present fields.
        phase: the required address of a table modulo 8, or None if any multiple of 4 is valid.
        steps: how to decode the present fields.
        defaults: the constructor arguments, with the values of absent fields that are immutable.
        absent: the absent fields with mutable values, which are created for each table.
    """

    size: int
    unpack: Callable[[memoryview, int], tuple[int | float, ...]]
    phase: int | None
    steps: tuple[_Step, ...]
    defaults: list[object]
    absent: tuple[FieldBinding, ...]


def decode(binding: Binding, data: memoryview, *, start: int = 0) -> Any:
    """Decodes the root table.

    Args:
        binding: the schema and its dataclasses.
        data: the bytes. Alignment is relative to the first byte.
        start: the position of the offset of the root table.

    Returns:
        The dataclass of the root table.

    Raises:
        MalformedError: the bytes are invalid.
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
        self._field: FieldBinding | None = None
        self._depth = 0

    def run(self, start: int) -> Any:
        if self._size < start + 8:
            self._fail("the file is too short", 0)
        if self._size > _MAX_SIZE:
            self._fail("the tables are larger than 2 GiB", 0)
        identifier = self._data[start + 4 : start + 8].tobytes()
        if identifier != self._binding.schema.identifier:
            expected = self._binding.schema.identifier.decode()
            self._fail(f"the file identifier is {identifier!r}, not {expected!r}", start + 4)
        return self._table(self._binding.root, self._follow(start))

    def _fail(self, reason: str, offset: int) -> NoReturn:
        field = self._field
        raise MalformedError(
            reason,
            table=field.table_name if field else None,
            field=field.wire.name if field else None,
            offset=offset,
        )

    def _charge(self, cost: int, at: int) -> None:
        self._budget -= cost
        if self._budget < 0:
            self._fail("too many tables share the same children", at)

    def _follow(self, at: int) -> int:
        """Returns the target of the offset at `at`. Four bytes can be read at the target.

        `at` must be inside the data.
        """
        (offset,) = _U32(self._data, at)
        target: int = at + offset
        if offset == 0:
            self._fail("the offset is 0", at)
        if target + 4 > self._size:
            self._fail("the offset points outside the file", at)
        if target % 4:
            self._fail("the offset points to an object that is not aligned", at)
        return target

    def _table(self, table: TableBinding, at: int) -> Any:
        self._charge(_TABLE_COST, at)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} tables are inside each other", at)
        vtable = at - _I32(self._data, at)[0]
        layout = self._layouts.get((table, vtable))
        if layout is None:
            layout = self._layouts[table, vtable] = self._layout(table, vtable, at)
        if at + layout.size > self._size:
            self._fail(f"{table.name} extends beyond the end of the file", at)
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
                    self._field = field
                    self._fail("a bool is neither 0 nor 1", at + step.at)
                values[step.position] = raw[step.raw] == 1
            else:
                values[step.position] = self._reference(field, int(raw[step.tag]), at + step.at)
        for field in layout.absent:
            values[field.position] = self._absent(field)
        self._depth -= 1
        return table.make(*values)

    def _bounded(self, field: FieldBinding, value: int | float, at: int) -> int | float:
        assert field.wire.bounds is not None
        low, high = field.wire.bounds
        if not low <= value <= high:
            self._field = field
            self._fail(f"{value} is outside the range {low} to {high}", at)
        return value

    def _layout(self, table: TableBinding, vtable: int, at: int) -> _Layout:
        """Checks the vtable at `vtable` of a table at `at`, and returns how to decode tables with it."""
        if vtable < 0 or vtable % 2 or vtable + 4 > self._size:
            self._fail(f"the vtable of {table.name} is outside the file or not aligned", at)
        length, size = _VTABLE(self._data, vtable)
        if length < 4 or length % 2 or vtable + length > self._size or size < 4:
            self._fail(f"the vtable of {table.name} has an invalid size", vtable)
        offsets = struct.unpack_from(f"<{length // 2 - 2}H", self._data, vtable + 4)
        entries = self._entries(table, offsets, vtable)
        unpack, phase = self._unpacking(entries, size, vtable)
        defaults: list[object] = [None] * len(table.fields)
        created = []
        for field in table.fields:
            wire = field.wire
            if wire.slot < len(offsets) and offsets[wire.slot]:
                continue
            if not field.optional and (wire.is_vector or wire.kind is Kind.TABLE):
                created.append(field)
            else:
                defaults[field.position] = self._absent(field)
        raw_of_tag = {entry.field.wire.slot: i for i, entry in enumerate(entries) if entry.is_tag}
        steps = tuple(
            _Step(
                entry.field, entry.field.position, i, raw_of_tag.get(entry.field.wire.slot, 0), entry.offset
            )
            for i, entry in enumerate(entries)
            if not entry.is_tag
        )
        return _Layout(size, unpack, phase, steps, defaults, tuple(created))

    def _entries(self, table: TableBinding, offsets: tuple[int, ...], vtable: int) -> list[_Entry]:
        """Returns the present entries of a vtable, sorted by their offsets in the table.

        Raises:
            MalformedError: a required field is missing, or only the tag or the value of a union is present.
        """

        def offset_of(slot: int) -> int:
            return offsets[slot] if slot < len(offsets) else 0

        entries = []
        for field in table.fields:
            wire = field.wire
            offset = offset_of(wire.slot)
            if offset:
                is_scalar = not wire.is_vector and wire.kind in (Kind.SCALAR, Kind.ENUM, Kind.BOOL)
                entries.append(_Entry(offset, wire.code if is_scalar else "I", field, False))
            elif wire.required:
                self._field = field
                self._fail("the field is missing", vtable)
            if wire.kind is Kind.UNION:
                tag_offset = offset_of(wire.slot - 1)
                if bool(tag_offset) != bool(offset):
                    self._field = field
                    self._fail("only one of the type and the value of a union is present", vtable)
                if tag_offset:
                    entries.append(_Entry(tag_offset, "B", field, True))
        return sorted(entries, key=lambda entry: entry.offset)

    def _unpacking(
        self, entries: list[_Entry], size: int, vtable: int
    ) -> tuple[Callable[[memoryview, int], tuple[int | float, ...]], int | None]:
        """Returns `unpack` and `phase` of a layout; see `_Layout`.

        Raises:
            MalformedError: a field is not aligned, overlaps another field, or is outside the table of `size`
                bytes.
        """
        codes, end = "<4x", 4
        phases = set()
        for entry in entries:
            self._field = entry.field
            width = struct.calcsize(entry.code)
            if entry.offset < end or entry.offset + width > size:
                self._fail("the field is outside its table or overlaps another field", vtable)
            if entry.offset % min(width, 4):
                self._fail("the field is not aligned", vtable)
            if width == 8:
                phases.add(-entry.offset % 8)
            codes += f"{entry.offset - end}x{entry.code}"
            end = entry.offset + width
        if len(phases) > 1:
            self._fail("no address of the table aligns all fields", vtable)
        self._field = None
        return struct.Struct(codes).unpack_from, phases.pop() if phases else None

    def _member(self, field: FieldBinding, value: int, at: int) -> enum.IntEnum:
        member = field.members.get(value)
        if member is None:
            self._field = field
            self._fail(f"{value} is not a member of {field.wire.target}", at)
        return member

    def _reference(self, field: FieldBinding, tag: int, at: int) -> Any:
        self._field = field
        target = self._follow(at)
        if field.wire.kind is Kind.STRING:
            return self._string(target)
        table = field.table
        if table is None:
            table = field.tags.get(tag)
            if table is None:
                self._fail(f"the tag {tag} is not a member of {field.wire.target}", at)
        self._field = field
        return self._table(table, target)

    def _string(self, at: int) -> str:
        known = self._strings.get(at)
        if known is not None:
            return known
        (length,) = _U32(self._data, at)
        if at + 4 + length >= self._size:
            self._fail("a text extends beyond the end of the file", at)
        if self._data[at + 4 + length]:
            self._fail("a text is not NUL-terminated", at)
        self._charge(length, at)
        try:
            text = str(self._data[at + 4 : at + 4 + length], "utf-8")
        except UnicodeDecodeError as error:
            self._fail(f"a text is not UTF-8: {error.reason}", at + 4 + error.start)
        self._strings[at] = text
        return text

    def _vector(self, field: FieldBinding, source: int) -> Any:
        wire = field.wire
        self._field = field
        at = self._follow(source)
        (count,) = _U32(self._data, at)
        width = struct.calcsize(wire.code or "I")
        first = at + 4
        if count * width > self._size - first:
            self._fail(f"a vector of {count} elements extends beyond the end of the file", at)
        if count and first % width:
            self._fail("the elements of a vector are not aligned", at)
        self._charge(count * width, at)
        if wire.kind is Kind.SCALAR:
            if field.as_bytes:
                return self._data[first : first + count].tobytes()
            return list(struct.unpack_from(f"<{count}{wire.code}", self._data, first))
        if wire.kind is Kind.BOOL:
            if count and max(self._data[first : first + count]) > 1:
                self._fail("a bool is neither 0 nor 1", at)
            return [byte == 1 for byte in self._data[first : first + count]]
        if wire.kind is Kind.ENUM:
            numbers = struct.unpack_from(f"<{count}{wire.code}", self._data, first)
            return [self._member(field, number, at) for number in numbers]
        elements = []
        for source in itertools.islice(itertools.count(first, 4), count):
            self._field = field
            target = self._follow(source)
            if field.table is None:
                elements.append(self._string(target))
            else:
                elements.append(self._table(field.table, target))
        return elements

    def _absent(self, field: FieldBinding) -> Any:
        """Returns the value of an absent field: None if it is optional, else an empty or default value."""
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
