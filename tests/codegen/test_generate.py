"""The generator of dataclasses, wire tables and C++ accessors from schemas."""

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rushlight.codegen.fbs import SchemaSyntaxError, parse_schema
from rushlight.codegen.generate import DATACLASSES, HEADERS, TABLES, main, stale
from rushlight.codegen.generate_cpp import cpp_header
from rushlight.codegen.generate_python import python_dataclasses, python_tables
from rushlight.format.binding import bind
from rushlight.format.decode import decode
from rushlight.format.encode import encode
from rushlight.format.errors import EncodeError
from rushlight.format.wire import Schema
from rushlight.format.wire_tables import FLAT_TENSOR, PROGRAM

ROOT = Path(__file__).parents[2]

SCHEMA = """
namespace test.space;  // a comment
file_identifier "TST1";
file_extension "tst";
enum Color : short { Red = 3, Green, Blue = -1, }
table Point { x: float = 1.5; color: Color = Blue; }
union Shape { Point, Dot: Point }
table Root {
  shape: Shape (required);
  old: [ushort] (deprecated);
  data: [ubyte] (force_align: 32, required);
  is_set: bool = true;
  points: [Point];
  names: [string];
  id: int = -1;
}
root_type Root;
"""


OPERATIONS = """
namespace test.plan;
file_identifier "TST2";
attribute "reads";
attribute "writes";
attribute "in_place";
attribute "min";
attribute "max";
attribute "closed";
attribute "optional";
/// What is computed.
enum Function : byte (closed) { NONE = -1, SQRT = 0 }
/// How far.
table Range { low: float = -inf; high: byte = 127; }
/// The sum of its inputs.
table Sum {
  inputs: [uint] (reads, in_place);
  /// Added at the end.
  bias: uint = null (reads);
  output: uint (writes);
  function: Function = NONE;
  groups: uint = 1 (min: 1, max: 64);
  range: Range;
  limit: Range (optional);
}
union Operation { Sum }
table Step { operation: Operation (required); debug_handle: uint; }
root_type Step;
"""


def parse(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "test.fbs"
    path.write_text(text)
    return path


def test_generated_files_are_current() -> None:
    assert stale(ROOT) == []


def test_check_fails_if_a_file_is_not_current(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schema").mkdir()
    for source in (ROOT / "schema").glob("*.fbs"):
        (tmp_path / "schema" / source.name).write_text(source.read_text())
    for path in (*HEADERS.values(), *TABLES, *(path for path, _ in DATACLASSES.values())):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    arguments = ["--root", str(tmp_path)]
    assert main([*arguments, "--check"]) == 1
    assert "schema_generated.h" in capsys.readouterr().err
    assert main(arguments) == 0
    assert main([*arguments, "--check"]) == 0


def test_the_committed_tables_are_what_the_generator_evaluates_to() -> None:
    for name, committed in (("program", PROGRAM), ("flat_tensor", FLAT_TENSOR)):
        scope: dict[str, Schema] = {}
        exec(python_tables({name: parse_schema(ROOT / "schema" / f"{name}.fbs")}), scope)
        assert scope[name.upper()] == committed


def test_slots_defaults_and_attributes(tmp_path: Path) -> None:
    schema = parse_schema(parse(tmp_path, SCHEMA))
    assert (schema.namespace, schema.identifier, schema.extension, schema.root) == (
        "test.space",
        "TST1",
        "tst",
        "Root",
    )
    assert schema.enums["Color"].members == {"Red": 3, "Green": 4, "Blue": -1}
    assert schema.unions["Shape"].members == {"Point": "Point", "Dot": "Point"}
    fields = {field.name: field for field in schema.tables["Root"].fields}
    assert [field.slot for field in fields.values()] == [1, 2, 3, 4, 5, 6, 7]
    assert fields["old"].deprecated and fields["shape"].required and fields["data"].required
    assert (fields["data"].align, fields["is_set"].default, fields["id"].default) == (32, 1, -1)
    point = schema.tables["Point"].fields
    assert (point[0].default, point[1].default) == (1.5, -1)
    assert schema.depth() == 2


def test_cpp_accessors(tmp_path: Path) -> None:
    text = cpp_header(parse_schema(parse(tmp_path, SCHEMA)), "test.fbs")
    for line in (
        "namespace test::space {",
        "enum class Color : int16_t {",
        "  float x() const { return scalar<float>(4, 1.5f); }",
        "  Color color() const { return scalar<Color>(6, Color::Blue); }",
        "  Shape shape_type() const { return scalar<Shape>(4, Shape::NONE); }",
        "  Point shape_as_Dot() const { return Point(member(4, static_cast<uint8_t>(Shape::Dot))); }",
        "  flatbuffer::Vector<Point> points() const { return vector<Point>(14); }",
        "  flatbuffer::Vector<std::string_view> names() const { return vector<std::string_view>(16); }",
        "  bool is_set() const { return scalar<bool>(12, true); }",
        '  {"shape_type", flatbuffer::Kind::UnionTag, 1, true, 0},',
        '  {"old", flatbuffer::Kind::Scalars, 2, false, 0},',
        "inline constexpr uint16_t kShapeMembers[] = {0, 0};",
        "inline constexpr flatbuffer::Schema kRootSchema = "
        '{descriptors::kTables, descriptors::kUnions, 1, 2, "TST1"};',
    ):
        assert line in text.splitlines()
    assert "old()" not in text


def test_operands_bounds_and_documentation(tmp_path: Path) -> None:
    schema = parse_schema(parse(tmp_path, OPERATIONS))
    table = schema.tables["Sum"]
    assert table.doc == "The sum of its inputs."
    assert [(field.name, field.effect) for field in table.operands] == [
        ("inputs", "reads"),
        ("bias", "reads"),
        ("output", "writes"),
    ]
    fields = {field.name: field for field in table.fields}
    assert fields["bias"].doc == "Added at the end." and fields["bias"].default is None
    assert (fields["function"].bounds, fields["groups"].bounds) == ((-1, 0), (1, 64))
    assert schema.tables["Range"].fields[0].default == float("-inf")


def test_cpp_operands_and_bounds(tmp_path: Path) -> None:
    text = cpp_header(parse_schema(parse(tmp_path, OPERATIONS)), "test.fbs")
    for line in (
        "#define RUSHLIGHT_OPERATION_MEMBERS(X) \\",
        "  X(Sum)",
        "  flatbuffer::Operands inputs() const { "
        'return flatbuffer::Operands("inputs", vector<uint32_t>(4)); }',
        "  flatbuffer::Operand bias() const { "
        'return {"bias", scalar<uint32_t>(6, flatbuffer::kNoOperand)}; }',
        "  float low() const { return scalar<float>(4, -std::numeric_limits<float>::infinity()); }",
        "  {3, true, -1, 0},",
        "  {4, false, 1, 64},",
        '  {"bias", 6, false, true, flatbuffer::Effect::Reads},',
        '  {"Sum", descriptors::kSumOperands, 3},',
        '  {"Sum", kSum, 7, kSumBounds, 2},',
    ):
        assert line in text.splitlines()


@contextmanager
def module_of(text: str) -> Iterator[Any]:
    """Returns a module with the text as its code, in which dataclasses find the types of their fields."""
    name = "generated_dataclasses"
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        exec(text, vars(module))
        yield module
    finally:
        del sys.modules[name]


def test_dataclasses_of_unions(tmp_path: Path) -> None:
    schema = parse_schema(
        parse(
            tmp_path,
            """
file_identifier "TST0";
attribute "optional";
table Pair { a: int = 3; b: [int]; old: int (deprecated); }
table Name { text: string; }
union Item {
  /// The sum of two numbers.
  Sum: Pair,
  Name,
}
/// What is listed.
table Entry { item: Item (optional); factor: float; }
root_type Entry;
""",
        )
    )
    with module_of(python_dataclasses(schema, "test.fbs")) as scope:
        assert (scope.Sum.__doc__, scope.Entry.__doc__) == ("The sum of two numbers.", "What is listed.")
        assert scope.Sum.__mro__[1] is scope.Pair and scope.Item == scope.Sum | scope.Name
        assert (scope.Entry().item, scope.Sum(), scope.Pair(4, [5]).b) == (None, scope.Sum(3, []), [5])
        tables: dict[str, Schema] = {}
        exec(python_tables({"test": schema}), tables)
        binding = bind(tables["TEST"], vars(scope))
        for entry in (scope.Entry(scope.Sum(1, [2]), 0.5), scope.Entry(scope.Name("x")), scope.Entry()):
            assert decode(binding, memoryview(bytes(encode(binding, entry)))) == entry


def test_dataclasses_of_operations(tmp_path: Path) -> None:
    text = python_dataclasses(
        parse_schema(parse(tmp_path, OPERATIONS)), "test.fbs", "rushlight.backends.cpu.plan.operation"
    )
    with module_of(text) as scope:
        total = scope.Sum(inputs=[3, 4], output=5)
        assert (total.bias, total.function, total.range, total.limit) == (
            None,
            scope.Function.NONE,
            scope.Range(),
            None,
        )
        assert [(operand.name, value) for operand, value in total.operands()] == [
            ("inputs", 3),
            ("inputs", 4),
            ("output", 5),
        ]
        assert [operand.in_place for operand in total.OPERANDS] == [True, False, False]
        tables: dict[str, Schema] = {}
        exec(python_tables({"test": parse_schema(tmp_path / "test.fbs")}), tables)
        binding = bind(tables["TEST"], vars(scope))
        step = scope.Step(operation=total, debug_handle=9)
        assert decode(binding, memoryview(bytes(encode(binding, step)))) == step
        total.groups = 65
        with pytest.raises(EncodeError, match="Sum.groups: 65 is outside the range 1 to 64"):
            encode(binding, step)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("table A { b: int", "expected ';'"),
        ("struct A { b: int; }", "'struct' is not supported"),
        ("table A { b: C; } root_type A;", "unknown type 'C'"),
        ("table A { b: [A]; } root_type A;", "table A contains itself"),
        ("union U { A } table A { b: [U]; } root_type A;", "vectors of unions"),
        ("union U { B } table A { b: U; } root_type A;", "unknown table 'B'"),
        ("table A { b: int (required); } root_type A;", "only references can be required"),
        ("table A { b: int (key); } root_type A;", "attribute 'key' is not supported"),
        ("table A {} table A {} root_type A;", "A is declared twice"),
        ("enum E : byte { X, X }", "E.X is declared twice"),
        ("enum E : float { X }", "'float' cannot be the type of an enum"),
        ("enum E : byte { X = 1 } table A { b: E; } root_type A;", "default is not a member"),
        ("table A { b: int = x; } root_type A;", "'x' is not a valid default for the type int"),
        ('file_identifier "toolong";', "four characters"),
        ("table A {}", "root_type '' is not a table"),
        ("table A { b: int; } %", "unexpected '%'"),
        ("table A { b: [int] = null; } root_type A;", "only numbers can have the default null"),
        ('attribute "reads"; table A { b: int (reads); } root_type A;', "an operand must be a uint"),
        ('attribute "min"; table A { b: int (min: 1); } root_type A;', "bounds need both a min and a max"),
        (
            'attribute "min"; attribute "max"; table A { b: int (min: 1, max: 2); } root_type A;',
            "the default is out of its bounds",
        ),
        ('attribute "closed"; enum E : byte (closed) { X = 1, Y = 3 }', "are not consecutive numbers"),
    ],
)
def test_what_the_parser_refuses(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SchemaSyntaxError, match=message):
        parse_schema(parse(tmp_path, text))


def test_recursive_tables_have_no_header(tmp_path: Path) -> None:
    text = """
        file_identifier "TST3";
        attribute "recursive";
        table Node { leaves: [int]; child: Tree (recursive); }
        table Tree { nodes: [Node]; }
        root_type Tree;
    """
    schema = parse_schema(parse(tmp_path, text))
    assert list(schema.tables) == ["Node", "Tree"] and schema.is_recursive
    assert 'Field("child", 1, Kind.TABLE, target="Tree")' in python_tables({"test": schema})
    with pytest.raises(SchemaSyntaxError, match="does not support recursive tables"):
        cpp_header(schema, "test.fbs")


def test_syntax_errors_name_the_line(tmp_path: Path) -> None:
    with pytest.raises(SchemaSyntaxError, match=r"test\.fbs:3: expected ':'"):
        parse_schema(parse(tmp_path, "\ntable A {\n  b int;\n}"))
