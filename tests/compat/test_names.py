"""Every name of the table exists, and code for ExecuTorch runs on Rushlight without changes."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest
from tests.fresh import run_python

from rushlight.compat.install import _resolve
from rushlight.compat.names import MODULES

SAMPLE = """
import rushlight.compat
rushlight.compat.install_as_executorch()

import torch
from torch.export import export
from executorch.exir import to_edge

class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        return x + y

aten_dialect = export(Add(), (torch.ones(1), torch.ones(1)))
edge_program = to_edge(aten_dialect)
executorch_program = edge_program.to_executorch()
with open("add.pte", "wb") as file:
    file.write(executorch_program.buffer)

from executorch.runtime import Runtime, Verification
program = Runtime.get().load_program("add.pte", verification=Verification.Minimal)
assert program.method_names == {"forward"}
out = program.load_method("forward").execute((torch.ones(1), torch.full((1,), 2.0)))
assert isinstance(out[0], torch.Tensor) and out[0].item() == 3

from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer
module = _load_for_executorch_from_buffer(executorch_program.buffer)
assert module.forward([torch.ones(1), torch.ones(1)])[0].item() == 2

import executorch.exir.schema as schema
assert isinstance(executorch_program.executorch_program, schema.Program)
import executorch
assert executorch.exir.to_edge is to_edge
"""


INSTALL = "import rushlight.compat as c; c.install_as_executorch()\n"


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_python(code, cwd=folder)


@pytest.mark.parametrize("module", MODULES)
def test_every_entry_leads_somewhere(module: str) -> None:
    names = MODULES[module]
    for target in (*names.modules, *names.names.values(), *names.effects):
        assert _resolve(target) is not None


def test_dir_lists_public_names_with_underscores(tmp_path: Path) -> None:
    code = "import executorch.extension.pybindings.portable_lib as p; print(*dir(p))"
    listed = run(INSTALL + code, tmp_path).stdout.split()
    assert {"ExecuTorchModule", "_load_for_executorch", "_get_operator_names"} <= set(listed)


def test_the_sample_runs_unchanged(tmp_path: Path) -> None:
    result = run(SAMPLE, tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "add.pte").stat().st_size > 0


def test_the_version_is_that_of_the_names(tmp_path: Path) -> None:
    code = (
        INSTALL + "from executorch.version import __version__, git_version\n"
        "from executorch.exir import version\n"
        "assert __version__ == version.__version__ and git_version is None\n"
        "print(__version__.split('+')[0], version.EXECUTORCH_SCHEMA_VERSION)"
    )
    assert run(code, tmp_path).stdout == "1.5.1 0\n"


def test_a_missing_module_is_named(tmp_path: Path) -> None:
    code = INSTALL + "import executorch.backends.nowhere"
    result = run(code, tmp_path)
    assert "executorch.backends" in result.stderr and "Rushlight does not provide" in result.stderr


def test_a_missing_name_is_named(tmp_path: Path) -> None:
    code = INSTALL + "import executorch.exir as e; e.nothing_like_it"
    result = run(code, tmp_path)
    assert "AttributeError: executorch.exir.nothing_like_it" in result.stderr
    result = run(INSTALL + "from executorch.devtools import nothing_like_it", tmp_path)
    assert "cannot import name 'nothing_like_it' from 'executorch.devtools'" in result.stderr
    assert "Rushlight does not provide it" in result.stderr
    assert str(Path("rushlight", "compat", "names.py")) in result.stderr


def test_a_backend_of_a_vendor_says_what_it_would_need(tmp_path: Path) -> None:
    result = run(INSTALL + "from executorch.backends.qualcomm.utils import utils", tmp_path)
    assert "it would need Qualcomm's AI Engine Direct (QNN) SDK" in result.stderr
    result = run(INSTALL + "from executorch.extension.llm.export import nvfp4", tmp_path)
    assert "quantize_model of extension.llm.export.quant quantize models" in result.stderr
    result = run(
        INSTALL
        + "from executorch.extension.llm.export.partitioner_lib import get_qnn_partitioner as get\nget()",
        tmp_path,
    )
    assert "it would need the backend for Qualcomm's processors" in result.stderr


def test_names_of_the_former_tracer_are_refused_with_a_reason(tmp_path: Path) -> None:
    result = run(INSTALL + "from executorch.exir.tracer import DispatchTracer", tmp_path)
    assert "it is ExecuTorch's former tracer; use torch.export.export" in result.stderr
    result = run(INSTALL + "from executorch.exir.dialects.edge.dtype.runner import DtypeRunner", tmp_path)
    assert "a generator of ExecuTorch's tables of dtypes" in result.stderr
    result = run(INSTALL + "import executorch.exir._serialize.generated.executorch_flatbuffer", tmp_path)
    assert "executorch.exir._serialize reads and writes programs without it" in result.stderr
    result = run(INSTALL + "from executorch.exir.tracer import ExirDynamoConfig", tmp_path)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("phone", ["ios", "android"])
def test_recipes_for_phones_say_what_they_would_need(phone: str, tmp_path: Path) -> None:
    code = f"""
        from executorch.export import target_recipes, utils
        assert not utils.is_supported_platform_for_coreml_lowering()
        assert not utils.is_supported_platform_for_qnn_lowering()
        try:
            target_recipes.get_{phone}_recipe()
        except ValueError as error:
            assert "not supported" in str(error) and "Rushlight has no" in str(error)
        else:
            raise SystemExit("no error")
    """
    result = run(INSTALL + textwrap.dedent(code), tmp_path)
    assert result.returncode == 0, result.stderr


def test_code_of_the_user_lies_beside_every_module(tmp_path: Path) -> None:
    """A folder in the path of a module adds submodules. Rushlight's own names have priority."""
    for package in ("exir/emit", "runtime", "kernels/portable", "extension/pytree", "exir/schema"):
        folder = tmp_path / "beside" / package / "tests"
        folder.mkdir(parents=True)
        (folder / "common.py").write_text("from executorch.exir import to_edge\nvalue = 7\n")
    (tmp_path / "beside" / "runtime" / "__init__.py").write_text("raise ValueError('not this one')")
    code = INSTALL + (
        "import importlib\n"
        "for name in ('exir.emit', 'runtime', 'kernels.portable', 'extension.pytree', 'exir.schema'):\n"
        "    module = importlib.import_module('executorch.' + name)\n"
        "    module.__path__.append('beside/' + name.replace('.', '/'))\n"
        "    common = importlib.import_module(f'executorch.{name}.tests.common')\n"
        "    assert common.value == 7\n"
        "from executorch.runtime.tests import common\n"
    )
    result = run(code, tmp_path)
    assert result.returncode == 0, result.stderr


def test_the_two_are_never_mixed(tmp_path: Path) -> None:
    (tmp_path / "executorch").mkdir()
    (tmp_path / "executorch" / "__init__.py").write_text("")
    late = "import executorch, rushlight.compat as c; c.install_as_executorch()"
    result = run(late, tmp_path)
    assert "RuntimeError: executorch has been imported from" in result.stderr
    first = INSTALL + "import executorch; print(executorch.__spec__.loader)"
    result = run(first, tmp_path)
    assert "executorch is installed too" in result.stderr and "rushlight.compat.install" in result.stdout


def test_installing_twice_does_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, rushlight.compat as c; c.install_as_executorch(); n = len(sys.meta_path);"
        "c.install_as_executorch(); assert len(sys.meta_path) == n and c.is_installed()"
    )
    assert run(code, tmp_path).returncode == 0


def test_a_name_that_is_a_module_and_a_function(tmp_path: Path) -> None:
    code = INSTALL + (
        "import executorch.exir as exir\n"
        "from executorch.exir.capture._config import ExecutorchBackendConfig\n"
        "from executorch.exir.capture import CaptureConfig\n"
        "assert callable(exir.capture) and exir.CaptureConfig is CaptureConfig\n"
    )
    result = run(code, tmp_path)
    assert result.returncode == 0, result.stderr


KEPT = """
import torch
from torch.export import export
from executorch.exir import ExecutorchBackendConfig, to_edge

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x + self.weight.exp()

def operators(**options):
    program = to_edge(export(Net(), (torch.ones(3),))).to_executorch(ExecutorchBackendConfig(**options))
    return [operator.name for operator in program.executorch_program.execution_plan[0].operators]

assert operators() == ["aten::exp", "aten::add"]
assert operators(do_quant_fusion_and_const_prop=True) == operators(optimize=True) == ["aten::add"]
"""


def test_lowered_graphs_keep_their_operators_unless_the_config_asks(tmp_path: Path) -> None:
    result = run(INSTALL + KEPT, tmp_path)
    assert result.returncode == 0, result.stderr


PLANNED = """
import torch
from torch.export import export
from executorch.exir import to_edge

edge = to_edge(export(torch.nn.ReLU(), (torch.ones(3),)))
first = edge.to_executorch()
assert edge.exported_program() is first.exported_program()
assert "relu.out" in edge.exported_program().graph_module.code
assert edge.to_executorch().buffer == first.buffer
"""


def test_an_edge_manager_has_the_planned_program_behind_to_executorch(tmp_path: Path) -> None:
    result = run(INSTALL + PLANNED, tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_function_keeps_the_name_that_it_shares_with_its_module(tmp_path: Path) -> None:
    """`executorch.export.export` is a module and a function.

    Importing the module must not hide the function.
    """
    code = INSTALL + (
        "import executorch.export.export\n"
        "from executorch.export.export import ExportSession\n"
        "from executorch.export import export\n"
        "import rushlight.export as ours\n"
        "assert export is ours.export and ExportSession is ours.ExportSession\n"
    )
    result = run(code, tmp_path)
    assert result.returncode == 0, result.stderr


def test_the_training_example_runs_unchanged(tmp_path: Path) -> None:
    code = """
        import torch
        from executorch.extension.training import (
            TrainingModule, _load_for_executorch_for_training_from_buffer, get_sgd_optimizer
        )
        from executorch.extension.training.examples.XOR.export_model import _export_model
        from executorch.extension.training.examples.XOR.model import Net, TrainingNet
        from executorch.extension.training.pybindings._training_lib import ExecuTorchSGD

        program = _export_model().buffer
        module = _load_for_executorch_for_training_from_buffer(program)
        assert isinstance(module, TrainingModule)
        inputs = (torch.tensor([[1.0, 0.0]]), torch.tensor([1]))
        first = module.forward_backward("forward", inputs)
        optimizer = get_sgd_optimizer(module.named_parameters(), 0.1, 0, 0, 0, False)
        assert isinstance(optimizer, ExecuTorchSGD)
        optimizer.step(module.named_gradients())
        assert module.forward_backward("forward", inputs)[0] < first[0]
    """
    result = run(INSTALL + textwrap.dedent(code), tmp_path)
    assert result.returncode == 0, result.stderr


def test_the_demonstration_backends_have_their_names(tmp_path: Path) -> None:
    code = """
        import torch
        from executorch.exir import to_edge
        from executorch.exir.backend.backend_api import to_backend
        from executorch.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo, DemoOp
        from executorch.exir.backend.test.demos.rpc.executor_backend_preprocess import ExecutorBackend
        from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo

        class Product(torch.nn.Module):
            def forward(self, x):
                return torch.mm(x, x) + x

        edge = to_edge(torch.export.export(Product(), (torch.ones(2, 2),)))
        lowered = to_backend(edge.exported_program(), AddMulPartitionerDemo())
        assert "executorch_call_delegate" in str(lowered.graph_module.graph)
        assert BackendWithCompilerDemo.__name__ == "BackendWithCompilerDemo"
    """
    result = run(INSTALL + textwrap.dedent(code), tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_patched_name_is_patched_where_it_is_defined(tmp_path: Path) -> None:
    """This includes names that Rushlight's module does not have."""
    code = """
        from unittest import mock
        import torch
        from executorch.exir._serialize.data_serializer import DataEntry, DataPayload
        from executorch.extension.flat_tensor.serialize import serialize
        from rushlight.format import ptd

        payload = DataPayload([b"abcd"], {"key": DataEntry(0, 1, None)})
        serializer = serialize.FlatTensorSerializer()
        name = "executorch.extension.flat_tensor.serialize.serialize._FLAT_TENSOR_VERSION"
        with mock.patch(name, 7):
            assert ptd.VERSION == 7
            data = bytes(serializer.serialize(payload))
            assert serializer.deserialize(data).buffers == [b"abcd"]
        assert ptd.VERSION == serialize._FLAT_TENSOR_VERSION == 0
        try:
            serializer.deserialize(data)
        except NotImplementedError as error:
            assert "version 7; versions up to 0 are supported" in str(error)
        else:
            raise AssertionError("a newer file was read")
    """
    result = run(INSTALL + textwrap.dedent(code), tmp_path)
    assert result.returncode == 0, result.stderr


def test_names_of_the_stages_of_exir(tmp_path: Path) -> None:
    code = """
        import executorch.exir as exir
        from executorch.exir import CallSpec, capture, edge_to_executorch_passes
        from executorch.exir.backend.backend_api import disable_validation, validation_disabled
        from executorch.exir.capture._capture import CallSpec as same, CompileSpec
        from executorch.exir.common import override_logger
        from executorch.exir.print_program import pretty_print_stacktraces
        from executorch.exir.program import edge_to_executorch_passes as passes
        from executorch.exir.program._program import pre_memory_planning_passes
        assert CallSpec is same and CallSpec(1, 2).out_spec == 2 and passes is edge_to_executorch_passes
        assert CompileSpec("forward", None, (), None).method_name == "forward"
    """
    result = run(INSTALL + textwrap.dedent(code), tmp_path)
    assert result.returncode == 0, result.stderr
