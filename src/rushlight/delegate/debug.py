"""Maps identifiers of a delegate to debug handles of the edge program."""

from __future__ import annotations

from collections.abc import Sequence

from torch.fx import Node

from rushlight.ir import meta


class DelegateMappingBuilder:
    """Collects the debug handles of the nodes behind each identifier that a backend reports at run time.

    Args:
        generated_identifiers: use the identifiers 0, 1, ... If False, the backend passes identifiers, either
            all ints or all strings.
    """

    def __init__(self, generated_identifiers: bool = False) -> None:
        self._generated = generated_identifiers
        self._handles: dict[object, tuple[int, ...]] = {}

    def get_delegate_mapping(self) -> dict[object, tuple[int, ...]]:
        """Returns the sorted debug handles by identifier."""
        return dict(self._handles)

    def insert_delegate_mapping_entry(
        self,
        nodes: Node | Sequence[Node] | None = None,
        handles: int | Sequence[int | None] | None = None,
        identifier: int | str | None = None,
    ) -> int | str:
        """Adds an entry for either `nodes` or `handles`.

        Args:
            nodes: the nodes whose debug handles the entry contains.
            handles: the debug handles of the entry. None is ignored in a sequence.
            identifier: the identifier of the entry; None if identifiers are generated.

        Returns:
            The identifier of the entry.

        Raises:
            ValueError: not exactly one of `nodes` and `handles` is given; an identifier is given although
                identifiers are generated; the identifier is missing or has an entry already; or no debug
                handle is known.
        """
        if (nodes is None) == (handles is None):
            raise ValueError("exactly one of nodes and handles must be given")
        if self._generated and identifier is not None:
            raise ValueError(f"this mapping generates its identifiers; {identifier!r} cannot be given")
        if self._generated:
            identifier = len(self._handles)
        if identifier is None:
            raise ValueError("an identifier must be given")
        if identifier in self._handles:
            raise ValueError(f"identifier {identifier!r} has an entry already")
        found: set[int] = set()
        if nodes is not None:
            for node in [nodes] if isinstance(nodes, Node) else nodes:
                handle = meta.get_debug_handle(node)
                found.update(
                    handle if isinstance(handle, list | tuple) else () if handle is None else (handle,)
                )
        elif handles is not None:
            listed = [handles] if isinstance(handles, int) else handles
            found.update(handle for handle in listed if handle is not None)
        if not found:
            raise ValueError(f"the nodes or handles of entry {identifier!r} contain no debug handle")
        self._handles[identifier] = tuple(sorted(found))
        return identifier
