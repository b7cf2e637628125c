"""Evaluation, calibration and sensitivity analysis over the rows of a `ray.data` dataset, on many machines.

It needs `pip install rushlight[ray]`. Each actor of Ray loads the program once. If an actor or its machine
fails, Ray runs its unfinished batches again: what an actor returns depends on its batch alone, so that
nothing is lost or counted twice.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from torch._ops import OpOverload

from rushlight.runtime import Runtime

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.data import Dataset
    from torch.export import ExportedProgram
    from torch.fx import GraphModule
    from torchao.quantization.pt2e.quantizer import Quantizer

    from rushlight.quantize import Sensitivity

Columns = dict[str, np.ndarray]
Batch = Mapping[str, np.ndarray]
Measure = Callable[[Columns], Mapping[str, npt.ArrayLike]]


class Predictor:
    """Runs a program on batches of a dataset, for `map_batches` of `ray.data`.

    A batch is a dict of columns: arrays whose first dimension counts the rows. The result has these columns
    and those of the outputs.

    Args:
        program: the bytes or the path of a .pte file.
        inputs: the columns that the method takes, in the order of its inputs.
        outputs: the columns for its outputs, in order. The default is `output_0` and so on.
        method: the name of the method.
        batched: run the whole batch in one call, which needs a program with a dynamic first dimension.
            Otherwise each row is a call of its own, and an input may have a leading dimension of 1 that the
            rows lack; the outputs then have one too many, which is removed.
        threads: the number of threads of a call.

    Raises:
        FileMissingError: the file does not exist.
        InvalidProgramError: the program is damaged.
    """

    def __init__(
        self,
        program: bytes | str | os.PathLike[str],
        inputs: Sequence[str],
        outputs: Sequence[str] | None = None,
        *,
        method: str = "forward",
        batched: bool = False,
        threads: int = 1,
    ) -> None:
        self._program = Runtime.get().load_program(program, threads=threads)
        self._method = self._program.load_method(method)
        self._inputs = list(inputs)
        self._outputs = None if outputs is None else list(outputs)
        self._batched = batched

    def __call__(self, batch: Batch) -> Columns:
        """Returns the batch with the outputs of the program as further columns.

        Args:
            batch: the columns.

        Raises:
            KeyError: the batch lacks an input. The message lists its columns.
            ValueError: the number of `outputs` is not that of the method.
        """
        columns = [self._column(batch, name) for name in self._inputs]
        if self._batched:
            results = [np.asarray(value) for value in self._method.execute(columns)]
        else:
            rows = [self._row([column[i] for column in columns]) for i in range(len(columns[0]))]
            results = [np.stack(values) for values in zip(*rows, strict=True)]
        names = self._outputs or [f"output_{index}" for index in range(len(results))]
        if len(names) != len(results):
            raise ValueError(
                f"the method has {len(results)} outputs, but {len(names)} names are given: {names}"
            )
        return {**batch, **dict(zip(names, results, strict=True))}

    def _column(self, batch: Batch, name: str) -> np.ndarray:
        if name not in batch:
            raise KeyError(f"the dataset has no column {name!r}; it has {sorted(batch)}")
        return np.ascontiguousarray(batch[name])

    def _row(self, values: list[np.ndarray]) -> list[np.ndarray]:
        """The outputs of one call."""
        metadata = self._method.metadata
        ranks = [len(metadata.input_tensor_meta(index).sizes()) for index in range(len(values))]
        lacks_dim = all(value.ndim == rank - 1 for value, rank in zip(values, ranks, strict=True))
        given = [value[None] for value in values] if lacks_dim else values
        results = [np.asarray(value) for value in self._method.execute(given)]
        return [result[0] if lacks_dim and result.ndim else result for result in results]


def predict(
    dataset: Dataset,
    program: bytes | str | os.PathLike[str],
    inputs: Sequence[str],
    outputs: Sequence[str] | None = None,
    *,
    workers: int = 2,
    batch_size: int = 32,
    **options: object,
) -> Dataset:
    """Runs a program on all rows of a dataset.

    Args:
        dataset: a `ray.data.Dataset`.
        program: the bytes or the path of a .pte file, which this process reads.
        inputs: the columns that the method takes, in the order of its inputs.
        outputs: the columns for its outputs.
        workers: the largest number of actors; Ray starts fewer while other tasks need the processors.
        batch_size: the rows of a batch. A batch is what runs again if an actor fails.
        options: further arguments of `Predictor`.

    Returns:
        The dataset with the outputs as further columns. Ray computes it when it is read.

    Raises:
        ModuleNotFoundError: ray is not installed.
    """
    arguments = {
        "program": _shared(_bytes_of(program)),
        "inputs": list(inputs),
        "outputs": outputs,
        **options,
    }
    return _map(dataset, _PredictorActor, arguments, workers, batch_size)


def evaluate(
    dataset: Dataset,
    program: bytes | str | os.PathLike[str],
    inputs: Sequence[str],
    measure: Measure,
    outputs: Sequence[str] | None = None,
    *,
    workers: int = 2,
    batch_size: int = 32,
    **options: object,
) -> dict[str, float]:
    """Measures a program over all rows of a dataset.

    Args:
        dataset: a `ray.data.Dataset`.
        program: the bytes or the path of a .pte file, which this process reads.
        inputs: the columns that the method takes, in the order of its inputs.
        measure: a function of a batch with the outputs. It returns one array of numbers by name, with one
            number for each row, such as 1 where the prediction is right.
        outputs: the columns for the outputs. The default is `output_0` and so on.
        workers: the largest number of actors; Ray starts fewer while other tasks need the processors.
        batch_size: the rows of a batch.
        options: further arguments of `Predictor`.

    Returns:
        The mean of each number over all rows, and `rows`, their count.

    Raises:
        ModuleNotFoundError: ray is not installed.
        ValueError: the dataset has no rows, or `measure` does not return one number for each row.
    """
    arguments = {
        "program": _shared(_bytes_of(program)),
        "inputs": list(inputs),
        "outputs": outputs,
        **options,
    }
    arguments["measure"] = measure
    rows, sums = 0, dict[str, float]()
    for part in _results(_map(dataset, _EvaluationActor, arguments, workers, batch_size)):
        rows += part["rows"]
        for name, value in part["sums"].items():
            sums[name] = sums.get(name, 0.0) + value
    if rows == 0:
        raise ValueError("evaluation: the dataset has no rows")
    return {"rows": rows, **{name: value / rows for name, value in sums.items()}}


def quantize(
    dataset: Dataset,
    program: ExportedProgram,
    quantizer: Quantizer,
    inputs: Sequence[str],
    *,
    workers: int = 2,
    batch_size: int = 32,
) -> ExportedProgram:
    """Quantizes a program with ranges from all rows of a dataset, as `rushlight.quantize.quantize` does.

    Ranges are those that one process would find, because counts of values are merged. Sums of products for
    weights that are rounded by inputs differ by the rounding of float32 numbers.

    Args:
        dataset: a `ray.data.Dataset`. A row has the inputs of one call; those of the program may have a
            leading dimension of 1 that the rows lack.
        program: a program of torch.export.
        quantizer: the quantizer, which selects what is quantized.
        inputs: the columns that the program takes, in the order of its inputs.
        workers: the largest number of actors; Ray starts fewer while other tasks need the processors.
        batch_size: the rows of a batch.

    Returns:
        The quantized program.

    Raises:
        ModuleNotFoundError: ray is not installed.
        QuantizationError: as `rushlight.quantize.quantize` raises it, or the observers of a configuration
            cannot be merged.
    """
    import torch

    from rushlight.quantize import convert_pt2e

    prepared = _calibrated(dataset, program, quantizer, inputs, workers, batch_size)
    example = program.example_inputs
    assert example is not None
    return torch.export.export(convert_pt2e(prepared), example[0], strict=False)


def sensitivity(
    dataset: Dataset,
    program: ExportedProgram,
    quantizer: Quantizer,
    inputs: Sequence[str],
    *,
    items: int = 64,
    workers: int = 2,
    batch_size: int = 8,
) -> Sensitivity:
    """Measures how quantizing each layer alone changes the results, as `rushlight.quantize.sensitivity` does.

    Args:
        dataset: a `ray.data.Dataset`; all rows calibrate.
        program: a program of torch.export.
        quantizer: describes how layers are quantized.
        inputs: the columns that the program takes, in the order of its inputs.
        items: the number of rows to measure, the first ones.
        workers: the largest number of actors; Ray starts fewer while other tasks need the processors.
        batch_size: the rows of a batch.

    Returns:
        The layers, the greatest error first.

    Raises:
        ModuleNotFoundError: ray is not installed.
        QuantizationError: as `quantize` raises it.
    """
    from rushlight.quantize import convert_pt2e
    from rushlight.quantize.layer_sensitivity import SensitivityMeters

    prepared = _calibrated(dataset, program, quantizer, inputs, workers, batch_size)
    arguments = {
        "program": _shared(_saved(program)),
        "quantizer": _pickled(quantizer),
        "inputs": list(inputs),
        "observers": _shared(_pickled(_observed(prepared))),
    }
    meters = SensitivityMeters(_loaded(_saved(program)), convert_pt2e(prepared))
    for state in _results(_map(dataset.limit(items), _SensitivityActor, arguments, workers, batch_size)):
        meters.absorb(state)
    return meters.result()


# ---- Actors ----


class _PredictorActor:
    """A predictor that takes its program from Ray's object store."""

    def __init__(self, program: ObjectRef[bytes], **options: Any) -> None:
        self._predictor = Predictor(_ray().get(program), **options)

    def __call__(self, batch: Batch) -> Columns:
        return self._predictor(batch)


class _EvaluationActor(_PredictorActor):
    def __init__(self, program: ObjectRef[bytes], measure: Measure, **options: Any) -> None:
        super().__init__(program, **options)
        self._measure = measure

    def __call__(self, batch: Batch) -> Columns:
        rows = len(next(iter(batch.values())))
        sums = {}
        for name, values in self._measure(self._predictor(batch)).items():
            numbers = np.asarray(values, dtype=np.float64)
            if numbers.shape != (rows,):
                raise ValueError(
                    f"the measure {name!r} has the shape {numbers.shape} for a batch of {rows} rows; it "
                    "gives one number for each row"
                )
            sums[name] = float(numbers.sum())
        return _result({"rows": rows, "sums": sums})


class _CalibrationActor:
    def __init__(self, program: ObjectRef[bytes], quantizer: bytes, inputs: list[str]) -> None:
        from rushlight.quantize import prepare_pt2e
        from rushlight.quantize.shards import ShardCalibration

        exported = _loaded(_ray().get(program))
        self._rows = _Rows(exported, inputs)
        self._calibration = ShardCalibration(prepare_pt2e(exported, pickle.loads(quantizer)))

    def __call__(self, batch: Batch) -> Columns:
        return _result(self._calibration.observe(self._rows.of(batch)))


class _SensitivityActor:
    def __init__(
        self, program: ObjectRef[bytes], quantizer: bytes, inputs: list[str], observers: ObjectRef[bytes]
    ) -> None:
        from rushlight.quantize import convert_pt2e, prepare_pt2e
        from rushlight.quantize.shards import absorb

        self._program = _loaded(_ray().get(program))
        self._rows = _Rows(self._program, inputs)
        prepared = prepare_pt2e(self._program, pickle.loads(quantizer))
        absorb(prepared, pickle.loads(_ray().get(observers)))
        self._converted = convert_pt2e(prepared)

    def __call__(self, batch: Batch) -> Columns:
        from rushlight.quantize.layer_sensitivity import SensitivityMeters

        meters = SensitivityMeters(self._program, self._converted)
        for arguments in self._rows.of(batch):
            meters.add(arguments)
        return _result(meters.state())


class _Rows:
    """The arguments of a program in the rows of a batch."""

    def __init__(self, program: ExportedProgram, inputs: list[str]) -> None:
        from rushlight.ir import meta

        nodes = {node.name: node for node in program.graph.nodes}
        names = program.graph_signature.user_inputs
        self._ranks = [len(meta.get_shape(nodes[str(name)])) for name in names]
        self._inputs = inputs

    def of(self, batch: Batch) -> Iterator[tuple[object, ...]]:
        import torch

        columns = [torch.as_tensor(np.array(batch[name])) for name in self._inputs]
        for values in zip(*columns, strict=True):
            ranks = zip(values, self._ranks, strict=True)
            yield tuple(value[None] if value.dim() == rank - 1 else value for value, rank in ranks)


# ---- Ray ----


def _ray(part: str = "ray") -> ModuleType:
    try:
        return importlib.import_module(part)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Ray is not installed: pip install 'rushlight[ray]'") from error


def _map(
    dataset: Dataset, actor: type, arguments: dict[str, object], workers: int, batch_size: int
) -> Dataset:
    # Fewer actors than asked for leave processors to the tasks that read the data.
    strategy = _ray("ray.data").ActorPoolStrategy(min_size=1, max_size=workers)
    return dataset.map_batches(
        actor,
        fn_constructor_kwargs=arguments,
        compute=strategy,
        batch_size=batch_size,
        batch_format="numpy",
    )


def _shared(data: bytes) -> ObjectRef[bytes]:
    """A reference to bytes in Ray's object store, which holds one copy for each machine."""
    reference: ObjectRef[bytes] = _ray().put(data)
    return reference


def _result(value: object) -> Columns:
    """A batch of one row with an object."""
    return {"result": np.array([pickle.dumps(value)], dtype=object)}


def _results(dataset: Dataset) -> Iterator[Any]:
    return (pickle.loads(row["result"]) for row in dataset.iter_rows())


def _pickled(value: object) -> bytes:
    """The bytes of an object with functions and with operators of torch, which pickle alone refuses."""

    class Pickler(_ray("ray.cloudpickle").CloudPickler):  # type: ignore[misc]
        def reducer_override(self, value: object) -> Any:
            if isinstance(value, OpOverload):
                return _operator, (value.namespace, *value._schema.name.split("::")[1:], value._overloadname)
            return super().reducer_override(value)

    buffer = io.BytesIO()
    Pickler(buffer).dump(value)
    return buffer.getvalue()


def _operator(namespace: str, name: str, overload: str) -> Any:
    import torch

    return getattr(getattr(getattr(torch.ops, namespace), name), overload)


def _predictor_arguments(
    program: bytes | str | os.PathLike[str],
    inputs: Sequence[str],
    outputs: Sequence[str] | None,
    options: Mapping[str, object],
) -> dict[str, object]:
    return {"program": _shared(_bytes_of(program)), "inputs": list(inputs), "outputs": outputs, **options}


def _bytes_of(program: bytes | str | os.PathLike[str]) -> bytes:
    return program if isinstance(program, bytes) else Path(program).read_bytes()


def _saved(program: ExportedProgram) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def _loaded(data: bytes) -> ExportedProgram:
    import torch

    return torch.export.load(io.BytesIO(data))


def _calibrated(
    dataset: Dataset,
    program: ExportedProgram,
    quantizer: Quantizer,
    inputs: Sequence[str],
    workers: int,
    batch_size: int,
) -> GraphModule:
    """The prepared program, whose observers have seen all rows."""
    from rushlight.quantize import QuantizationError, prepare_pt2e
    from rushlight.quantize.shards import ShardCalibration, absorb

    saved = _saved(program)
    prepared = prepare_pt2e(_loaded(saved), quantizer)
    ShardCalibration(prepared)  # refuses observers that cannot be merged before any work is done
    arguments = {"program": _shared(saved), "quantizer": _pickled(quantizer), "inputs": list(inputs)}
    parts = 0
    for seen in _results(_map(dataset, _CalibrationActor, arguments, workers, batch_size)):
        absorb(prepared, seen)
        parts += 1
    if parts == 0:
        raise QuantizationError("calibration: the dataset has no rows")
    return prepared


def _observed(prepared: GraphModule) -> Mapping[str, object]:
    from rushlight.quantize.shards import observers

    return observers(prepared)
