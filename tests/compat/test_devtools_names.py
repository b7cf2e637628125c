"""The public names of `executorch.devtools`, and a script that uses them as ExecuTorch's users do."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from tests.fresh import run_python

from rushlight.compat.install import _resolve
from rushlight.compat.names import MODULES

PUBLIC = {
    "executorch.devtools": "BundledProgram ETRecord Inspector generate_etrecord parse_etrecord",
    "executorch.devtools.backend_debug": "DelegationBreakdown get_delegation_info print_delegation_info",
    "executorch.devtools.backend_debug.delegation_info": "DelegationInfo get_delegation_info",
    "executorch.devtools.bundled_program.config": "ConfigValue DataContainer MethodInputType "
    "MethodOutputType MethodTestCase MethodTestSuite",
    "executorch.devtools.bundled_program.core": "BundledProgram",
    "executorch.devtools.bundled_program.schema": "Bool BundledMethodTestCase BundledMethodTestSuite Double "
    "Int Tensor Value",
    "executorch.devtools.bundled_program.serialize": "deserialize_from_flatbuffer_to_bundled_program "
    "serialize_from_bundled_program_to_flatbuffer",
    "executorch.devtools.etdump.schema_flatcc": "DebugEvent ETDumpFlatCC Event ProfileEvent RunData",
    "executorch.devtools.etdump.serialize": "deserialize_from_etdump_flatcc serialize_to_etdump_flatcc",
    "executorch.devtools.etrecord": "ETRecord generate_etrecord parse_etrecord",
    "executorch.devtools.etrecord._etrecord": "ETRecord",
    "executorch.devtools.inspector": "Event EventBlock Inspector PerfData TimeScale compare_results",
    "executorch.devtools.debug_format.base_schema": "Node OperatorGraph OperatorNode ValueNode",
    "executorch.devtools.debug_format.et_schema": "FXOperatorGraph OperatorGraph RESERVED_METADATA_ARG",
    "executorch.devtools.inspector._inspector": "DebugEventSignature DelegateMetadata Event EventBlock "
    "EventSignature Inspector InstructionEvent InstructionEventSignature PerfData ProfileEventSignature "
    "RunSignature TimeScale flatcc gen_etdump_object gen_graphs_from_etrecord is_inference_output_equal",
    "executorch.devtools.inspector._inspector_utils": "EDGE_DIALECT_GRAPH_KEY FORWARD NodeFilter TimeScale "
    "calculate_cosine_similarity calculate_mse calculate_snr calculate_time_scale_factor "
    "convert_to_float_tensor create_debug_handle_to_op_node_mapping find_op_names find_populated_event "
    "gen_graphs_from_etrecord get_aot_debug_handle_to_op_name_mapping inflate_runtime_output "
    "is_debug_output is_inference_output_equal map_runtime_aot_intermediate_outputs "
    "merge_runtime_overlapping_debug_handles propagate_back_debug_handle verify_debug_data_equivalence",
    "executorch.devtools.inspector._intermediate_output_capturer": "IntermediateOutputCapturer",
    "executorch.devtools.inspector.numerical_comparator": "L1Comparator MSEComparator "
    "NumericalComparatorBase SNRComparator",
    "executorch.devtools.inspector.numerical_comparator.numerical_comparator_base": "NumericalComparatorBase",
    "executorch.devtools.inspector.numerical_comparator.mse_numerical_comparator": "MSEComparator",
    "executorch.devtools.intermediate_output_tap": "FULL_TENSOR NodeSelector STATS StatReducer TapRule "
    "TapSpec compare_aot_runtime_dataframe find_tap_nodes get_reducer is_tap_node select_all "
    "select_all_call_function select_any select_by_module_class select_by_module_path select_by_op_type "
    "select_not strip_taps_ tap_compare tap_intermediate_outputs_",
    "executorch.devtools.size_analysis_tool.size_analysis_tool": "generate_model_size_information",
    "executorch.devtools.visualization": "visualize visualize_graph visualize_model_explorer "
    "visualize_with_clusters",
    "executorch.devtools.visualization.visualization_utils": "visualize_with_clusters",
    "executorch.devtools.pte_tool.diff_pte": "diff_pte format_diff_result PTEDiffResult",
    "executorch.extension.pybindings.aten_lib": "BundledModule _load_bundled_program_from_buffer "
    "_load_for_executorch_from_bundled_program",
    "executorch.extension.pybindings.portable_lib": "BundledModule _load_bundled_program_from_buffer "
    "_load_for_executorch_from_bundled_program",
}


@pytest.mark.parametrize("module", PUBLIC)
def test_every_name_is_there(module: str) -> None:
    names = MODULES[module]
    found = {name for home in names.modules for name in vars(importlib.import_module(home))}
    for name in PUBLIC[module].split():
        assert name in found or _resolve(names.names[name]) is not None, name


SCRIPT = """
import rushlight.compat
rushlight.compat.install_as_executorch()

import torch
from executorch.devtools import BundledProgram, Inspector, inspector
from executorch.devtools.backend_debug import get_delegation_info
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.devtools.inspector import TimeScale
from executorch.devtools.intermediate_output_tap import FULL_TENSOR, select_by_op_type, tap_compare
from executorch.devtools.size_analysis_tool.size_analysis_tool import generate_model_size_information
from executorch.exir import to_edge
from executorch.extension.pybindings.portable_lib import (
    _load_bundled_program_from_buffer,
    _load_for_executorch_from_bundled_program,
)

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
x = torch.ones(1, 4)
edge = to_edge(torch.export.export(model, (x,)), generate_etrecord=True)
assert get_delegation_info(edge.exported_program().graph_module).num_delegated_nodes == 0
assert generate_model_size_information(edge.exported_program())["overview"]["total_tensor_data_size"] == 80
program = edge.to_executorch()
program.get_etrecord().save("model.etrecord")
case = MethodTestCase((x,), (model(x),))
data = serialize_from_bundled_program_to_flatbuffer(
    BundledProgram(program, [MethodTestSuite("forward", [case])])
)
bundle = _load_bundled_program_from_buffer(data)
bundle.verify_result_with_bundled_expected_output("forward", 0)
module = _load_for_executorch_from_bundled_program(bundle, enable_etdump=True, debug_buffer_size=1 << 16)
for _ in range(3):
    module.forward([x])
module.write_etdump_result_to_file("model.etdp", "values.bin")
found = Inspector(
    etdump_path="model.etdp",
    etrecord="model.etrecord",
    debug_buffer_path="values.bin",
    target_time_scale=TimeScale.US,
)
assert isinstance(found, inspector.Inspector)
frame = found.to_dataframe()
assert "native_call_relu.out" in frame["event_name"].to_list()
found.print_data_tabular()
table, taps = tap_compare(model, (x,), rules=(select_by_op_type("relu.default"), FULL_TENSOR))
assert len(table) == len(taps) == 1
"""


def test_a_script_of_a_user_runs_unchanged(tmp_path: Path) -> None:
    strict = "import warnings; warnings.filterwarnings('error', '', DeprecationWarning, 'rushlight$')\n"
    done = run_python(strict + SCRIPT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "native_call_relu.out" in done.stdout
