"""Dtype rules of edge operators: which tensor arguments share a dtype, and which dtypes each takes.

A row gives a letter to each tensor argument it constrains; arguments of one letter have one dtype. `Results`
are written `->`. Operators without a row take any dtypes that torch accepts for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch

FLOAT = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
COMPLEX = frozenset({torch.complex32, torch.complex64, torch.complex128})
SIGNED = frozenset({torch.int8, torch.int16, torch.int32, torch.int64})
UNSIGNED = frozenset({torch.uint8, torch.uint16, torch.uint32})
BOOL = frozenset({torch.bool})
REAL = FLOAT | SIGNED | UNSIGNED
NUMBER = REAL | COMPLEX
ANY = NUMBER | BOOL | {torch.float8_e5m2, torch.float8_e4m3fn, torch.uint64}
INDEX = frozenset({torch.int32, torch.int64})
LONG = frozenset({torch.int64})
MASK = frozenset({torch.bool, torch.uint8})

LETTERS: dict[str, frozenset[torch.dtype]] = {
    "T": ANY,
    "N": NUMBER,
    "F": FLOAT | COMPLEX,
    "I": INDEX,
    "L": LONG,
    "B": BOOL,
    "M": MASK,
    "X": INDEX | MASK,
}
"""The dtypes that each letter of the table stands for."""

_TABLE = """
add.Tensor sub.Tensor mul.Tensor minimum.default      self=T other=T -> T
div.Tensor                                            self=F other=F -> F
div.Tensor_mode                                       self=N other=N -> N
mm.default                                            self=N mat2=N -> N
bmm.default                                           self=N mat2=N -> N
addmm.default                                         self=N mat1=N mat2=N -> N
convolution.default                                   input=N weight=N bias=N -> N
avg_pool2d.default                                    self=N -> N
native_layer_norm.default                             input=F
native_group_norm.default                             input=F
_native_batch_norm_legit_no_training.default          input=F
_softmax.default _log_softmax.default                 self=F
logical_and.default logical_or.default                -> B
logical_xor.default logical_not.default               -> B
eq.Tensor ne.Tensor lt.Tensor le.Tensor               -> B
gt.Tensor ge.Tensor eq.Scalar ne.Scalar               -> B
lt.Scalar le.Scalar gt.Scalar ge.Scalar               -> B
isnan.default isinf.default                           -> B
any.default any.dim                                   -> M
embedding.default                                     weight=T indices=I -> T
index_select.default                                  self=T index=I -> T
gather.default                                        self=T index=X -> T
scatter.src                                           self=T index=X src=T -> T
scatter_add.default                                   self=T index=X src=T -> T
scatter.value                                         self=T index=X -> T
index.Tensor                                          self=T indices=X -> T
index_put.default                                     self=T indices=X values=T -> T
where.self                                            condition=M
cat.default                                           -> T
view_copy.default permute_copy.default                self=T -> T
expand_copy.default slice_copy.Tensor                 self=T -> T
select_copy.int unsqueeze_copy.default                self=T -> T
squeeze_copy.dims clone.default alias_copy.default    self=T -> T
relu.default hardtanh.default constant_pad_nd.default self=T -> T
argmax.default argmin.default                         -> L
"""


@dataclass(frozen=True)
class DtypeRule:
    """Letters of the constrained arguments by name, and of the results."""

    arguments: dict[str, str]
    result: str | None

    def allowed(self, argument: str) -> frozenset[torch.dtype]:
        """The dtypes that an argument may have."""
        return LETTERS[self.arguments[argument]] if argument in self.arguments else ANY


NO_RULE = DtypeRule({}, None)


@cache
def _rules() -> dict[str, DtypeRule]:
    return dict(_parse(_TABLE))


def _parse(table: str) -> Iterator[tuple[str, DtypeRule]]:
    for line in table.strip().splitlines():
        names, arguments, result = [], {}, None
        words = iter(line.split())
        for word in words:
            if word == "->":
                result = next(words)
            elif "=" in word:
                name, letter = word.split("=")
                arguments[name] = letter
            else:
                names.append(word)
        for name in names:
            yield f"aten::{name}", DtypeRule(arguments, result)


def rule_of(schema: torch._C.FunctionSchema) -> DtypeRule:
    """The rule of an operator's schema, `NO_RULE` if the table has none."""
    return _rules().get(f"{schema.name}.{schema.overload_name or 'default'}", NO_RULE)
