"""Generated from schema/bundled_program.fbs by `python -m rushlight.codegen.generate`."""

from rushlight.format.wire import Field, Kind, Schema

BUNDLED_PROGRAM = Schema(
    root="BundledProgram",
    identifier=b"BP08",
    tables={
        "Int": (Field("int_val", 0, Kind.SCALAR, "q"),),
        "Bool": (Field("bool_val", 0, Kind.BOOL, "B"),),
        "Double": (Field("double_val", 0, Kind.SCALAR, "d"),),
        "Tensor": (
            Field("scalar_type", 0, Kind.ENUM, "b", "ScalarType"),
            Field("sizes", 1, Kind.SCALAR, "i", is_vector=True),
            Field("data", 2, Kind.SCALAR, "B", is_vector=True, align=16),
            Field("dim_order", 3, Kind.SCALAR, "B", is_vector=True),
        ),
        "Value": (Field("val", 1, Kind.UNION, target="ValueUnion"),),
        "BundledMethodTestCase": (
            Field("inputs", 0, Kind.TABLE, target="Value", is_vector=True),
            Field("expected_outputs", 1, Kind.TABLE, target="Value", is_vector=True),
        ),
        "BundledMethodTestSuite": (
            Field("method_name", 0, Kind.STRING),
            Field("test_cases", 1, Kind.TABLE, target="BundledMethodTestCase", is_vector=True),
        ),
        "BundledProgram": (
            Field("version", 0, Kind.SCALAR, "I"),
            Field("method_test_suites", 1, Kind.TABLE, target="BundledMethodTestSuite", is_vector=True),
            Field("program", 2, Kind.SCALAR, "B", is_vector=True, align=32),
        ),
    },
    unions={
        "ValueUnion": (
            ("Tensor", "Tensor"),
            ("Int", "Int"),
            ("Bool", "Bool"),
            ("Double", "Double"),
        ),
    },
    enums={
        "ScalarType": {
            "BYTE": 0,
            "CHAR": 1,
            "SHORT": 2,
            "INT": 3,
            "LONG": 4,
            "HALF": 5,
            "FLOAT": 6,
            "DOUBLE": 7,
            "COMPLEX32": 8,
            "COMPLEX64": 9,
            "COMPLEX128": 10,
            "BOOL": 11,
            "QINT8": 12,
            "QUINT8": 13,
            "QINT32": 14,
            "BFLOAT16": 15,
            "QUINT4x2": 16,
            "QUINT2x4": 17,
            "BITS16": 22,
            "FLOAT8E5M2": 23,
            "FLOAT8E4M3FN": 24,
            "FLOAT8E5M2FNUZ": 25,
            "FLOAT8E4M3FNUZ": 26,
            "UINT16": 27,
            "UINT32": 28,
            "UINT64": 29,
        },
    },
)
