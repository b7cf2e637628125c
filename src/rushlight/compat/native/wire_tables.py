"""Generated from schema/native_graph.fbs by `python -m rushlight.codegen.generate`."""

from rushlight.format.wire import Field, Kind, Schema

NATIVE_GRAPH = Schema(
    root="Program",
    identifier=b"NPTG",
    tables={
        "AffineGroup": (
            Field("scale_data_key", 0, Kind.STRING, required=True),
            Field("scale_dtype", 1, Kind.ENUM, "b", "ScalarType"),
            Field("quant_min", 2, Kind.SCALAR, "i"),
            Field("quant_max", 3, Kind.SCALAR, "i"),
            Field("group_size", 4, Kind.SCALAR, "i"),
            Field("zero_point_data_key", 5, Kind.STRING),
            Field("zero_point_dtype", 6, Kind.ENUM, "b", "ScalarType"),
        ),
        "PackedQuant": (Field("codec", 0, Kind.STRING, required=True),),
        "QuantSpec": (Field("scheme", 1, Kind.UNION, target="QuantScheme"),),
        "Dim": (
            Field("min", 0, Kind.SCALAR, "q"),
            Field("max", 1, Kind.SCALAR, "q", default=-1),
        ),
        "TensorMeta": (
            Field("dtype", 0, Kind.ENUM, "b", "ScalarType"),
            Field("sizes", 1, Kind.TABLE, target="Dim", is_vector=True),
            Field("dim_order", 2, Kind.SCALAR, "i", is_vector=True),
            Field("quant", 3, Kind.TABLE, target="QuantSpec"),
        ),
        "TensorValue": (
            Field("name", 0, Kind.STRING, required=True),
            Field("meta", 1, Kind.TABLE, target="TensorMeta", required=True),
        ),
        "TensorArg": (Field("name", 0, Kind.STRING, required=True),),
        "NoneArg": (),
        "IntArg": (
            Field("value", 0, Kind.SCALAR, "q"),
            Field("ref", 1, Kind.STRING),
        ),
        "FloatArg": (
            Field("value", 0, Kind.SCALAR, "d"),
            Field("ref", 1, Kind.STRING),
        ),
        "BoolArg": (
            Field("value", 0, Kind.BOOL, "B"),
            Field("ref", 1, Kind.STRING),
        ),
        "StringArg": (Field("value", 0, Kind.STRING, required=True),),
        "ScalarTypeArg": (Field("value", 0, Kind.ENUM, "b", "ScalarType"),),
        "IntListArg": (
            Field("values", 0, Kind.SCALAR, "q", is_vector=True, required=True),
            Field("refs", 1, Kind.STRING, is_vector=True),
        ),
        "FloatListArg": (Field("values", 0, Kind.SCALAR, "d", is_vector=True, required=True),),
        "BoolListArg": (Field("values", 0, Kind.BOOL, "B", is_vector=True, required=True),),
        "TensorListArg": (Field("names", 0, Kind.STRING, is_vector=True, required=True),),
        "OptionalTensorListArg": (
            Field("names", 0, Kind.STRING, is_vector=True, required=True),
            Field("has_value", 1, Kind.BOOL, "B", is_vector=True, required=True),
        ),
        "GraphArg": (
            Field("name", 0, Kind.STRING, required=True),
            Field("graph", 1, Kind.TABLE, target="Graph", required=True),
        ),
        "Argument": (Field("value", 1, Kind.UNION, target="ArgumentValue"),),
        "NamedArgument": (
            Field("name", 0, Kind.STRING),
            Field("arg", 1, Kind.TABLE, target="Argument", required=True),
            Field("mutated", 2, Kind.BOOL, "B"),
        ),
        "KeyValue": (
            Field("key", 0, Kind.STRING, required=True),
            Field("value", 1, Kind.STRING, required=True),
        ),
        "Output": (
            Field("name", 0, Kind.STRING, required=True),
            Field("alias_of", 1, Kind.STRING),
            Field("kind", 2, Kind.ENUM, "b", "OutputValueKind"),
            Field("names", 3, Kind.STRING, is_vector=True),
        ),
        "Node": (
            Field("name", 0, Kind.STRING, required=True),
            Field("op_kind", 1, Kind.ENUM, "b", "OpKind"),
            Field("target", 2, Kind.STRING),
            Field("inputs", 3, Kind.TABLE, target="NamedArgument", is_vector=True),
            Field("outputs", 4, Kind.TABLE, target="Output", is_vector=True),
            Field("metadata", 5, Kind.TABLE, target="KeyValue", is_vector=True),
        ),
        "NamedTensorRef": (
            Field("name", 0, Kind.STRING, required=True),
            Field("data_key", 1, Kind.STRING, required=True),
            Field("meta", 2, Kind.TABLE, target="TensorMeta", required=True),
            Field("kind", 3, Kind.ENUM, "b", "InputKind"),
            Field("mutated", 4, Kind.BOOL, "B"),
        ),
        "OutputSpec": (
            Field("name", 0, Kind.STRING, required=True),
            Field("kind", 1, Kind.ENUM, "b", "OutputKind"),
            Field("target", 2, Kind.STRING),
        ),
        "MutableBufferSpec": (
            Field("name", 0, Kind.STRING, required=True),
            Field("fqn", 1, Kind.STRING, required=True),
        ),
        "Graph": (
            Field("nodes", 0, Kind.TABLE, target="Node", is_vector=True, required=True),
            Field("inputs", 1, Kind.STRING, is_vector=True),
            Field("outputs", 2, Kind.STRING, is_vector=True),
            Field("tensor_values", 3, Kind.TABLE, target="TensorValue", is_vector=True),
        ),
        "Method": (
            Field("name", 0, Kind.STRING, required=True),
            Field("graph", 1, Kind.TABLE, target="Graph", required=True),
            Field("constants", 2, Kind.TABLE, target="NamedTensorRef", is_vector=True),
            Field("output_specs", 3, Kind.TABLE, target="OutputSpec", is_vector=True),
            Field("mutable_buffers", 4, Kind.TABLE, target="MutableBufferSpec", is_vector=True),
        ),
        "Program": (
            Field("version", 0, Kind.STRING),
            Field("methods", 1, Kind.TABLE, target="Method", is_vector=True, required=True),
        ),
    },
    unions={
        "QuantScheme": (
            ("AffineGroup", "AffineGroup"),
            ("PackedQuant", "PackedQuant"),
        ),
        "ArgumentValue": (
            ("TensorArg", "TensorArg"),
            ("NoneArg", "NoneArg"),
            ("IntArg", "IntArg"),
            ("FloatArg", "FloatArg"),
            ("BoolArg", "BoolArg"),
            ("StringArg", "StringArg"),
            ("ScalarTypeArg", "ScalarTypeArg"),
            ("IntListArg", "IntListArg"),
            ("FloatListArg", "FloatListArg"),
            ("BoolListArg", "BoolListArg"),
            ("TensorListArg", "TensorListArg"),
            ("OptionalTensorListArg", "OptionalTensorListArg"),
            ("GraphArg", "GraphArg"),
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
            "BOOL": 11,
            "BFLOAT16": 15,
            "UINT16": 16,
            "UINT32": 17,
            "UINT64": 18,
        },
        "OpKind": {
            "CALL_FUNCTION": 0,
            "PLACEHOLDER": 1,
            "OUTPUT": 2,
        },
        "InputKind": {
            "USER_INPUT": 0,
            "PARAMETER": 1,
            "BUFFER": 2,
            "CONSTANT_TENSOR": 3,
        },
        "OutputKind": {
            "USER_OUTPUT": 0,
            "BUFFER_MUTATION": 1,
            "USER_INPUT_MUTATION": 2,
        },
        "OutputValueKind": {
            "TENSOR": 0,
            "TENSOR_LIST": 1,
            "INT": 2,
            "BOOL": 3,
            "FLOAT": 4,
        },
    },
)
