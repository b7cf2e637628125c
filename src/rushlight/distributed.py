"""Prediction, evaluation, calibration and sensitivity analysis over a `ray.data` dataset, on many machines.

This module needs `pip install 'rushlight[ray]'`. Each Ray actor loads the program once. If an actor or its
machine fails, Ray runs its unfinished batches again. No row is lost or counted twice, because the result of
an actor depends only on the batch.
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

    A batch is a dict from column name to array; the first dimension of each array is the row. The result has
    the columns of the batch and the columns of the outputs.

    Args:
        program: the bytes or the path of a .pte file.
        inputs: the names of the input columns, in the order of the method's inputs.
        outputs: the names of the output columns, in order. The default is `output_0`, `output_1` and so on.
        method: the name of the method.
        batched: whether to run the whole batch in one call; this needs a program with a dynamic first
            dimension. Otherwise, each row is a separate call. If the inputs of the method have a leading
            dimension of 1 that the rows lack, it is added to the rows, and removed from the outputs.
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
        """Returns the batch with the outputs of the program as additional columns.

        Args:
            batch: the columns.

        Raises:
            KeyError: the batch lacks an input column. The message lists the columns of the batch.
            ValueError: the number of names in `outputs` is not the number of the method's outputs.
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
                f"outputs={names}: the number of names must be {len(results)}, the number of the method's "
                "outputs"
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
        program: the bytes of a .pte file, or the path of a file that this process can read.
        inputs: the names of the input columns, in the order of the method's inputs.
        outputs: the names of the output columns. The default is `output_0`, `output_1` and so on.
        workers: the maximum number of actors. Ray starts fewer actors while other tasks need the processors.
        batch_size: the number of rows in a batch. If an actor fails, its batch runs again.
        options: other arguments of `Predictor`.

    Returns:
        The dataset with the outputs as additional columns. Ray computes the rows when they are read.

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
    """Computes means of per-row measures, such as the accuracy, over all rows of a dataset.

    Args:
        dataset: a `ray.data.Dataset`.
        program: the bytes of a .pte file, or the path of a file that this process can read.
        inputs: the names of the input columns, in the order of the method's inputs.
        measure: a function of a batch that has the outputs. It returns a dict from the name of a measure to
            an array with one number for each row, such as 1 if the prediction is right and 0 otherwise.
        outputs: the names of the output columns. The default is `output_0`, `output_1` and so on.
        workers: the maximum number of actors. Ray starts fewer actors while other tasks need the processors.
        batch_size: the number of rows in a batch.
        options: other arguments of `Predictor`.

    Returns:
        The mean of each measure over all rows, and the number of rows with the key `rows`.

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
    """Quantizes a program like `rushlight.quantize.quantize`, and calibrates it with all rows of a dataset.

    The calibrated ranges are the same as in one process, because the statistics of all actors are merged. For
    GPTQ, the sums of products differ from those of one process by float32 rounding errors.

    Args:
        dataset: a `ray.data.Dataset`. A row has the inputs of one call. If the inputs of the program have a
            leading dimension of 1 that the rows lack, it is added.
        program: a program of torch.export.
        quantizer: the quantizer, which selects the operators to quantize.
        inputs: the names of the input columns, in the order of the program's inputs.
        workers: the maximum number of actors. Ray starts fewer actors while other tasks need the processors.
        batch_size: the number of rows in a batch.

    Returns:
        The quantized program.

    Raises:
        ModuleNotFoundError: ray is not installed.
        QuantizationError: as for `rushlight.quantize.quantize`, or the observers of a configuration cannot be
            merged.
    """
    import torch

    from rushlight.ir.program import dynamic_shapes_of, keep_ranges
    from rushlight.quantize import convert_pt2e

    prepared = _calibrated(dataset, program, quantizer, inputs, workers, batch_size)
    example = program.example_inputs
    assert example is not None
    shapes = dynamic_shapes_of(program)
    made = torch.export.export(convert_pt2e(prepared), example[0], dynamic_shapes=shapes, strict=False)
    return keep_ranges(made, program)


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
    """Measures the error from quantizing each layer alone, like `rushlight.quantize.sensitivity`.

    Args:
        dataset: a `ray.data.Dataset`. All rows are used for calibration.
        program: a program of torch.export.
        quantizer: the quantizer, which selects how layers are quantized.
        inputs: the names of the input columns, in the order of the program's inputs.
        items: the number of rows, from the start of the dataset, on which the error is measured.
        workers: the maximum number of actors. Ray starts fewer actors while other tasks need the processors.
        batch_size: the number of rows in a batch.

    Returns:
        The layers with their errors, the largest error first.

    Raises:
        ModuleNotFoundError: ray is not installed.
        QuantizationError: as for `quantize`.
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


class _PredictorActor:
    """A predictor that reads its program from Ray's object store."""

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
                    f"the measure {name!r} has the shape {numbers.shape} for a batch of {rows} rows; it must "
                    "have one number for each row"
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
    """Converts the rows of a batch to the arguments of a program."""

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


def _ray(part: str = "ray") -> ModuleType:
    try:
        return importlib.import_module(part)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Ray is not installed: pip install 'rushlight[ray]'") from error


def _map(
    dataset: Dataset, actor: type, arguments: dict[str, object], workers: int, batch_size: int
) -> Dataset:
    # With `min_size=1`, the tasks that read the data get processors too.
    strategy = _ray("ray.data").ActorPoolStrategy(min_size=1, max_size=workers)
    return dataset.map_batches(
        actor,
        fn_constructor_kwargs=arguments,
        compute=strategy,
        batch_size=batch_size,
        batch_format="numpy",
    )


def _shared(data: bytes) -> ObjectRef[bytes]:
    """Puts bytes into Ray's object store, which keeps one copy on each machine; returns a reference."""
    reference: ObjectRef[bytes] = _ray().put(data)
    return reference


def _result(value: object) -> Columns:
    """Returns a batch with one row, which contains the pickled object."""
    return {"result": np.array([pickle.dumps(value)], dtype=object)}


def _results(dataset: Dataset) -> Iterator[Any]:
    return (pickle.loads(row["result"]) for row in dataset.iter_rows())


def _pickled(value: object) -> bytes:
    """Pickles an object that may contain functions and torch operators, which `pickle` does not support."""

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
    """Returns the prepared program after its observers have seen all rows."""
    from rushlight.quantize import QuantizationError, prepare_pt2e
    from rushlight.quantize.shards import ShardCalibration, absorb

    saved = _saved(program)
    prepared = prepare_pt2e(_loaded(saved), quantizer)
    ShardCalibration(prepared)  # raises an error for observers that cannot be merged, before any work is done
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
