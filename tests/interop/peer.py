"""Runs in the environment with ExecuTorch: compiles and runs programs on request.

Requests are lines of JSON. The answer is {"ok": true} or {"error": text}. There are these requests:

- {"compile": case, "folder": path} writes model.pte, and expected.pt with inputs and outputs of eager
  PyTorch. If "backend" is "xnnpack", the program has XNNPACK delegates.
- {"quantize": case, "folder": path} writes a quantized program with XNNPACK delegates, and its outputs.
- {"run": .pte file, "tensors": path} runs a program, and replaces {"inputs": ...} in the file by
  {"outputs": ...}. "data" may be a data file.
- {"weights": case, "folder": path} writes a program whose constants are in weights.ptd.
- {"save": case, "folder": path} writes the edge program model.pt2. {"saved": path, "tensors": path} runs it.
- {"etrecord": case, "folder": path} writes model.etrecord and its facts.
- {"read": ETRecord, "facts": path} writes the facts of an ETRecord.
- {"trace": case, "folder": path} does the same as "etrecord", runs the program three times, and writes
  model.etdp, values.bin and the facts of the Inspector.
- {"inspect": dump, "record": path, "facts": path} writes the facts of the Inspector for other files. "values"
  may be a file of recorded values.
- {"joint": folder} writes the forward and backward passes of the XOR example as model.pte.
- {"train": .pte file, "tensors": path} trains such a program on {"inputs": ...}, and replaces them in the
  file by {"losses": ..., "parameters": ...}.
- {"language model": kind, "folder": path} writes model.pte.
- {"package": case, "folder": path} writes the package model.ptn and its facts.
- {"unpack": .ptn file, "facts": path} writes the facts of a package.
- {"generate": .pte file, "tokenizer": path, "prompt": text, "text": path} writes the greedy text after a
  prompt.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
logging.disable(logging.WARNING)

import torch  # noqa: E402
from executorch.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower  # noqa: E402
from executorch.runtime import Runtime  # noqa: E402
from tests.interop.cases import QUANTIZED, build, build_quantized, etrecord_facts, inspector_facts  # noqa: E402


def compile_case(name: str, folder: Path, backend: str | None) -> None:
    module, inputs = build(name)
    with torch.no_grad():
        outputs = torch.utils._pytree.tree_leaves(module(*inputs))
    exported = torch.export.export(module, inputs)
    edge = to_edge(exported) if backend is None else lower_to_xnnpack(exported)
    program = edge.to_executorch()
    (folder / "model.pte").write_bytes(program.buffer)
    torch.save({"inputs": list(inputs), "outputs": outputs}, folder / "expected.pt")


def lower_to_xnnpack(program: torch.export.ExportedProgram) -> EdgeProgramManager:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])


def quantize_case(name: str, folder: Path) -> None:
    module, inputs = build_quantized(name)
    program = (
        quantized_by_groups(module, inputs) if QUANTIZED[name] is None else quantized(name, module, inputs)
    )
    edge = lower_to_xnnpack(program)
    path, tensors = folder / "model.pte", folder / "expected.pt"
    path.write_bytes(edge.to_executorch().buffer)
    torch.save({"inputs": list(inputs)}, tensors)
    run(path, tensors)
    torch.save({"inputs": list(inputs), "outputs": torch.load(tensors)["outputs"]}, tensors)


def quantized(
    name: str, module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]
) -> torch.export.ExportedProgram:
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**(QUANTIZED[name] or {})))
    prepared = prepare_pt2e(torch.export.export(module, inputs).module(), quantizer)
    prepared(*inputs)
    return torch.export.export(convert_pt2e(prepared), inputs)


def quantized_by_groups(
    module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]
) -> torch.export.ExportedProgram:
    from torchao.quantization import quantize_
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig

    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))  # type: ignore[attr-defined]
    quantize_(module, config)
    return torch.export.export(module, inputs)


def weights_case(name: str, folder: Path, backend: str | None) -> None:
    """Writes a program whose constants are all in weights.ptd."""
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted

    module, inputs = build(name)
    exported = torch.export.export(module, inputs)
    if backend is None:
        config = ExecutorchBackendConfig(external_constants=lambda node: "weights")
        program = to_edge(exported).to_executorch(config)
    else:
        captured = exported.module()
        delegate_external_constants_pass_unlifted(captured, gen_tag_fn=lambda node: "weights")
        program = lower_to_xnnpack(torch.export.export(captured, inputs)).to_executorch()
    (folder / "model.pte").write_bytes(program.buffer)
    program.write_tensor_data_to_file(str(folder))


def save_case(name: str, folder: Path, backend: str | None) -> None:
    """Writes an edge program as model.pt2."""
    from executorch import exir

    module, inputs = build(name)
    exported = torch.export.export(module, inputs)
    edge = to_edge(exported) if backend is None else lower_to_xnnpack(exported)
    exir.save(edge.exported_program(), folder / "model.pt2")


def run_saved(path: Path, tensors: Path) -> None:
    """Runs an edge program in eager mode."""
    from executorch import exir

    module = exir.load(path).module()
    outputs = torch.utils._pytree.tree_leaves(module(*torch.load(tensors)["inputs"]))
    torch.save({"outputs": outputs}, tensors)


def run(path: Path, tensors: Path, data: str | None = None) -> None:
    program = Runtime.get().load_program(path if data else path.read_bytes(), data_path=data)
    method = program.load_method("forward")
    torch.save(
        {"outputs": [output.clone() for output in method.execute(torch.load(tensors)["inputs"])]}, tensors
    )


def joint_case(folder: Path) -> None:
    from executorch.extension.training.examples.XOR.export_model import _export_model

    torch.manual_seed(0)
    (folder / "model.pte").write_bytes(_export_model().buffer)


def train(path: Path, tensors: Path) -> None:
    """Trains a program. The variable `program` keeps the bytes alive that the module reads."""
    from executorch.extension.training import (
        _load_for_executorch_for_training_from_buffer,
        get_sgd_optimizer,
    )

    program = path.read_bytes()
    module = _load_for_executorch_for_training_from_buffer(program)
    optimizer, losses = None, []
    for inputs in torch.load(tensors)["inputs"]:
        losses.append(float(module.forward_backward("forward", inputs)[0]))
        if optimizer is None:
            optimizer = get_sgd_optimizer(module.named_parameters(), 0.5, 0.9, 0.1, 1e-4)
        optimizer.step(module.named_gradients())
    parameters = {name: value.clone() for name, value in module.named_parameters().items()}
    torch.save({"losses": losses, "parameters": parameters}, tensors)


def language_case(kind: str, folder: Path, backend: str | None) -> None:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from tests.interop.language_cases import exported

    program, constants = exported(kind)
    partitioners = [XnnpackPartitioner()] if backend == "xnnpack" else None
    edge = to_edge_transform_and_lower(program, partitioner=partitioners, constant_methods=constants)
    (folder / "model.pte").write_bytes(edge.to_executorch().buffer)


def generate(path: Path, tokenizer: Path, prompt: str, text: Path) -> None:
    from executorch.extension.llm.runner import GenerationConfig, TextLLMRunner

    pieces: list[str] = []
    runner = TextLLMRunner(str(path), str(tokenizer))
    config = GenerationConfig(temperature=0, max_new_tokens=16, echo=False)
    runner.generate(prompt, config, pieces.append)
    text.write_text("".join(pieces))


def etrecord_case(name: str, folder: Path, backend: str | None) -> None:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    module, inputs = build(name)
    partitioners = [XnnpackPartitioner()] if backend == "xnnpack" else None
    edge = to_edge_transform_and_lower(
        torch.export.export(module, inputs), partitioner=partitioners, generate_etrecord=True
    )
    record = edge.to_executorch().get_etrecord()
    record.update_representative_inputs(list(inputs))
    record.save(folder / "model.etrecord")
    read_etrecord(folder / "model.etrecord", folder / "facts.json")


def trace_case(name: str, folder: Path) -> None:
    from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    module, inputs = build(name)
    edge = to_edge(torch.export.export(module, inputs), generate_etrecord=True)
    program = edge.to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs(list(inputs))
    record.save(folder / "model.etrecord")
    loaded = _load_for_executorch_from_buffer(
        program.buffer, enable_etdump=True, debug_buffer_size=50_000_000
    )
    for _ in range(3):
        loaded.forward(list(inputs))
    loaded.write_etdump_result_to_file(str(folder / "model.etdp"), str(folder / "values.bin"))
    values = str(folder / "values.bin")
    inspect(folder / "model.etdp", folder / "model.etrecord", folder / "facts.json", values)


def inspect(dump: Path, record: Path, facts: Path, values: str | None = None) -> None:
    from executorch.devtools import Inspector

    inspector = Inspector(etdump_path=str(dump), etrecord=str(record), debug_buffer_path=values)
    facts.write_text(json.dumps(inspector_facts(inspector)))


def read_etrecord(path: Path, facts: Path) -> None:
    from executorch.devtools.etrecord import parse_etrecord

    facts.write_text(json.dumps(etrecord_facts(parse_etrecord(str(path)))))


def bundle_case(name: str, folder: Path) -> None:
    from executorch.devtools import BundledProgram
    from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
    from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer

    module, inputs = build(name)
    with torch.no_grad():
        outputs = torch.utils._pytree.tree_leaves(module(*inputs))
    program = to_edge(torch.export.export(module, inputs)).to_executorch()
    cases = [MethodTestCase(inputs, outputs), MethodTestCase(inputs)]
    bundle = BundledProgram(program, [MethodTestSuite("forward", cases)])
    (folder / "model.bpte").write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
    (folder / "model.pte").write_bytes(program.buffer)
    torch.save({"inputs": list(inputs), "outputs": outputs}, folder / "expected.pt")


def verify_bundle(path: Path) -> None:
    from executorch.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
    from executorch.extension.pybindings.portable_lib import _load_bundled_program_from_buffer

    data = path.read_bytes()
    deserialize_from_flatbuffer_to_bundled_program(data)
    _load_bundled_program_from_buffer(data).verify_result_with_bundled_expected_output("forward", 0)


def etdump_case(name: str, folder: Path) -> None:
    module, inputs = build(name)
    path = folder / "model.pte"
    path.write_bytes(lower_to_xnnpack(torch.export.export(module, inputs)).to_executorch().buffer)
    program = Runtime.get().load_program(path, enable_etdump=True, debug_buffer_size=1 << 20)
    method = program.load_method("forward")
    for _ in range(2):
        outputs = [output.clone() for output in method.execute(inputs)]
    program.write_etdump_result_to_file(str(folder / "model.etdp"), str(folder / "debug.bin"))
    torch.save({"outputs": outputs}, folder / "expected.pt")


def read_etdump(path: Path, facts: Path) -> None:
    from executorch.devtools import Inspector

    blocks = Inspector(etdump_path=str(path)).event_blocks
    names = {block.name: [event.name for event in block.events] for block in blocks}
    facts.write_text(json.dumps(names))


def package_case(name: str, folder: Path) -> None:
    from executorch.exir.native import to_native
    from tests.interop.native_cases import programs

    to_native(programs(name)).save(str(folder / "model.ptn"))
    read_package(folder / "model.ptn", folder / "facts.json")


def read_package(path: Path, facts: Path) -> None:
    from executorch.backends.native.serialization import deserialize_program, validate_program
    from executorch.exir._serialize._ptn import read_ptn
    from tests.interop.native_cases import facts_of

    ptg, tensors = read_ptn(str(path))
    program = deserialize_program(ptg)
    validate_program(program, set(tensors))
    facts.write_text(json.dumps(facts_of(program, tensors)))


for line in sys.stdin:
    request = json.loads(line)
    try:
        if "compile" in request:
            compile_case(request["compile"], Path(request["folder"]), request.get("backend"))
        elif "quantize" in request:
            quantize_case(request["quantize"], Path(request["folder"]))
        elif "etrecord" in request:
            etrecord_case(request["etrecord"], Path(request["folder"]), request.get("backend"))
        elif "trace" in request:
            trace_case(request["trace"], Path(request["folder"]))
        elif "inspect" in request:
            dump, record, facts = (Path(request[name]) for name in ("inspect", "record", "facts"))
            inspect(dump, record, facts, request.get("values"))
        elif "bundle" in request:
            bundle_case(request["bundle"], Path(request["folder"]))
        elif "verify" in request:
            verify_bundle(Path(request["verify"]))
        elif "etdump" in request:
            etdump_case(request["etdump"], Path(request["folder"]))
        elif "events" in request:
            read_etdump(Path(request["events"]), Path(request["facts"]))
        elif "weights" in request:
            weights_case(request["weights"], Path(request["folder"]), request.get("backend"))
        elif "save" in request:
            save_case(request["save"], Path(request["folder"]), request.get("backend"))
        elif "saved" in request:
            run_saved(Path(request["saved"]), Path(request["tensors"]))
        elif "package" in request:
            package_case(request["package"], Path(request["folder"]))
        elif "unpack" in request:
            read_package(Path(request["unpack"]), Path(request["facts"]))
        elif "joint" in request:
            joint_case(Path(request["joint"]))
        elif "train" in request:
            train(Path(request["train"]), Path(request["tensors"]))
        elif "language model" in request:
            language_case(request["language model"], Path(request["folder"]), request.get("backend"))
        elif "generate" in request:
            model, tokenizer, text = (Path(request[name]) for name in ("generate", "tokenizer", "text"))
            generate(model, tokenizer, request["prompt"], text)
        elif "read" in request:
            read_etrecord(Path(request["read"]), Path(request["facts"]))
        else:
            run(Path(request["run"]), Path(request["tensors"]), request.get("data"))
        answer: dict[str, Any] = {"ok": True}
    except Exception:
        answer = {"error": traceback.format_exc()}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
