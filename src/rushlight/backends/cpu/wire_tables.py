"""Generated from schema/cpu_plan.fbs by `python -m rushlight.format.generate`."""

from rushlight.format.wire import Field, Kind, Schema

CPU_PLAN = Schema(
    root="Plan",
    identifier=b"RCP1",
    tables={
        "Expression": (Field("code", 0, Kind.SCALAR, "q", is_vector=True),),
        "Symbol": (
            Field("argument", 0, Kind.SCALAR, "I"),
            Field("axis", 1, Kind.SCALAR, "i"),
            Field("factor", 2, Kind.SCALAR, "q"),
            Field("shift", 3, Kind.SCALAR, "q"),
            Field("lower", 4, Kind.SCALAR, "q"),
            Field("upper", 5, Kind.SCALAR, "q"),
        ),
        "Storage": (
            Field("kind", 0, Kind.ENUM, "b", "StorageKind"),
            Field("bytes", 1, Kind.SCALAR, "Q"),
            Field("offset", 2, Kind.SCALAR, "Q"),
            Field("index", 3, Kind.SCALAR, "I"),
            Field("name", 4, Kind.STRING),
        ),
        "Value": (
            Field("storage", 0, Kind.SCALAR, "I"),
            Field("dtype", 1, Kind.SCALAR, "b"),
            Field("offset", 2, Kind.SCALAR, "I"),
            Field("sizes", 3, Kind.SCALAR, "I", is_vector=True),
            Field("strides", 4, Kind.SCALAR, "I", is_vector=True),
        ),
        "Argument": (
            Field("value", 0, Kind.SCALAR, "I"),
            Field("is_output", 1, Kind.BOOL, "B"),
        ),
        "Step": (
            Field("kind", 0, Kind.SCALAR, "H"),
            Field("values", 1, Kind.SCALAR, "I", is_vector=True),
            Field("ints", 2, Kind.SCALAR, "q", is_vector=True),
            Field("floats", 3, Kind.SCALAR, "f", is_vector=True),
            Field("debug_handle", 4, Kind.SCALAR, "I"),
        ),
        "Plan": (
            Field("version", 0, Kind.SCALAR, "I"),
            Field("target", 1, Kind.STRING),
            Field("vector_floats", 2, Kind.SCALAR, "I"),
            Field("panel_floats", 3, Kind.SCALAR, "I"),
            Field("expressions", 4, Kind.TABLE, target="Expression", is_vector=True),
            Field("symbols", 5, Kind.TABLE, target="Symbol", is_vector=True),
            Field("storages", 6, Kind.TABLE, target="Storage", is_vector=True),
            Field("values", 7, Kind.TABLE, target="Value", is_vector=True),
            Field("arguments", 8, Kind.TABLE, target="Argument", is_vector=True),
            Field("steps", 9, Kind.TABLE, target="Step", is_vector=True),
            Field("arena_bytes", 10, Kind.SCALAR, "Q"),
        ),
    },
    unions={},
    enums={
        "StorageKind": {
            "ARENA": 0,
            "ARGUMENT": 1,
            "CONSTANT": 2,
            "STATE": 3,
        },
    },
)
