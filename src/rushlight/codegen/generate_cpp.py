"""Generates the C++ header of a schema: descriptors for the verifier, and typed accessors."""

from __future__ import annotations

import math

from rushlight.codegen.fbs import FieldDecl, SchemaDecl, SchemaSyntaxError, TableDecl, UnionDecl

_CPP_TYPES = {
    "bool": "bool",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float32": "float",
    "float64": "double",
}
_SIZES = {"bool": 1, "float32": 4, "float64": 8} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_VECTOR_KINDS = {
    "scalar": "Scalars",
    "enum": "Scalars",
    "bool": "Bools",
    "string": "Strings",
    "table": "Tables",
}
_KINDS = {"scalar": "Scalar", "enum": "Scalar", "bool": "Bool", "string": "String", "table": "Table"}


def cpp_header(schema: SchemaDecl, source: str) -> str:
    """Returns the text of a header.

    Enums of another namespace are not declared again; the header includes `program/schema_generated.h`.

    Args:
        schema: the schema.
        source: the name of its file.

    Raises:
        SchemaSyntaxError: a table may contain itself, which the C++ verifier does not support.
    """
    if schema.is_recursive:
        raise SchemaSyntaxError(f"{source}: the C++ verifier does not support recursive tables")
    return _Header(schema, source).text()


def _array(kind: str, name: str, rows: list[str]) -> list[str]:
    """Returns the definition of a constant array k{name}."""
    return [f"inline constexpr {kind} k{name}[] = {{", *(f"  {row}" for row in rows), "};"]


def _comment(doc: str, indent: str) -> list[str]:
    return [f"{indent}// {line}" for line in doc.splitlines()]


def _slots(table: TableDecl) -> list[tuple[int, FieldDecl]]:
    """Returns the fields with their indices in the table's array of descriptors."""
    return [(member.slot, member) for member in table.fields]


class _Header:
    def __init__(self, schema: SchemaDecl, source: str) -> None:
        self._schema = schema
        self._source = source
        self._tables = list(schema.tables.values())
        self._table_index = {table.name: i for i, table in enumerate(self._tables)}
        self._union_index = {name: i for i, name in enumerate(schema.unions)}
        self._namespace = schema.namespace.replace(".", "::")

    def text(self) -> str:
        schema = self._schema
        own_enums = [enum for enum in schema.enums.values() if self._is_own(enum.name)]
        lines = [
            f"// Generated from schema/{self._source} by `python -m rushlight.codegen.generate`.",
            "// clang-format off",
            "#pragma once",
            "",
            "#include <cstdint>",
            *(["#include <limits>"] if self._has_infinities() else []),
            "#include <string_view>",
            "",
            '#include "core/flatbuffer.h"',
        ]
        if len(own_enums) < len(schema.enums):
            lines.append('#include "program/schema_generated.h"')
        lines += ["", f"namespace {self._namespace} {{", ""]
        for enum in own_enums:
            lines += _comment(enum.doc, "")
            lines.append(f"enum class {enum.name} : {_CPP_TYPES[enum.base]} {{")
            lines += [f"  {member} = {value}," for member, value in enum.members.items()]
            lines += ["};", ""]
        for union in schema.unions.values():
            lines.append(f"enum class {union.name} : uint8_t {{")
            lines.append("  NONE = 0,")
            lines += [f"  {member} = {i}," for i, member in enumerate(union.members, 1)]
            lines += ["};", ""]
            if self._has_operands(union):
                lines.append(f"// Applies X to the name of each member of {union.name}.")
                lines.append(f"#define RUSHLIGHT_{union.name.upper()}_MEMBERS(X) \\")
                lines.append(" \\\n".join(f"  X({member})" for member in union.members))
                lines.append("")
        for table in self._tables:
            lines += self._accessors(table)
        lines += self._descriptors()
        lines.append(f"}}  // namespace {self._namespace}")
        return "\n".join(lines) + "\n"

    def _has_infinities(self) -> bool:
        defaults = (member.default for table in self._tables for member in table.fields)
        return any(isinstance(default, float) and math.isinf(default) for default in defaults)

    def _has_operands(self, union: UnionDecl) -> bool:
        return any(self._schema.tables[target].operands for target in union.members.values())

    def _is_own(self, name: str) -> bool:
        return self._schema.namespaces[name] == self._schema.namespace

    def _cpp_type(self, member: FieldDecl) -> str:
        if member.kind in ("scalar", "bool"):
            return _CPP_TYPES[member.target]
        if member.kind == "string":
            return "std::string_view"
        if self._is_own(member.target):
            return member.target
        return "::" + self._schema.namespaces[member.target].replace(".", "::") + "::" + member.target

    def _default(self, member: FieldDecl) -> str:
        if member.kind == "bool":
            return "true" if member.default else "false"
        if member.kind == "enum":
            members = self._schema.enums[member.target].members
            name = next(name for name, value in members.items() if value == member.default)
            return f"{self._cpp_type(member)}::{name}"
        if member.default is None:
            return f"std::numeric_limits<{self._cpp_type(member)}>::max()"
        if math.isinf(member.default):
            sign = "-" if member.default < 0 else ""
            return f"{sign}std::numeric_limits<{self._cpp_type(member)}>::infinity()"
        if member.target == "float32":
            return f"{float(member.default)!r}f"
        if member.target == "float64":
            return repr(float(member.default))
        return str(member.default)

    def _accessors(self, table: TableDecl) -> list[str]:
        lines = _comment(table.doc, "")
        lines += [f"struct {table.name} : flatbuffer::Table {{", "  using Table::Table;"]
        for member in table.fields:
            if member.deprecated:
                continue
            lines += _comment(member.doc, "  ")
            if member.effect is not None:
                lines.append(f"  {self._operand(member)}")
                continue
            name = member.name
            at = 4 + 2 * member.slot
            kind = self._cpp_type(member)
            is_reference = True
            if member.is_vector:
                lines.append(
                    f"  flatbuffer::Vector<{kind}> {name}() const {{ return vector<{kind}>({at}); }}"
                )
            elif member.kind == "string":
                lines.append(f"  std::string_view {name}() const {{ return string({at}); }}")
            elif member.kind == "table":
                lines.append(f"  {kind} {name}() const {{ return table<{kind}>({at}); }}")
            elif member.kind == "union":
                union = self._schema.unions[member.target]
                tag_at, none = at - 2, f"{kind}::NONE"
                lines.append(
                    f"  flatbuffer::Table {name}() const {{ return table<flatbuffer::Table>({at}); }}"
                )
                lines.append(f"  {kind} {name}_type() const {{ return scalar<{kind}>({tag_at}, {none}); }}")
                lines.append(f"  // The result is absent if {name}_type() is another type.")
                for tag, target in union.members.items():
                    value = f"member({tag_at}, static_cast<uint8_t>({kind}::{tag}))"
                    lines.append(f"  {target} {name}_as_{tag}() const {{ return {target}({value}); }}")
                is_reference = False
            else:
                default = self._default(member)
                lines.append(f"  {kind} {name}() const {{ return scalar<{kind}>({at}, {default}); }}")
                is_reference = False
            if is_reference and not member.required:
                lines.append(f"  bool has_{name}() const {{ return field({at}) != nullptr; }}")
        lines += ["};", ""]
        return lines

    @staticmethod
    def _operand(member: FieldDecl) -> str:
        at = 4 + 2 * member.slot
        if member.is_vector:
            value = f'flatbuffer::Operands("{member.name}", vector<uint32_t>({at}))'
            return f"flatbuffer::Operands {member.name}() const {{ return {value}; }}"
        default = "flatbuffer::kNoOperand" if member.default is None else str(member.default)
        value = f'{{"{member.name}", scalar<uint32_t>({at}, {default})}}'
        return f"flatbuffer::Operand {member.name}() const {{ return {value}; }}"

    def _field_rows(self, table: TableDecl) -> list[str]:
        rows = []
        for member in table.fields:
            required = "true" if member.required else "false"
            if member.kind == "union":
                target = self._union_index[member.target]
                tag = f'{{"{member.name}_type", flatbuffer::Kind::UnionTag, 1, {required}, {target}}},'
                value = f'{{"{member.name}", flatbuffer::Kind::Union, 4, {required}, {target}}},'
                rows += [tag, value]
                continue
            kinds = _VECTOR_KINDS if member.is_vector else _KINDS
            size, target = 4, 0
            if member.kind == "enum":
                size = _SIZES[self._schema.enums[member.target].base]
            elif member.kind in ("scalar", "bool"):
                size = _SIZES[member.target]
            elif member.kind == "table":
                target = self._table_index[member.target]
            kind = kinds[member.kind]
            rows.append(f'{{"{member.name}", flatbuffer::Kind::{kind}, {size}, {required}, {target}}},')
        return rows

    def _base(self, member: FieldDecl) -> str:
        return self._schema.enums[member.target].base if member.kind == "enum" else member.target

    def _descriptors(self) -> list[str]:
        """Returns the constants from which the runtime validates a file."""
        schema = self._schema
        lines = ["namespace descriptors {", ""]
        for table in self._tables:
            lines += self._field_descriptors(table)
            lines += self._bound_descriptors(table)
            lines += self._operand_descriptors(table)
        lines += self._table_descriptors()
        lines += self._union_descriptors()
        lines += ["}  // namespace descriptors", ""]
        for union in schema.unions.values():
            if self._has_operands(union):
                lines += self._operand_lists(union)
        unions = "descriptors::kUnions" if schema.unions else "nullptr"
        root = self._table_index[schema.root]
        lines.append(
            f"inline constexpr flatbuffer::Schema k{schema.root}Schema = "
            f'{{descriptors::kTables, {unions}, {root}, {schema.depth()}, "{schema.identifier}"}};'
        )
        lines.append("")
        return lines

    def _field_descriptors(self, table: TableDecl) -> list[str]:
        rows = self._field_rows(table)
        return _array("flatbuffer::Field", table.name, rows) if rows else []

    def _bound_descriptors(self, table: TableDecl) -> list[str]:
        rows = []
        for slot, member in _slots(table):
            if member.bounds:
                signed = "false" if self._base(member).startswith("uint") else "true"
                rows.append(f"{{{slot}, {signed}, {member.bounds[0]}, {member.bounds[1]}}},")
        return _array("flatbuffer::Bounds", f"{table.name}Bounds", rows) if rows else []

    def _operand_descriptors(self, table: TableDecl) -> list[str]:
        rows = []
        for member in table.operands:
            assert member.effect is not None
            effect = f"flatbuffer::Effect::{member.effect.capitalize()}"
            absent = "true" if member.default is None else "false"
            vector = "true" if member.is_vector else "false"
            rows.append(f'{{"{member.name}", {4 + 2 * member.slot}, {vector}, {absent}, {effect}}},')
        return _array("flatbuffer::OperandInfo", f"{table.name}Operands", rows) if rows else []

    def _table_descriptors(self) -> list[str]:
        rows = []
        for table in self._tables:
            count = len(self._field_rows(table))
            fields = f"k{table.name}" if count else "nullptr"
            limited = sum(member.bounds is not None for member in table.fields)
            bounded = f"k{table.name}Bounds" if limited else "nullptr"
            rows.append(f'{{"{table.name}", {fields}, {count}, {bounded}, {limited}}},')
        return ["", *_array("flatbuffer::TableInfo", "Tables", rows), ""]

    def _union_descriptors(self) -> list[str]:
        unions = self._schema.unions.values()
        if not unions:
            return []
        lines = []
        for union in unions:
            indices = ", ".join(str(self._table_index[target]) for target in union.members.values())
            lines.append(f"inline constexpr uint16_t k{union.name}Members[] = {{{indices}}};")
        rows = [f'{{"{union.name}", k{union.name}Members, {len(union.members)}}},' for union in unions]
        return [*lines, "", *_array("flatbuffer::UnionInfo", "Unions", rows), ""]

    def _operand_lists(self, union: UnionDecl) -> list[str]:
        rows = []
        for tag, target in union.members.items():
            count = len(self._schema.tables[target].operands)
            operands = f"descriptors::k{target}Operands" if count else "nullptr"
            rows.append(f'{{"{tag}", {operands}, {count}}},')
        return [
            f"// The name and the operands of each member of {union.name}, starting with tag 1.",
            *_array("flatbuffer::OperandList", f"{union.name}Operands", rows),
            "",
        ]
