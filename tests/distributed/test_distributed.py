"""Evaluation, calibration and sensitivity analysis on a real Ray cluster. Tests kill its workers.

These tests run in a process of their own (see `unit` in the Makefile).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
import torch
from ray.cluster_utils import Cluster
from torch.export import Dim, export

import rushlight
from rushlight import distributed
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.distributed import Predictor
from rushlight.quantize import QuantizationError, quantize, sensitivity, static_int8, weight_only_int4

ROWS = 96


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


@pytest.fixture(scope="module")
def net() -> Net:
    torch.manual_seed(0)
    return Net().eval()


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(ROWS, 8)).astype(np.float32) * np.arange(
        1, 9, dtype=np.float32
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Starts two nodes with two processors each. The node of this process runs no tasks."""
    os.environ["RAY_DATA_DISABLE_PROGRESS_BARS"] = "1"
    memory = 80 << 20
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "object_store_memory": memory, "include_dashboard": False},
    )
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=memory)
    root = str(Path(__file__).parents[2])
    ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": root}})
    cluster.wait_for_nodes(timeout=120)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def dataset(x: np.ndarray) -> Any:
    rows = [{"x": row, "row": index} for index, row in enumerate(x)]
    return ray.data.from_items(rows, override_num_blocks=12)


@pytest.fixture(scope="module")
def program(net: Net) -> bytes:
    return rushlight.compile(net, (torch.ones(1, 8),)).buffer


def expected(net: Net, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return net(torch.from_numpy(x)).numpy()


def test_a_predictor_adds_columns(net: Net, x: np.ndarray, program: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.pte").write_bytes(program)
    result = Predictor(tmp_path / "net.pte", ["x"])({"x": x, "row": np.arange(ROWS)})
    np.testing.assert_allclose(result["output_0"], expected(net, x), atol=1e-4)
    assert result["row"][5] == 5
    whole = rushlight.compile(net, (torch.ones(2, 8),), dynamic_shapes=({0: Dim("n", max=256)},)).buffer
    result = Predictor(whole, ["x"], ["logits"], batched=True)({"x": x})
    np.testing.assert_allclose(result["logits"], expected(net, x), atol=1e-4)
    rows = Predictor(program, ["x"])({"x": x[:4, None]})
    assert rows["output_0"].shape == (4, 1, 3)
    with pytest.raises(KeyError, match="no column 'y'; it has \\['x'\\]"):
        Predictor(program, ["y"])({"x": x})
    with pytest.raises(ValueError, match="the number of names must be 1"):
        Predictor(program, ["x"], ["a", "b"])({"x": x})


def test_every_row_is_predicted(cluster: Cluster, net: Net, x: np.ndarray, program: bytes) -> None:
    rows = distributed.predict(dataset(x), program, ["x"], ["logits"], batch_size=8).take_all()
    assert sorted(row["row"] for row in rows) == list(range(ROWS))
    got = np.stack([row["logits"] for row in sorted(rows, key=lambda row: row["row"])])
    np.testing.assert_allclose(got, expected(net, x), atol=1e-4)


class Killer:
    """Measures rows, and ends its process once in the middle."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if 40 in batch["row"]:
            try:
                self.flag.touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return {"row": batch["row"], "largest": batch["output_0"].max(-1)}


def test_nothing_is_lost_with_a_worker(
    cluster: Cluster, net: Net, x: np.ndarray, program: bytes, tmp_path: Path
) -> None:
    flag = tmp_path / "killed"
    found = distributed.evaluate(dataset(x), program, ["x"], Killer(flag), batch_size=8)
    assert flag.exists()
    assert found["rows"] == ROWS and found["row"] == np.arange(ROWS).mean()
    assert found["largest"] == pytest.approx(expected(net, x).max(-1).mean(), rel=1e-5)


def test_a_measure_gives_one_number_for_each_row(cluster: Cluster, x: np.ndarray, program: bytes) -> None:
    with pytest.raises(Exception, match="one number for each row"):
        distributed.evaluate(dataset(x), program, ["x"], lambda batch: {"whole": batch["output_0"]})


@pytest.mark.parametrize(
    ("config", "tolerance"),
    [(static_int8(), 0.0), (weight_only_int4(by_inputs=True), 1e-5)],
    ids=["static", "by_inputs"],
)
def test_ranges_are_those_of_one_process(
    cluster: Cluster, net: Net, x: np.ndarray, config: Any, tolerance: float
) -> None:
    exported = export(net, (torch.ones(1, 8),))
    quantizer = CpuQuantizer().set_global(config)
    ours = distributed.quantize(dataset(x), exported, quantizer, ["x"], batch_size=8)
    alone = quantize(exported, None, quantizer, [torch.from_numpy(row[None]) for row in x])
    sample = torch.from_numpy(x[:16])
    # Sums of float32 numbers depend on the order.
    for row in sample[:, None]:
        torch.testing.assert_close(ours.module()(row), alone.module()(row), rtol=tolerance, atol=tolerance)


def test_sensitivity_is_that_of_one_process(cluster: Cluster, net: Net, x: np.ndarray) -> None:
    exported = export(net, (torch.ones(1, 8),))
    quantizer = CpuQuantizer().set_global(static_int8())
    found = distributed.sensitivity(dataset(x), exported, quantizer, ["x"], items=24, batch_size=8)
    data = [torch.from_numpy(row[None]) for row in x]
    alone = sensitivity(exported, None, quantizer, data, items=24)
    assert found.items == 24 and [row.name for row in found.layers] == [row.name for row in alone.layers]
    for mine, theirs in zip(found.layers, alone.layers, strict=True):
        assert mine.result.snr_db == pytest.approx(theirs.result.snr_db, rel=1e-9)
    assert found.whole.snr_db == pytest.approx(alone.whole.snr_db, rel=1e-9)


def test_observers_that_cannot_be_merged_are_refused(cluster: Cluster, net: Net, x: np.ndarray) -> None:
    from torchao.quantization.pt2e import HistogramObserver
    from torchao.quantization.pt2e.quantizer import QuantizationConfig

    config = static_int8()
    spec = config.input_activation
    other = type(spec)(
        dtype=spec.dtype,
        observer_or_fake_quant_ctr=HistogramObserver,
        quant_min=spec.quant_min,
        quant_max=spec.quant_max,
        qscheme=spec.qscheme,
    )
    quantizer = CpuQuantizer().set_global(QuantizationConfig(other, other, config.weight, config.bias, False))
    with pytest.raises(QuantizationError, match="HistogramObserver cannot merge the statistics"):
        distributed.quantize(dataset(x), export(net, (torch.ones(1, 8),)), quantizer, ["x"])


def test_nothing_is_lost_with_a_machine(cluster: Cluster, x: np.ndarray, program: bytes) -> None:
    machine = cluster.add_node(num_cpus=2, object_store_memory=80 << 20)
    cluster.wait_for_nodes(timeout=120)
    rows = []
    for row in distributed.predict(dataset(x), program, ["x"], batch_size=4, workers=3).iter_rows():
        rows.append(row["row"])
        if len(rows) == 8:
            cluster.remove_node(machine, allow_graceful=False)
    assert sorted(rows) == list(range(ROWS))
