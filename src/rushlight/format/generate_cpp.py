"""C++ descriptors for the verifier and typed accessors, from a parsed schema."""

from __future__ import annotations

from rushlight.format.fbs import FieldDecl, SchemaDecl, TableDecl

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
    """Text of a header. Declarations of included namespaces are repeated where they are used, by include."""
    return _Header(schema, source).text()


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
            f"// Generated from schema/{self._source} by `python -m rushlight.format.generate`.",
            "// clang-format off",
            "#pragma once",
            "",
            "#include <cstdint>",
            "#include <string_view>",
            "",
            '#include "core/flatbuffer.h"',
        ]
        if len(own_enums) < len(schema.enums):
            lines.append('#include "program/schema_generated.h"')
        lines += ["", f"namespace {self._namespace} {{", ""]
        for enum in own_enums:
            lines.append(f"enum class {enum.name} : {_CPP_TYPES[enum.base]} {{")
            lines += [f"  {member} = {value}," for member, value in enum.members.items()]
            lines += ["};", ""]
        for union in schema.unions.values():
            lines.append(f"enum class {union.name} : uint8_t {{")
            lines.append("  NONE = 0,")
            lines += [f"  {member} = {i}," for i, member in enumerate(union.members, 1)]
            lines += ["};", ""]
        for table in self._tables:
            lines += self._accessors(table)
        lines += self._descriptors()
        lines.append(f"}}  // namespace {self._namespace}")
        return "\n".join(lines) + "\n"

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
        if member.target == "float32":
            return f"{float(member.default)!r}f"
        if member.target == "float64":
            return repr(float(member.default))
        return str(member.default)

    def _accessors(self, table: TableDecl) -> list[str]:
        lines = [f"struct {table.name} : flatbuffer::Table {{", "  using Table::Table;"]
        for member in table.fields:
            if member.deprecated:
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
                lines.append(f"  {kind} {name}_type() const {{ return scalar<{kind}>({tag_at}, {none}); }}")
                lines.append(f"  // Absent unless {name}_type() is the one asked for.")
                for tag, target in union.members.items():
                    lines.append(
                        f"  {target} {name}_as_{tag}() const {{ "
                        f"return {name}_type() == {kind}::{tag} ? table<{target}>({at}) : {target}(); }}"
                    )
                is_reference = False
            else:
                default = self._default(member)
                lines.append(f"  {kind} {name}() const {{ return scalar<{kind}>({at}, {default}); }}")
                is_reference = False
            if is_reference and not member.required:
                lines.append(f"  bool has_{name}() const {{ return field({at}) != nullptr; }}")
        lines += ["};", ""]
        return lines

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

    def _descriptors(self) -> list[str]:
        schema = self._schema
        lines = ["namespace descriptors {", ""]
        for table in self._tables:
            rows = self._field_rows(table)
            if rows:
                lines.append(f"inline constexpr flatbuffer::Field k{table.name}[] = {{")
                lines += [f"  {row}" for row in rows]
                lines.append("};")
        lines += ["", "inline constexpr flatbuffer::TableInfo kTables[] = {"]
        for table in self._tables:
            count = len(self._field_rows(table))
            fields = f"k{table.name}" if count else "nullptr"
            lines.append(f'  {{"{table.name}", {fields}, {count}}},')
        lines += ["};", ""]
        for union in schema.unions.values():
            indices = ", ".join(str(self._table_index[target]) for target in union.members.values())
            lines.append(f"inline constexpr uint16_t k{union.name}Members[] = {{{indices}}};")
        if schema.unions:
            lines += ["", "inline constexpr flatbuffer::UnionInfo kUnions[] = {"]
            for union in schema.unions.values():
                lines.append(f'  {{"{union.name}", k{union.name}Members, {len(union.members)}}},')
            lines += ["};", ""]
        lines += ["}  // namespace descriptors", ""]
        unions = "descriptors::kUnions" if schema.unions else "nullptr"
        root = self._table_index[schema.root]
        lines.append(
            f"inline constexpr flatbuffer::Schema k{schema.root}Schema = "
            f'{{descriptors::kTables, {unions}, {root}, {schema.depth()}, "{schema.identifier}"}};'
        )
        lines.append("")
        return lines
