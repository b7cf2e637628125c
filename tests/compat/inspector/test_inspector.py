"""ExecuTorch's Inspector for executed programs: operators, graphs and numeric gaps."""

from __future__ import annotations

import io
from pathlib import Path

import pandas
import pytest
import torch

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compat.inspector.inspector import Inspector
from rushlight.compat.inspector.values import (
    calculate_cosine_similarity,
    calculate_mse,
    calculate_snr,
    convert_to_float_tensor,
    gen_etdump_object,
    is_inference_output_equal,
)
from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etrecord import ETRecord
from rushlight.devtools.inspector.numerical_comparator import NumericalComparatorBase
from rushlight.devtools.inspector.perf import TimeScale
from rushlight.exir import to_edge_transform_and_lower
from rushlight.runtime import Runtime

X = torch.randn(3, 8)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(self.second(torch.relu(self.first(x))), dim=1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    exported = torch.export.export(Model().eval(), (X,))
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()], generate_etrecord=True)
    program = edge.to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs([X])
    record.save(folder / "record")
    loaded = Runtime.get().load_program(program.buffer, enable_etdump=True, debug_buffer_size=1 << 16)
    loaded.load_method("forward").execute([X])
    loaded.write_etdump_result_to_file(folder / "dump", folder / "values")
    return folder


def inspect(files: Path, **options: object) -> Inspector:
    paths = {"etdump_path": files / "dump", "etrecord": files / "record"}
    return Inspector(**{**paths, "debug_buffer_path": files / "values", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("graph", [None, "exported_program", "edge_dialect_exported_program"])
@pytest.mark.parametrize("distance", ["MSE", "l1"])
def test_gaps_of_a_lowered_program_are_small(files: Path, graph: str | None, distance: str) -> None:
    frame = inspect(files).calculate_numeric_gap(distance, reference_graph=graph)
    assert list(frame.columns) == [
        *("aot_debug_handle", "aot_ops", "aot_intermediate_output", "runtime_ops", "runtime_debug_handle"),
        *("runtime_intermediate_output", "gap", "stacktraces"),
    ]
    assert len(frame) >= 2
    assert {name for names in frame["runtime_ops"] for name in names} == {
        "DELEGATE_CALL",
        "native_call_cumsum.out",
    }
    assert all(gap[0] < 1e-4 for gap in frame["gap"])
    assert all("File" in trace for traces in frame["stacktraces"] for trace in traces.values())


def test_a_comparator_may_change_the_values(files: Path) -> None:
    class Largest(NumericalComparatorBase):
        def preprocessing(self, mapping: object) -> object:  # type: ignore[override]
            self.count = len(mapping)  # type: ignore[arg-type]
            return {key: (handles, value + 2) for key, (handles, value) in mapping.items()}  # type: ignore[attr-defined]

        def element_compare(self, a: object, b: object) -> float:
            assert isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
            return float((a - b).abs().max())

    chosen = Largest()
    found = inspect(files)
    frame = found.calculate_numeric_gap(chosen)
    assert len(frame) == chosen.count
    assert all(gap[0] == pytest.approx(2, abs=1e-4) for gap in frame["gap"])
    assert chosen.inspector is found


def test_blocks_without_a_bundled_program_have_the_index_minus_one(files: Path) -> None:
    assert {block.bundled_input_index for block in inspect(files).event_blocks} == {-1}


def test_events_have_the_handles_and_operators_of_their_instruction(files: Path) -> None:
    events = {event.name: event for event in inspect(files).events()}
    kernel, delegate = events["native_call_cumsum.out"], events["DELEGATE_CALL"]
    assert isinstance(kernel.debug_handles, int) and kernel.op_types == ["aten.cumsum.default"]
    assert [*kernel.module_hierarchy] == [*kernel.stack_traces] == ["aten_cumsum_default_"]
    assert isinstance(delegate.debug_handles, list)
    assert delegate.op_types == ["aten.linear.default", "aten.relu.default", "aten.linear.default"]


def test_events_show_the_operators_of_the_chosen_graph(files: Path) -> None:
    found = inspect(files)
    assert found.op_graph_dict is not None and "lowered/forward" in found.op_graph_dict
    assert any("aten.cumsum.default" in event.op_types for event in found.events())
    assert found.find_events(operator="cumsum")
    lowered = inspect(files, reference_graph_name="lowered/forward")
    (kernel,) = [event for event in lowered.events() if "cumsum" in event.name]
    assert kernel.op_types == ["aten.cumsum.default"]
    assert [*kernel.stack_traces] == ["aten_cumsum_default_"]
    with pytest.raises(DevtoolsError, match="no graph 'other'"):
        inspect(files, reference_graph_name="other")


def test_what_is_missing_is_said(files: Path) -> None:
    with pytest.warns(UserWarning, match="shown as zeros"):
        alone = Inspector(etdump_path=files / "dump")
    with pytest.raises(ValueError, match="needs an ETRecord"):
        alone.calculate_numeric_gap("MSE")
    with pytest.raises(ValueError, match=r"'other/forward' is not found"):
        inspect(files).calculate_numeric_gap("MSE", reference_graph="other")
    with pytest.raises(ValueError, match="'COSINUS'"):
        inspect(files).calculate_numeric_gap("COSINUS")
    with pytest.raises(ValueError, match="Cannot use 'exported_program'"):
        inspect(files, etrecord=_without_exported(files)).calculate_numeric_gap(
            "MSE", reference_graph="exported_program"
        )
    with pytest.raises(ValueError, match="exactly one"):
        Inspector()
    with pytest.raises(RuntimeError, match="cycles"):
        Inspector(etdump_path="x", source_time_scale=TimeScale.CYCLES)
    with pytest.raises(TypeError, match="int"):
        Inspector(etdump_path="x", etrecord=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="neither is given"):
        gen_etdump_object()


def _without_exported(files: Path) -> ETRecord:
    from rushlight.devtools.etrecord import parse_etrecord

    record = parse_etrecord(files / "record")
    record.exported_program = None
    return record


def test_measures_of_values() -> None:
    a = torch.tensor([1.0, 2.0, 3.0])
    b = torch.tensor([1.0, 2.0, 4.0])
    assert calculate_mse([a, "x"], [b, "x"]) == [0.33, None]
    assert calculate_snr([a], [b]) == [pytest.approx(11.46)]
    assert calculate_cosine_similarity([a], [a]) == [1.0]
    assert is_inference_output_equal([a], [a.clone()]) and not is_inference_output_equal([a], [a, a])
    assert convert_to_float_tensor(torch.tensor([float("nan"), 1.0])).tolist() == [0.0, 1.0]
    with pytest.raises(AssertionError):
        convert_to_float_tensor([a])
    with pytest.raises(ValueError, match="Cannot convert"):
        convert_to_float_tensor(object())


COLUMNS = [
    *("event_block_name", "event_name", "p10 (ms)", "p50 (ms)", "p90 (ms)", "avg (ms)", "min (ms)"),
    *("max (ms)", "op_types", "is_delegated_op", "delegate_backend_name", "start_time"),
]


def test_tables_have_the_columns_of_executorch(files: Path) -> None:
    found = inspect(files)
    found.event_blocks[-1].events[0].name = "OPERATOR_CALL"
    table = io.StringIO()
    found.save_data_to_tsv(table)
    frame = pandas.read_csv(io.StringIO(table.getvalue()), sep="\t", index_col=0)
    assert list(frame.columns) == COLUMNS and list(frame.index) == list(range(len(frame)))
    names = list(frame["event_name"])
    assert "OPERATOR_CALL" not in names and len(names) == len(list(found.events())) - 1
    printed = io.StringIO()
    found.print_data_tabular(printed)
    head, _, *rows = printed.getvalue().splitlines()
    assert head.split("  ")[-1] == "start_time" and "event_block_name  event_name" in head
    assert len(rows) == len(frame)
    printed = io.StringIO()
    found.print_data_tabular(printed, include_units=False, operator="cumsum")
    assert "native_call_cumsum.out" in printed.getvalue() and "p50 (" not in printed.getvalue()
    assert set(COLUMNS) < set(found.to_dataframe().columns)


def test_steps_of_delegates_have_names(files: Path) -> None:
    events = list(inspect(files).events())
    steps = [event for event in events if event.is_delegated_op]
    assert [step.name for step in steps][:2] == ["XNNFullyConnected #1", "XNNFullyConnected #2"]
    assert all(isinstance(step.delegate_debug_identifier, int) for step in steps)
    load = next(event for event in events if event.name == "Program::load_method")
    assert not load.op_types and not load.module_hierarchy


def test_events_by_operator(files: Path) -> None:
    found = inspect(files)
    every, own = found.get_op_list("Execute"), found.get_op_list("Execute", show_delegated_ops=False)
    assert [event.name for event in own["aten.cumsum.default"]] == ["native_call_cumsum.out"]
    assert any(event.is_delegated_op for event in every["aten.relu.default"])
    assert "aten.relu.default" not in own and not found.get_op_list("Other")
