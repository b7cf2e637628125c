"""The texts of pytrees are those of torch."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from rushlight.emit.pytree import encode_treespec

Point = namedtuple("Point", ["x", "y"])


def encode(tree: Any) -> Any:
    return encode_treespec(pytree.tree_flatten(tree)[1])


@pytest.mark.parametrize(
    "tree",
    [
        1,
        None,
        (),
        (1, [2, (3,)]),
        {"b": 1, "a": {"c": (2,)}},
        {1: 2, "x": 3},
        OrderedDict(b=1, a=2),
        defaultdict(list, {"k": [1, 2]}),
        ((1, 2), {}),
    ],
    ids=repr,
)
def test_the_text_is_that_of_torch(tree: Any) -> None:
    spec = pytree.tree_flatten(tree)[1]
    assert json.loads(encode_treespec(spec)) == json.loads(pytree.treespec_dumps(spec))
    assert pytree.treespec_loads(encode_treespec(spec)) == spec


def test_nothing_is_empty_text() -> None:
    assert encode_treespec(None) == ""


def test_torch_reads_a_tree_with_names() -> None:
    spec = pytree.tree_flatten(((1, 2), {}))[1]
    text = encode_treespec(spec, ["x", "y"])
    assert json.loads(text)[1]["names"] == ["x", "y"]
    assert pytree.treespec_loads(text) == spec


def test_namedtuples_keep_their_field_names() -> None:
    (_, root) = json.loads(encode(Point(1, (2, 3))))
    assert root["type"] == "collections.namedtuple"
    assert root["context"] == {"class_name": "Point", "fields": ["x", "y"]}
    assert [child["type"] for child in root["children_spec"]] == [None, "builtins.tuple"]


@dataclass
class Outputs:
    logits: torch.Tensor
    hidden: torch.Tensor


def test_registered_dataclasses_become_dicts() -> None:
    torch.export.register_dataclass(Outputs, serialized_type_name="tests.Outputs")
    (_, root) = json.loads(encode(Outputs(1, (2,))))  # type: ignore[arg-type]
    assert root["type"] == "builtins.dict"
    assert json.loads(root["context"]) == ["logits", "hidden"]


class Pair:
    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second


def test_unknown_containers_become_tuples() -> None:
    pytree.register_pytree_node(
        Pair, lambda p: ([p.first, p.second], 7), lambda values, _: Pair(*values), serialized_type_name="Pair"
    )
    (_, root) = json.loads(encode([Pair(1, 2)]))
    assert [child["type"] for child in root["children_spec"]] == ["builtins.tuple"]
