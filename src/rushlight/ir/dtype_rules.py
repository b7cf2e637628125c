"""Dtype rules of edge operators: the valid combinations of dtypes of the arguments and results of a call.

The rows follow ExecuTorch's edge dialect. A letter is a set of dtypes. All arguments and results with the
same letter must have the same dtype. A letter with a number (such as A2) is the same set, but the dtype may
differ from that of the letter alone. `|` separates alternatives; a call must match one of them. `promoted` is
the dtype to which torch promotes `self` and `other`. `divided` is the dtype of their quotient. Indented lines
continue a row. An operator without a row may have all dtypes that torch accepts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import torch

BOOL = frozenset({torch.bool})
SIGNED = frozenset({torch.int8, torch.int16, torch.int32, torch.int64})
HALF = frozenset({torch.float16, torch.bfloat16})
FLOAT = HALF | {torch.float32, torch.float64}
INTEGER = SIGNED | {torch.uint8}
NUMBER = INTEGER | FLOAT
REAL = NUMBER | BOOL
ANY = REAL | {torch.uint16}
COMPLEX = frozenset({torch.complex64, torch.complex128})

COVERED = ANY | COMPLEX
"""The dtypes in the table. Torch and the kernels check calls with other dtypes."""

LETTERS: dict[str, frozenset[torch.dtype]] = {
    "A": ANY,
    "B": BOOL,
    "C": ANY | COMPLEX,
    "D": frozenset({torch.float64}),
    "E": ANY - HALF - {torch.float64},
    "F": FLOAT,
    "G": FLOAT | {torch.int64},
    "H": HALF,
    "I": frozenset({torch.int32, torch.int64}),
    "J": INTEGER | BOOL,
    "K": INTEGER | BOOL | {torch.uint16},
    "L": frozenset({torch.int64}),
    "M": BOOL | {torch.uint8},
    "N": NUMBER,
    "O": NUMBER | {torch.uint16},
    "P": ANY - {torch.uint8},
    "R": REAL,
    "S": frozenset({torch.float32}),
    "V": (ANY - HALF - {torch.float64}) - BOOL,
    "W": BOOL | {torch.int64},
    "X": frozenset({torch.int32, torch.int64, torch.bool, torch.uint8}),
    "U": frozenset({torch.uint16}),
}
"""The set of dtypes of each letter in the table."""

_TABLE = """
arange.default arange.start_step                              -> N
empty.memory_format full.default ones.default zeros.default   -> A
scalar_tensor.default                                         -> A
convolution.default                 input=N weight=N bias=A -> N
native_layer_norm.default           input=F weight=F bias=F -> F F F
_log_softmax.default _softmax.default elu.default gelu.default glu.default  self=F -> F
leaky_relu.default var.dim                                    self=F -> F
_to_copy.default full_like.default                            self=A -> A2
abs.default hardtanh.default neg.default relu.default         self=N -> N
alias_copy.default as_strided_copy.default clone.default      self=A -> A
constant_pad_nd.default detach_copy.default fill.Scalar       self=A -> A
lift_fresh_copy.default repeat.default select_copy.int        self=A -> A
split_copy.Tensor split_with_sizes_copy.default t_copy.default  self=A -> A
transpose_copy.int unbind_copy.int view_copy.default          self=A -> A
expand_copy.default permute_copy.default slice_copy.Tensor    self=C -> C
squeeze_copy.dim squeeze_copy.dims unsqueeze_copy.default     self=C -> C
amax.default amin.default pixel_shuffle.default sign.default tril.default  self=R -> R
argmax.default argmin.default                                 self=N -> L
avg_pool2d.default                                            self=G -> G
bitwise_not.default                                           self=J -> J
ceil.default floor.default round.default                      self=O -> O
cumsum.default                                                self=A -> N
eq.Scalar ge.Scalar gt.Scalar le.Scalar lt.Scalar ne.Scalar   self=A -> B
isinf.default isnan.default                                   self=A -> B
logical_not.default                                           self=R -> B
mean.dim                                                      self=A -> F
nonzero.default                                               self=R -> L
sum.dim_IntList                                               self=A -> R
max_pool2d_with_indices.default                               self=N -> N L
max.dim min.dim                                               self=R -> R L
index_select.default                self=A index=I -> A
scatter_add.default                 self=R index=L src=R -> R
index.Tensor                        self=R indices=X -> R
index_put.default                   self=R indices=X values=R -> R
masked_fill.Scalar                  self=R mask=B -> R
addmm.default                       self=N mat1=N mat2=N -> N
bmm.default mm.default              self=N mat2=N -> N
copy.default select_scatter.default slice_scatter.default     self=A src=A2 -> A
fill.Tensor                         self=A value=A2 -> A
cat.default stack.default           tensors=A -> A
embedding.default                   weight=A indices=I -> A
acos.default acosh.default asin.default asinh.default atan.default  self=F -> F | self=K -> S
atanh.default cos.default cosh.default div.Scalar erf.default       self=F -> F | self=K -> S
exp.default log.default logit.default reciprocal.default            self=F -> F | self=K -> S
rsqrt.default sigmoid.default sin.default sinh.default sqrt.default self=F -> F | self=K -> S
tan.default tanh.default                                            self=F -> F | self=K -> S
any.default                                                         self=P -> B | self=M -> M
bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar             self=K -> K | self=W -> L
rsub.Scalar sub.Scalar                                              self=N -> N | self=V -> S
add.Scalar                                           self=R -> R | self=E -> S | self=W -> L
clamp.default fmod.Scalar remainder.Scalar           self=N -> N | self=E -> S | self=W -> L
mul.Scalar pow.Tensor_Scalar                         self=A -> A | self=E -> S | self=W -> L
ge.Tensor gt.Tensor le.Tensor        self=R other=R2 -> B | self=A other=F -> B | self=F other=U -> B
logical_and.default logical_or.default  self=R other=R2 -> B | self=A other=F -> B | self=F other=U -> B
logical_xor.default lt.Tensor        self=R other=R2 -> B | self=A other=F -> B | self=F other=U -> B
ne.Tensor  self=R other=R2 -> B | self=A other=F -> B | self=F other=U -> B | self=U other=U -> B
add.Tensor minimum.default
    self=R other=R2 -> promoted | self=F other=U -> F | self=U other=F -> F
div.Tensor_mode floor_divide.default fmod.Tensor remainder.Tensor
    self=R other=N -> promoted | self=N other=B -> promoted | self=F other=U -> F | self=U other=F -> F
pow.Tensor_Tensor
    self=R exponent=N -> promoted | self=N exponent=B -> promoted
    | self=F exponent=U -> F | self=U exponent=F -> F
mul.Tensor
    self=R other=R2 -> promoted | self=F other=U -> F | self=U other=F -> F | self=U other=U -> U
sub.Tensor
    self=N other=N2 -> promoted | self=F other=U -> F | self=U other=F -> F
where.self
    condition=M self=R other=R2 -> promoted
    | condition=M self=F other=U -> F | condition=M self=U other=F -> F
bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor
    self=J other=J2 -> promoted | self=U other=U -> U
div.Tensor
    self=R other=R2 -> divided | self=F other=U -> F | self=U other=F -> F | self=U other=U -> S
"""

FURTHER_RULES: dict[str, dict[str, Any]] = {}
"""Rules of other operators by name, such as "my_ops::scale", in the format of ExecuTorch's `edge.yaml`.

`type_alias` contains the dtype names of each set, such as `{"T0": ["Float", "Half"]}`. `type_constraint`
contains the alternatives, such as `[{"self": "T0", "__ret_0": "T0"}]`. A rule must be added before the first
use of the operator.
"""

DTYPES = {
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Float": torch.float32,
    "Double": torch.float64,
    "UInt16": torch.uint16,
    "ComplexFloat": torch.complex64,
    "ComplexDouble": torch.complex128,
}
"""The dtypes by the names that `FURTHER_RULES` uses."""

Constraint: TypeAlias = dict[str, str]
"""The name of a set of dtypes for each tensor argument and result."""


@dataclass(frozen=True)
class DtypeRule:
    """The alternatives of an operator, and the set of dtypes of each name in them."""

    aliases: dict[str, frozenset[torch.dtype]]
    constraints: tuple[Constraint, ...]


class AllowedDtypeSet:
    """The dtypes that a name in a rule allows. `reduce_to` reduces them to a single dtype.

    Args:
        types: the dtypes.
    """

    def __init__(self, types: Iterable[torch.dtype]) -> None:
        self.types = set(types)
        self._only: torch.dtype | None = None

    def reduce_to(self, t: torch.dtype) -> bool:
        """Reduces the set to dtype `t`. Returns whether `t` was in the set."""
        if t not in self:
            return False
        self._only = t
        return True

    def clear(self) -> None:
        """Allows all dtypes again."""
        self._only = None

    def __contains__(self, key: torch.dtype) -> bool:
        return key in self.types if self._only is None else key == self._only


class FunctionDtypeConstraint:
    """The valid combinations of dtypes of the tensors of a call.

    Args:
        essential_tensor_io_names: the names of the arguments and results that every call has.
        optional_tensor_io_names: the names of the arguments that a call may omit.
        type_alias: the dtypes of each set, by the name of the set.
        type_constraint: the alternatives. Each has the name of a set for every argument and result.

    Raises:
        RuntimeError: an argument is missing in an alternative.
    """

    def __init__(
        self,
        essential_tensor_io_names: Sequence[str],
        optional_tensor_io_names: Sequence[str],
        type_alias: Mapping[str, Iterable[torch.dtype]],
        type_constraint: Sequence[Constraint],
    ) -> None:
        self.essential_tensor_io_names = list(essential_tensor_io_names)
        self.optional_tensor_io_names = list(optional_tensor_io_names)
        self.type_alias = {alias: AllowedDtypeSet(types) for alias, types in type_alias.items()}
        self.type_constraint = list(type_constraint)
        for constraint in self.type_constraint:
            lacking = {*essential_tensor_io_names, *optional_tensor_io_names} - set(constraint)
            if lacking:
                raise RuntimeError(
                    f"type_constraint must name all tensors; {constraint} lacks {sorted(lacking)}"
                )

    def validate(self, types: Mapping[str, torch.dtype | None]) -> bool:
        """Returns whether these dtypes are valid for a call.

        Args:
            types: the dtype of each argument and result, by name. Results without a name are called `__ret_0`
                and so on. None is the dtype of an empty list, for which all dtypes are valid.
        """
        if any(name not in self for name in types):
            return False
        if any(name not in types for name in self.essential_tensor_io_names):
            return False
        return any(self._fits(constraint, types) for constraint in self.type_constraint)

    def _fits(self, constraint: Constraint, types: Mapping[str, torch.dtype | None]) -> bool:
        try:
            return all(
                dtype is None or self.type_alias[constraint[name]].reduce_to(dtype)
                for name, dtype in types.items()
            )
        finally:
            for allowed in self.type_alias.values():
                allowed.clear()

    def __contains__(self, key: str) -> bool:
        return key in self.type_constraint[0]

    def __getitem__(self, arg_name: str) -> set[torch.dtype]:
        if arg_name not in self:
            return set()
        return set().union(*(self.type_alias[names[arg_name]].types for names in self.type_constraint))


@cache
def _rules() -> dict[str, DtypeRule]:
    return dict(_parse(_TABLE))


def _parse(table: str) -> Iterator[tuple[str, DtypeRule]]:
    for line in table.strip().replace("\n    ", " ").splitlines():
        words = line.split()
        start = next(i for i, word in enumerate(words) if "=" in word or word == "->")
        for name in words[:start]:
            overload = name.removesuffix(".default")
            yield f"aten::{overload}", _rule(name, " ".join(words[start:]))


def _rule(name: str, text: str) -> DtypeRule:
    op, overload = name.split(".")
    results = result_names(getattr(getattr(torch.ops.aten, op), overload)._schema)
    aliases: dict[str, frozenset[torch.dtype]] = {}
    constraints: list[Constraint] = []
    for alternative in text.split("|"):
        before, _, after = alternative.partition("->")
        names = dict(word.split("=") for word in before.split())
        if after.strip() in _MIXED:
            for pair in _pairs(names, _MIXED[after.strip()]):
                constraints.append({key: f"={dtype}" for key, dtype in pair.items()})
                aliases.update((f"={dtype}", frozenset({dtype})) for dtype in pair.values())
            continue
        constraint = {**names, **dict(zip(results, after.split(), strict=False))}
        constraints.append(constraint)
        aliases.update((letter, LETTERS[letter[0]]) for letter in constraint.values())
    return DtypeRule(aliases, tuple(constraints))


def _divided(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype.is_floating_point else torch.float32


_MIXED = {"promoted": lambda dtype: dtype, "divided": _divided}


def _pairs(names: Mapping[str, str], result: object) -> Iterator[dict[str, torch.dtype]]:
    """Yields each combination of dtypes of the arguments, with the dtype of the result."""
    for dtypes in product(*(sorted(LETTERS[letter[0]], key=str) for letter in names.values())):
        chosen = dict(zip(names, dtypes, strict=True))
        left, right = (dtype for name, dtype in chosen.items() if name != "condition")
        # torch promotes float16 and bfloat16 to float32. No kernel of ExecuTorch supports this combination.
        if {left, right} != HALF:
            assert callable(result)
            yield {**chosen, "__ret_0": result(torch.promote_types(left, right))}


def result_names(schema: torch._C.FunctionSchema) -> list[str]:
    """Returns the names of the results of an operator; `__ret_0` and so on for results without a name."""
    return [item.name or f"__ret_{index}" for index, item in enumerate(schema.returns)]


def rule_of(schema: torch._C.FunctionSchema) -> DtypeRule | None:
    """Returns the rule of an operator; None if it has no rule."""
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    further = FURTHER_RULES.get(name)
    if further is None:
        return _rules().get(name)
    named = further["type_alias"].items()
    aliases = {alias: frozenset(DTYPES[dtype] for dtype in dtypes) for alias, dtypes in named}
    return DtypeRule(aliases, tuple(further["type_constraint"]))
