"""Seeds of the fuzzers: small files of every format, and programs of every kind."""

from __future__ import annotations

import io
import json
import tempfile
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.utils._pytree as pytree
from PIL import Image
from tests.fuzz.calls import calls, rows
from tests.fuzz.single_call import single_call_program
from tests.llm.tokenizer_files import write_tokenizers
from tests.programs import CASES
from tests.torture.configurations import NAMES, QUANTIZERS, compile_program, configurations_of, quantized

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.compat.native.lowering import to_native
from rushlight.compat.saved_programs import save as save_edge_program
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.edge import to_edge
from rushlight.devtools.bundled_program import BundledProgram
from rushlight.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from rushlight.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from rushlight.format.pte import read_pte
from rushlight.quantize.errors import QuantizationError
from rushlight.runtime import Runtime

MAX_BYTES = 1 << 16  # maximum size of a seed

Write = Callable[[str, str, bytes], None]  # format, name of the file, contents


def number_of_outs(name: str, arguments: int) -> int:
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    try:
        schema = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")._schema
    except AttributeError:
        return 1
    return sum(argument.is_out for argument in schema.arguments) or min(1, arguments)


def write_operators(write: Write) -> list[str]:
    """Writes a program for each call of each kernel, and returns the kernels without a program."""
    missing = []
    for library, name in rows():
        count = 0
        for i, call in enumerate(calls(library, name)):
            try:
                data = single_call_program(
                    call, number_of_outs(name, len(call.args)), constant_tensors=i % 2 == 1
                )
            except (ValueError, KeyError, OverflowError):
                continue
            write("program", f"{library}-{name.replace('::', '-')}-{i}.pte", data)
            count += 1
        if count == 0:
            missing.append(f"{library} {name}")
    return missing


def programs() -> Iterator[tuple[str, bytes]]:
    """Yields programs of all kinds: control flow, dynamic sizes, state, delegates, several methods."""
    for name, case in CASES.items():
        exported = case.export()
        for configuration in NAMES:
            if configuration != "high":
                yield f"{name}-{configuration}.pte", compile_program(exported, configuration)
    for name in ("digits_cnn", "linear", "attention", "lstm"):
        case = CASES[name]
        for quantizer in QUANTIZERS:
            data = [case.inputs()]
            try:
                program = quantized(case.export(), quantizer, data)
            except QuantizationError:  # some quantizers leave recurrent layers in float
                continue
            for configuration in configurations_of(quantizer):
                yield (
                    f"{name}-{quantizer}-{configuration}.pte".replace(" ", "-"),
                    compile_program(program, configuration),
                )
    several = {name: CASES[name].export() for name in ("counter", "linear", "cond", "dynamic_batch")}
    for partitioner in ((), (CpuPartitioner(),)):
        compiled = rushlight.compile(
            several, partitioner=partitioner, constant_methods={"version": 3, "name": "net"}
        )
        yield f"methods-{len(partitioner)}.pte", bytes(compiled.buffer)
    digest = rushlight.compile(CASES["linear"].export(), digest=True)
    yield "digest.pte", bytes(digest.buffer)


def quick_programs() -> Iterator[tuple[str, bytes]]:
    """Yields a few programs: on kernels and on both native backends, with control flow and with state."""
    for name in ("linear", "cond", "counter", "digits_cnn"):
        exported = CASES[name].export()
        for configuration in ("kernels", "default", "xnnpack"):
            yield f"{name}-{configuration}.pte", compile_program(exported, configuration)


def payloads(program: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the format and the bytes of every payload of a native backend."""
    file = read_pte(program)
    for plan in file.program.execution_plan:
        for delegate in plan.delegates:
            data = bytes(file.delegate_data[delegate.processed.index])
            yield {"CpuBackend": "cpu_plan"}.get(delegate.id, "xnnpack_payload"), data


def outside_data() -> tuple[bytes, bytes]:
    """Returns a program and the data file of its constants."""
    config = ExecutorchBackendConfig(external_constants=True)
    compiled = rushlight.compile(CASES["conv_bn"].export(), partitioner=(), backend_config=config)
    (data,) = compiled.manager.data_files.values()
    return bytes(compiled.buffer), bytes(data)


def bundles() -> Iterator[tuple[str, bytes]]:
    """Yields programs with test cases."""
    for name in ("add", "linear", "counter", "cond", "indexing"):
        case = CASES[name]
        exported = case.export()
        inputs = case.inputs()
        outputs = exported.module()(*inputs)
        cases = [MethodTestCase(inputs, [outputs] if isinstance(outputs, torch.Tensor) else list(outputs))]
        for partitioner in ((), (CpuPartitioner(),)):
            compiled = rushlight.compile(exported, partitioner=partitioner)
            bundle = BundledProgram(compiled.manager, [MethodTestSuite("forward", cases)])
            kind = "plan" if partitioner else "kernels"
            yield f"{name}-{kind}.bpte", serialize_from_bundled_program_to_flatbuffer(bundle)


def records() -> Iterator[tuple[str, str, bytes]]:
    """Yields the format, the name and the bytes of ETDumps, ETRecords and saved programs."""
    for name in ("linear", "cond", "dynamic_batch"):
        case = CASES[name]
        exported = case.export()
        saved = io.BytesIO()
        torch.export.save(exported, saved)
        yield "pt2", f"{name}.pt2", saved.getvalue()
        compiled = rushlight.compile(exported, partitioner=(), generate_etrecord=True)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "etrecord.bin"
            compiled.manager.get_etrecord().save(path)
            yield "etrecord", f"{name}.bin", path.read_bytes()
        program = Runtime.get().load_program(compiled.buffer, enable_etdump=True, debug_buffer_size=1 << 14)
        program.load_method("forward").execute(list(case.inputs()))
        yield "etdump", f"{name}.etdp", _without_prefix(program.etdump()[0])


def _without_prefix(dump: bytes) -> bytes:
    """Returns the tables without the four bytes of their size."""
    return dump[4:] if dump[8:12] == b"ED00" else dump


KERNELS_YAML = """\
- op: add.out
  type_alias:
    T0: [Float, Double]
    T1: [Int]
  dim_order_alias:
    D0: [0, 1, 2, 3]
    D1: [0, 2, 3, 1]
  kernels:
    - arg_meta: null
      kernel_name: torch::executor::add_out
    - arg_meta:
        self: [T0, D0]
        other: [T1, D1]
        out: [T0, D1]
      kernel_name: mine::add_mixed
- func: mine::f.out(Tensor? x, int[2] d=[0, 1], *, Tensor(a!) out) -> Tensor(a!)
  kernels:
    - kernel_name: mine::f_out
"""


SELECTED_YAML = """\
include_all_operators: false
operators:
  aten::add.out:
    is_root_operator: true
  aten::mul.out:
    is_root_operator: true
et_kernel_metadata:
  aten::add.out:
  - v1/6;0,1|6;0,1
  aten::mul.out:
  - default
"""

KERNEL_TABLE = """\
# operator dtypes argument:dtypes
aten::add.out float32,int64
aten::embedding.out float32 1:int32,int64
mine::f.out
"""

BUFFERS_CSV = """\
id,lower,upper,size
a,0,3,16
b,1,4,32
c,3,6,16
"""


def structures() -> Iterator[str]:
    """Yields the JSON texts of structures of inputs."""
    leaf: Any = torch.zeros(1)
    pair = namedtuple("pair", "left right")
    for values in (
        (leaf,),
        ({"a": leaf, "b": [leaf, leaf]},),
        (OrderedDict(a=leaf), defaultdict(list, b=leaf), deque([leaf])),
        ((), {"x": (leaf, None)}),
    ):
        yield pytree.treespec_dumps(pytree.tree_structure((values, {})))
    pytree._register_namedtuple(pair, serialized_type_name="tests.pair")
    yield pytree.treespec_dumps(pytree.tree_structure(((pair(leaf, leaf),), {"k": leaf})))
    named = json.loads(pytree.treespec_dumps(pytree.tree_structure(((leaf, leaf), {}))))
    named[1]["names"] = ["x", "y"]
    yield json.dumps(named)


def input_files() -> Iterator[tuple[str, str, bytes]]:
    """Yields the format, the name and the bytes of files with arrays and images."""
    arrays: dict[str, Any] = {
        "float": np.arange(12, dtype=np.float32).reshape(3, 4),
        "bool": np.array([True, False]),
        "empty": np.zeros((0, 3), np.int64),
        "columns": np.asfortranarray(np.ones((2, 3), np.int16)),
    }
    for name, array in arrays.items():
        file = io.BytesIO()
        np.save(file, array)
        yield "npy", f"{name}.npy", file.getvalue()
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, **arrays)
        yield "npz", f"{save.__name__}.npz", file.getvalue()
    picture = Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3))
    for kind in ("png", "jpeg"):
        file = io.BytesIO()
        picture.save(file, kind)
        yield {"jpeg": "jpg"}.get(kind, kind), f"picture.{kind}", file.getvalue()


def packages(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yields the format, the name and the bytes of packages and of saved edge programs."""
    for name in ("linear", "conv_bn", "counter"):
        to_native(CASES[name].export()).save(folder / "model.ptn")
        yield "ptn", f"{name}.ptn", (folder / "model.ptn").read_bytes()
    for name in ("linear", "cond"):
        edge = to_edge(CASES[name].export())
        save_edge_program(edge.exported_program(), str(folder / "edge.pt2"))
        yield "edge_program", f"{name}.pt2", (folder / "edge.pt2").read_bytes()


def write_corpus(folder: Path) -> dict[str, int]:
    """Writes all seeds into folders by format, and returns their numbers."""
    return write_seeds(folder)


def write_seeds(folder: Path, quick: bool = False) -> dict[str, int]:
    """Writes seeds into folders by format.

    Args:
        folder: the folder.
        quick: write some seeds of each format only.

    Returns:
        The numbers of seeds by format.
    """
    counts: dict[str, int] = {}

    def write(kind: str, name: str, data: bytes) -> None:
        if len(data) > MAX_BYTES:
            return
        path = folder / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        counts[kind] = counts.get(kind, 0) + 1

    if not quick:
        missing = write_operators(write)
        if missing:
            print("kernels without a seed:", *missing)
    for name, made in quick_programs() if quick else programs():
        write("program", name, made)
        for i, (kind, payload) in enumerate(payloads(made)):
            write(kind, f"{name}-{i}.bin", payload)
    program, data = outside_data()
    write("outside", "program.pte", program)
    write("data_file", "data.ptd", data)
    for name, bundle in bundles():
        write("bundled_program", name, bundle)
    for kind, name, record in records():
        write(kind, name, record)
    write("yaml", "kernels.yaml", KERNELS_YAML.encode())
    write("selected_yaml", "selected_operators.yaml", SELECTED_YAML.encode())
    write("kernel_table", "kernels.txt", KERNEL_TABLE.encode())
    write("buffers_csv", "buffers.csv", BUFFERS_CSV.encode())
    for i, structure in enumerate(structures()):
        write("structure", f"{i}.json", structure.encode())
    for kind, name, file in input_files():
        write(kind, name, file)
    with tempfile.TemporaryDirectory() as made_packages:
        for kind, name, file in packages(Path(made_packages)):
            write(kind, name, file)
    with tempfile.TemporaryDirectory() as tokenizers:
        for kind, path in write_tokenizers(Path(tokenizers)).items():
            write(f"tokenizer_{kind}", path.name, path.read_bytes())
    names = {"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}}
    write("tokenizer_config", "tokenizer_config.json", json.dumps(names, indent=2).encode())
    return counts
