"""Tables of rejected operators for users: the operator, its source line in the model, and advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.text_table import text_table

_HEADINGS = ("operator", "dtypes", "source", "what would help")


@dataclass(frozen=True)
class Refusal:
    """An operator that a compiler stage rejects.

    Attributes:
        operator: the name of the operator.
        dtypes: the dtypes of its tensor arguments.
        source: the source line in the model.
        help: advice for the user.
    """

    operator: str
    dtypes: str
    source: str
    help: str

    @classmethod
    def of(cls, node: Node, help_text: str) -> Refusal:
        """Makes the entry of a node."""
        name = str(getattr(node.target, "__name__", node.target))
        vals = [meta.get_tensor(used) for used in node.all_input_nodes]
        dtypes = [str(val.dtype).removeprefix("torch.") for val in vals if val is not None]
        return cls(name, ", ".join(dtypes), str(meta.source_of(node) or "-"), help_text)


def refusal_table(refusals: Sequence[Refusal]) -> str:
    """Formats rejected operators as a table. Equal entries appear once."""
    rows = dict.fromkeys((item.operator, item.dtypes, item.source, item.help) for item in refusals)
    return text_table(_HEADINGS, list(rows))
