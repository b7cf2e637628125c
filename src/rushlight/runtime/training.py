"""Trains programs whose methods return a loss, the gradients and the parameters.

`torch.export.experimental._export_forward_backward` exports such a program: a joint graph of the forward and
backward passes. This module does not import torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rushlight.runtime import _native
from rushlight.runtime.errors import InvalidArgumentError, InvalidStateError
from rushlight.runtime.program import DataSource, ProgramSource, load_native
from rushlight.runtime.pybindings import ExecuTorchModule, ExecuTorchProgram

GRADIENTS_INDEX = "__et_training_gradients_index_"
"""The prefix of the name of the method that returns the index of the first gradient of a method."""
PARAMETERS_INDEX = "__et_training_parameters_index_"
"""The prefix of the name of the method that returns the index of the first parameter of a method."""
PARAMETER_NAMES = "__et_training_fqn_"
"""The prefix of the name of the method that returns the names of the parameters of a method."""


@dataclass(frozen=True)
class _JointGraph:
    """The layout of a method's outputs: results, then gradients, then parameters, in the order of `names`.

    Attributes:
        gradients: the index of the first gradient.
        parameters: the index of the first parameter.
        names: the fully qualified names of the parameters.
    """

    gradients: int
    parameters: int
    names: tuple[str, ...]


class TrainingModule:
    """A program with joint graphs of forward and backward passes.

    The parameters are views of the memory of the program. If an optimizer changes them, the next call uses
    the new values.

    Args:
        module: the loaded program, from a function of `portable_lib`.

    Attributes:
        model: the loaded program.
    """

    def __init__(self, module: ExecuTorchModule) -> None:
        self.model = module
        self._graphs: dict[str, _JointGraph] = {}
        self._parameters: dict[str, dict[str, Any]] = {}
        self._gradients: dict[str, dict[str, Any]] = {}
        self._last: str | None = None

    @property
    def method_names(self) -> list[str]:
        """The names of the methods that can be trained."""
        names = self.model.method_names()
        return [name for name in names if PARAMETER_NAMES + name in names]

    def forward_backward(self, method_name: str, inputs: Sequence[Any]) -> list[Any]:
        """Computes the loss and the gradients of all parameters.

        Args:
            method_name: the name of a method with a joint graph.
            inputs: the inputs of the model, such as a batch and its labels.

        Returns:
            The outputs of the model: the loss and all other results of its `forward`. They own their memory.

        Raises:
            InvalidArgumentError: the method has no joint graph, or an input has a wrong shape or dtype.
        """
        graph = self._graph(method_name)
        shared = self.model.run_method(method_name, inputs, clone_outputs=False)
        outputs = [_copy(value) for value in shared[: graph.parameters]]
        gradients = outputs[graph.gradients :]
        self._gradients[method_name] = dict(zip(graph.names, gradients, strict=True))
        self._last = method_name
        return outputs[: graph.gradients]

    def named_parameters(self, method_name: str | None = None) -> dict[str, Any]:
        """Returns the parameters by name, as views of the memory of the program.

        Args:
            method_name: the name of a method with a joint graph. The default is the method of the last
                `forward_backward`, else the only such method.

        Returns:
            The parameters: torch tensors if torch is loaded, else numpy arrays. A write to a view
            changes the parameter of the program.

        Raises:
            InvalidArgumentError: the method has no joint graph, or no name is given and there are several.
        """
        if method_name is None:
            method_name = self._last or self._only()
        found = self._parameters.get(method_name)
        if found is None:
            graph = self._graph(method_name)
            found = {
                name: self.model.output_view(method_name, graph.parameters + index)
                for index, name in enumerate(graph.names)
            }
            self._parameters[method_name] = found
        return found

    def named_gradients(self, method_name: str | None = None) -> dict[str, Any]:
        """Returns the gradients of the last `forward_backward` by the names of their parameters.

        Args:
            method_name: the name of a method with a joint graph. The default is the method of the last
                `forward_backward`.

        Raises:
            InvalidStateError: `forward_backward` has not been called.
        """
        name = self._last if method_name is None else method_name
        if name is None or name not in self._gradients:
            raise InvalidStateError(
                "there are no gradients"
                + (f" of the method {name!r}" if name is not None else "")
                + ": call forward_backward before named_gradients"
            )
        return self._gradients[name]

    def load_parameters(self, parameters: Mapping[str, Any], method_name: str | None = None) -> None:
        """Sets parameters to values, such as the values of an earlier training run.

        Args:
            parameters: the values by parameter name, with the shapes of the parameters. Parameters without a
                value do not change.
            method_name: the name of a method with a joint graph. See `named_parameters`.

        Raises:
            InvalidArgumentError: there is no such parameter, or a value has another shape.
        """
        own = self.named_parameters(method_name)
        for name, value in parameters.items():
            if name not in own:
                raise InvalidArgumentError(
                    f"there is no parameter {name!r}; the parameters are {', '.join(own)}"
                )
            if tuple(value.shape) != tuple(own[name].shape):
                raise InvalidArgumentError(
                    f"parameter {name!r} has the shape {list(own[name].shape)}, but its new value has the "
                    f"shape {list(value.shape)}"
                )
        for name, value in parameters.items():
            own[name][...] = value

    def _only(self) -> str:
        names = self.method_names
        if len(names) != 1:
            raise InvalidArgumentError(
                f"method_name is needed: the program has {len(names)} methods with a joint graph"
                + (f" ({', '.join(names)})" if names else "; export it with _export_forward_backward")
            )
        return names[0]

    def _graph(self, method_name: str) -> _JointGraph:
        graph = self._graphs.get(method_name)
        if graph is None:
            graph = self._graphs[method_name] = self._read_graph(method_name)
        return graph

    def _read_graph(self, method_name: str) -> _JointGraph:
        prefixes = (GRADIENTS_INDEX, PARAMETERS_INDEX, PARAMETER_NAMES)
        names = self.model.method_names()
        for needed in (method_name, *(prefix + method_name for prefix in prefixes)):
            if needed not in names:
                raise InvalidArgumentError(
                    f"method {method_name!r} has no joint graph of forward and backward passes: the program "
                    f"has no method {needed!r}; export the model with "
                    "torch.export.experimental._export_forward_backward"
                )
        first, second, named = (self.model.run_method(prefix + method_name) for prefix in prefixes)
        graph = _JointGraph(int(first[0]), int(second[0]), tuple(str(name) for name in named))
        count = len(graph.names)
        outputs = self.model.method_meta(method_name).num_outputs()
        if graph.gradients < 0 or (graph.gradients + count, graph.parameters + count) != (
            graph.parameters,
            outputs,
        ):
            raise InvalidArgumentError(
                f"method {method_name!r} has {outputs} outputs and names {count} parameters, but its "
                f"gradients begin at output {graph.gradients} and its parameters at {graph.parameters}"
            )
        return graph


def _copy(value: Any) -> Any:
    """Returns a copy of a tensor or array. Other values are returned unchanged."""
    copy = getattr(value, "clone", None) or getattr(value, "copy", None)
    return value if copy is None else copy()


class Optimizer:
    """The base class of the optimizers `SGD` and `AdamW`, which update parameters in place.

    Args:
        native: the optimizer of the runtime.
    """

    def __init__(self, native: _native.Sgd | _native.AdamW) -> None:
        self._native = native

    @property
    def lr(self) -> float:
        """The learning rate. It can be changed between steps, for example by a schedule."""
        return self._native.lr

    @lr.setter
    def lr(self, value: float) -> None:
        self._native.lr = value

    def step(self, named_gradients: Mapping[str, Any]) -> None:
        """Updates each parameter that has a gradient. An error leaves all parameters unchanged.

        Args:
            named_gradients: the gradients by parameter name, with the shapes and dtypes of the parameters.
                Gradients of parameters that the optimizer does not have are ignored.

        Raises:
            InvalidArgumentError: a gradient has a wrong shape or dtype, or no gradient belongs to a
                parameter.
        """
        self._native.step(dict(named_gradients))


class SGD(Optimizer):
    """Stochastic gradient descent, with the options of `torch.optim.SGD`. It updates parameters in place.

    For a parameter p with gradient g, a step computes `d = g + weight_decay * p`. The direction m is `d` in
    the first step, and `momentum * m + (1 - dampening) * d` in later steps. The step subtracts `lr * m` from
    p; with Nesterov's method, it subtracts `lr * (d + momentum * m)`. float16 and bfloat16 are computed in
    float32.

    Args:
        named_parameters: the parameters by name, from `TrainingModule.named_parameters`: float32, float64,
            float16 or bfloat16 tensors of torch, numpy or DLPack.
        lr: the learning rate.
        momentum: the factor of the previous direction.
        dampening: the fraction of the gradient that is not added to the direction.
        weight_decay: the factor of the L2 penalty.
        nesterov: use Nesterov's method.

    Raises:
        InvalidArgumentError: a number is negative or not finite, or Nesterov's method is used with a momentum
            of 0 or with dampening.
        NotSupportedError: a parameter has another dtype.
    """

    def __init__(
        self,
        named_parameters: Mapping[str, Any],
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(_native.Sgd(dict(named_parameters), lr, momentum, dampening, weight_decay, nesterov))


def get_sgd_optimizer(
    named_parameters: Mapping[str, Any],
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> SGD:
    """Returns an optimizer for parameters; see `SGD`.

    Args:
        named_parameters: the parameters by name.
        lr: the learning rate.
        momentum: the factor of the previous direction.
        dampening: the fraction of the gradient that is not added to the direction.
        weight_decay: the factor of the L2 penalty.
        nesterov: use Nesterov's method.
    """
    return SGD(named_parameters, lr, momentum, dampening, weight_decay, nesterov)


class AdamW(Optimizer):
    """Adam with decoupled weight decay and the options of `torch.optim.AdamW`. Updates parameters in place.

    For a parameter p with gradient g, step t computes the moments `m = beta1 * m + (1 - beta1) * g` and
    `v = beta2 * v + (1 - beta2) * g**2`, which are 0 before the first step. Then p becomes
    `(1 - lr * weight_decay) * p - lr * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps)`. AMSGrad
    replaces v in this formula by its largest value of all steps. float16 and bfloat16 are computed in
    float32. Their moments are float32 too.

    Sources: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, and Reddi et al., "On the
    Convergence of Adam and Beyond", 2018 (AMSGrad).

    Args:
        named_parameters: the parameters by name, from `TrainingModule.named_parameters`: float32, float64,
            float16 or bfloat16 tensors of torch, numpy or DLPack.
        lr: the learning rate.
        betas: the decay rates beta1 and beta2 of the moments, in [0, 1).
        eps: the term that is added to the denominator.
        weight_decay: the fraction of a parameter that a step subtracts, divided by the learning rate.
        amsgrad: use AMSGrad.

    Raises:
        InvalidArgumentError: a number is negative or not finite, or a decay rate is 1 or more.
        NotSupportedError: a parameter has another dtype.
    """

    def __init__(
        self,
        named_parameters: Mapping[str, Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        parameters = dict(named_parameters)
        super().__init__(_native.AdamW(parameters, lr, *betas, eps, weight_decay, amsgrad))


def load_for_training(source: ProgramSource, *, data_path: DataSource | None = None) -> TrainingModule:
    """Loads a program with joint graphs of forward and backward passes.

    Args:
        source: a path, bytes, a file object, or a compiled program.
        data_path: the .ptd files with the external data of the program, or the bytes of one such file.

    Raises:
        FileMissingError: a file does not exist.
        InvalidProgramError: the program is truncated, damaged, or not a .pte file.
    """
    return TrainingModule(ExecuTorchModule(ExecuTorchProgram(load_native(source, data_path, None))))


def _load_for_executorch_for_training(path: str) -> TrainingModule:
    """Loads a program from a file."""
    return load_for_training(path)


def _load_for_executorch_for_training_from_buffer(buffer: bytes) -> TrainingModule:
    """Loads a program from bytes."""
    return load_for_training(buffer)
