"""Records the decomposition of one operator by running it on fake tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.fx.node import Argument, Node, map_aggregate
from torch.utils._python_dispatch import TorchDispatchMode

from rushlight.frontend.decompositions import Decomposition
from rushlight.frontend.tables import Table, is_composite, is_kept_composite, is_view
from rushlight.ir.fake import Evaluator, fresh_arguments, signature_of
from rushlight.ir.meta import get_val


class NeedsFallback(Exception):
    """The program needs torch's decomposition. The message is the reason."""


def evaluate(
    evaluator: Evaluator, op: OpOverload, args: tuple[Argument, ...], kwargs: Mapping[str, Argument]
) -> Any:
    """Returns the value of a call whose inputs may have another layout than in the exported program.

    Raises:
        NeedsFallback: the operator is a view that does not exist for the new layout.
    """
    try:
        return evaluator.value(op, args, kwargs)
    except (RuntimeError, ValueError) as error:
        if op.is_view:
            raise NeedsFallback(f"{op} reads a tensor whose layout changes") from error
        raise


@dataclass(frozen=True)
class Ref:
    """A tensor inside an expansion.

    Attributes:
        step: the index of the step that computes the tensor; -1 for an input of the expansion.
        index: the index among the inputs or the outputs; None if the step has a single output.
    """

    step: int
    index: int | None


@dataclass(frozen=True)
class Step:
    """One recorded call of an operator. Its tensor arguments are `Ref`s, and `val` is the fake result.

    `original` is the outermost operator that is not composite and whose decomposition makes the call.
    """

    target: OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    val: Any
    original: OpOverload


@dataclass
class Expansion:
    """The recorded steps of one operator and its outputs, with `Ref`s for tensors."""

    steps: list[Step] = field(default_factory=list)
    output: Any = None

    def is_view(self) -> bool:
        """Whether the output is a single tensor that shares memory with an input."""
        ref = self.output
        while isinstance(ref, Ref) and ref.step >= 0:
            step = self.steps[ref.step]
            if not is_view(step.target) or not step.args:
                return False
            ref = step.args[0]
        return isinstance(ref, Ref)


class Recorder(TorchDispatchMode):
    """A dispatch mode that records operators. Composite operators and those in the table are decomposed.

    An in-place operator is recorded in its functional form if it writes a tensor of the expansion itself.
    """

    supports_higher_order_operators = True  # `__torch_dispatch__` asks for torch's decomposition.

    def __init__(
        self, table: Table, preserve: Collection[OpOverload], original: OpOverload | None = None
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._table = table
        self._original = original
        self._preserve = preserve
        self._expansion = Expansion()
        self._refs: dict[int, Ref] = {}
        self._alive: list[object] = []
        self._views: dict[int, set[int]] = {}

    def expand(
        self,
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        inputs: list[torch.Tensor],
    ) -> Expansion:
        """Runs `function(*args, **kwargs)` and records the operators that it calls.

        Args:
            function: the decomposition.
            args: the positional arguments.
            kwargs: the keyword arguments.
            inputs: the tensors among the arguments.

        Raises:
            NeedsFallback: the decomposition cannot be recorded.
        """
        for index, tensor in enumerate(inputs):
            self._track(tensor, Ref(-1, index))
        with self:
            output = function(*args, **kwargs)
        if output is NotImplemented:
            raise NeedsFallback(f"the decomposition of {function} does not support its arguments")
        self._expansion.output = self._to_refs(output)
        return self._expansion

    def __torch_dispatch__(
        self,
        func: OpOverload | HigherOrderOperator,
        types: object,
        args: tuple[Argument, ...] = (),
        kwargs: Mapping[str, Argument] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator):
            raise NeedsFallback(f"the decomposition calls {func.name()}")
        if func in _METADATA_READS:
            return func(*args, **kwargs)
        if func is torch.ops.aten.detach.default:
            return args[0]
        decomposition = self._table.get(func)
        if decomposition is not None:
            outer = self._original
            if not is_composite(func):
                self._original = outer or func
            with self:
                output = decomposition(*args, **kwargs)
            self._original = outer
            if output is not NotImplemented:
                return output
        if is_composite(func) and not is_kept_composite(func, self._preserve):
            with self:
                output = func.decompose(*args, **kwargs)
            if output is not NotImplemented:
                return output
        if func._schema.is_mutable:
            return self._record_in_place(func, args, kwargs)
        return self._record(func, args, kwargs)

    def _record(self, func: OpOverload, args: tuple[Argument, ...], kwargs: Mapping[str, Argument]) -> Any:
        if _depends_on_data(func, args):
            raise NeedsFallback(f"the result of {func} depends on the values of tensors")
        output = func(*args, **kwargs)
        if func._schema.returns and not any(isinstance(item, torch.Tensor) for item in _flat(output)):
            return output
        step = len(self._expansion.steps)
        recorded_args, recorded_kwargs = self._to_refs(tuple(args)), self._to_refs(dict(kwargs))
        self._expansion.steps.append(
            Step(func, recorded_args, recorded_kwargs, output, self._original or func)
        )
        if isinstance(output, torch.Tensor):
            self._track(output, Ref(step, None))
        else:
            for index, item in enumerate(output or ()):
                if isinstance(item, torch.Tensor):
                    self._track(item, Ref(step, index))
        return output

    def _record_in_place(
        self, func: OpOverload, args: tuple[Argument, ...], kwargs: Mapping[str, Argument]
    ) -> torch.Tensor:
        functional = functional_form(func)
        target = args[0] if args else None
        if functional is None or not isinstance(target, torch.Tensor):
            raise NeedsFallback(f"{func} writes its arguments")
        ref = self._refs.get(id(target))
        if ref is None or ref.step < 0 or len(self._views[_storage(target)]) > 1:
            raise NeedsFallback(f"{func} writes an input of the decomposition or a tensor that has views")
        with self:
            output = functional(*args, **kwargs)
        if torch.Tag.inplace_view in func.tags:
            self._copy_before_shape_change(target)
            func(*args, **kwargs)
            self._refs[id(target)] = self._refs[id(output)]
            return target
        if output.dtype != target.dtype or output.shape != target.shape or output.stride() != target.stride():
            raise NeedsFallback(f"{func} changes the dtype, shape or strides of the tensor that it writes")
        self._refs[id(target)] = self._refs[id(output)]
        return target

    def _copy_before_shape_change(self, tensor: torch.Tensor) -> None:
        """Replaces a recorded result by a copy, because an in-place view operator will change its shape."""
        copy = tensor.detach()
        for index, step in enumerate(self._expansion.steps):
            if step.val is tensor:
                self._expansion.steps[index] = replace(step, val=copy)
            elif isinstance(step.val, (list, tuple)) and any(item is tensor for item in step.val):
                vals = tuple(copy if item is tensor else item for item in step.val)
                self._expansion.steps[index] = replace(step, val=vals)

    def _track(self, tensor: torch.Tensor, ref: Ref) -> None:
        self._refs[id(tensor)] = ref
        self._alive.append(tensor)
        self._views.setdefault(_storage(tensor), set()).add(id(tensor))

    def _to_refs(self, tree: Any) -> Any:
        def convert(item: object) -> Any:
            if not isinstance(item, torch.Tensor):
                return item
            ref = self._refs.get(id(item))
            if ref is None:
                raise NeedsFallback("a decomposition creates a constant tensor")
            return ref

        return map_aggregate(tree, convert)


# matmul folds the batch dims of one operand into its rows if the other operand is a matrix with gradients.
_READS_REQUIRES_GRAD = frozenset({torch.ops.aten.matmul.default})

_METADATA_READS = frozenset(FunctionalTensor.metadata_fns)


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _flat(output: object) -> Iterator[object]:
    if isinstance(output, (list, tuple)):
        for item in output:
            yield from _flat(item)
    else:
        yield output


def _depends_on_data(op: OpOverload, args: tuple[Any, ...]) -> bool:
    """Whether a size or a scalar of the result depends on the values of tensors."""
    if op is torch.ops.aten.index.Tensor:
        masks = (torch.bool, torch.uint8)
        return any(index is not None and index.dtype in masks for index in args[1])
    return torch.Tag.data_dependent_output in op.tags or torch.Tag.dynamic_output_shape in op.tags


def functional_form(op: OpOverload) -> OpOverload | None:
    """Returns the functional overload of an in-place operator such as `add_.Tensor`, or None."""
    name = op._schema.name.split("::")[1]
    if not name.endswith("_"):
        return None
    if name.endswith("__") and not name.startswith("__i"):
        return None
    name = f"__{name[3:]}" if name.endswith("__") else name[:-1]
    packet = getattr(getattr(torch.ops, op.namespace), name, None)
    functional = getattr(packet, op._overloadname, None) if packet is not None else None
    if functional is None or functional._schema.is_mutable:
        return None
    functional_types = [str(arg.type) for arg in functional._schema.arguments]
    in_place_types = [str(arg.type) for arg in op._schema.arguments]
    return functional if functional_types == in_place_types else None


class Expander:
    """Records decompositions of calls. Recordings are cached by operator, tensor metadata and constants."""

    def __init__(self, fake_mode: FakeTensorMode, table: Table, preserve: Collection[OpOverload]) -> None:
        self._fake_mode = fake_mode
        self._table = table
        self._preserve = preserve
        self._memo: dict[object, Expansion] = {}

    @contextmanager
    def active(self) -> Iterator[None]:
        """Enters the torch modes in which decompositions are recorded."""
        from torch._export.utils import _special_op_to_preserve_cia
        from torch.export.exported_program import _override_composite_implicit_decomp

        kept = {op: _special_op_to_preserve_cia for op in self._preserve if is_composite(op)}
        with (
            torch.no_grad(),
            _host_libraries_off(),
            _override_composite_implicit_decomp(kept),
            enable_python_dispatcher(),
        ):
            yield

    def expand(
        self,
        op: OpOverload,
        args: tuple[Argument, ...],
        kwargs: Mapping[str, Argument],
        function: Decomposition | None = None,
    ) -> tuple[Expansion, list[Node]]:
        """Returns the expansion of `op` and its input nodes, in the order of the `Ref`s.

        Args:
            op: the operator.
            args: its positional arguments.
            kwargs: its keyword arguments.
            function: computes the operator, by default its decomposition.

        Raises:
            NeedsFallback: the decomposition cannot be recorded.
        """
        nodes, key = signature_of(op, args, kwargs)
        gradients: tuple[bool, ...] = ()
        if op in _READS_REQUIRES_GRAD:
            gradients = tuple(get_val(node).requires_grad for node in nodes)
        expansion = self._memo.get((key, gradients))
        if expansion is None:
            function = function or self._table.get(op) or op.decompose
            with self._fake_mode:
                fakes, fake_args, fake_kwargs = fresh_arguments(nodes, args, kwargs)
                for fake, gradient in zip(fakes, gradients, strict=False):
                    fake.requires_grad_(gradient)
                recorder = Recorder(self._table, self._preserve, None if is_composite(op) else op)
                expansion = recorder.expand(function, fake_args, fake_kwargs, fakes)
            self._memo[key, gradients] = expansion
        return expansion, nodes


@contextmanager
def _host_libraries_off() -> Iterator[None]:
    """Turns off the libraries of this machine, so that decompositions do not select their operators."""
    switches = (torch.backends.mkldnn, torch.backends.nnpack, torch.backends.cudnn)
    before = [switch.set_flags(False) for switch in switches]
    try:
        yield
    finally:
        for switch, flags in zip(switches, before, strict=True):
            switch.set_flags(*flags)
