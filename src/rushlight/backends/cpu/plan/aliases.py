"""Records which steps read and write which memory.

Every decision to fuse, remove or move a step, or to overwrite memory, uses these records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from torch.fx import Node

from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.operation import Operation
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tables import StorageKind
from rushlight.backends.cpu.plan.tensor import Storage, Tensor


class Accesses:
    """The steps that read and write each storage, in execution order.

    The operands of each step are registered here. Therefore the operation of a step must only be changed by
    the method `change`.
    """

    def __init__(self, steps: Iterable[PlanNode] = ()) -> None:
        self._positions: dict[PlanNode, int] = {}  # the positions in the execution order
        self._next = 0  # the position of the next step that is added
        self._readers: dict[Storage, dict[PlanNode, None]] = {}
        self._writers: dict[Storage, dict[PlanNode, None]] = {}
        self._storages_of: dict[PlanNode, tuple[list[Storage], list[Storage]]] = {}
        for step in steps:
            self.add(step)

    def add(self, step: PlanNode) -> None:
        """Adds a step that runs after all others."""
        self._positions[step] = self._next
        self._next += 1
        self._register(step)

    def remove(self, step: PlanNode) -> None:
        """Removes a step."""
        del self._positions[step]
        self._forget(step)

    def change(self, step: PlanNode, operation: Operation[Tensor]) -> None:
        """Replaces the operation of a step, without a change of its position in the execution order."""
        self._forget(step)
        step.operation = operation
        self._register(step)

    def _register(self, step: PlanNode) -> None:
        accessed = self._storages_of[step] = (step.reads(), step.writes())
        for storages, users in zip(accessed, (self._readers, self._writers), strict=True):
            for storage in storages:
                users.setdefault(storage, {})[step] = None

    def _forget(self, step: PlanNode) -> None:
        for storages, users in zip(self._storages_of.pop(step), (self._readers, self._writers), strict=True):
            for storage in storages:
                users[storage].pop(step, None)

    def __contains__(self, step: PlanNode) -> bool:
        return step in self._positions

    def position(self, step: PlanNode) -> int:
        """Returns the position of a step in the execution order; later steps have larger numbers."""
        return self._positions[step]

    def readers(self, storage: Storage) -> list[PlanNode]:
        """Returns the steps that read the storage, in execution order."""
        return sorted(self._readers.get(storage, ()), key=self._positions.__getitem__)

    def writers(self, storage: Storage) -> list[PlanNode]:
        """Returns the steps that write the storage, in execution order."""
        return sorted(self._writers.get(storage, ()), key=self._positions.__getitem__)

    def users(self, storage: Storage) -> list[PlanNode]:
        """Returns the steps that read or write the storage, in execution order."""
        users = {**self._readers.get(storage, {}), **self._writers.get(storage, {})}
        return sorted(users, key=self._positions.__getitem__)

    def storages(self) -> list[Storage]:
        """Returns all storages that steps read or write."""
        return list({**self._readers, **self._writers})

    def is_only_reader(self, step: PlanNode, storage: Storage) -> bool:
        """Returns whether no other step reads the storage, and the step reads it with only one operand."""
        return list(self._readers.get(storage, ())) == [step] and step.reads().count(storage) == 1

    def is_last_reader(self, step: PlanNode, storage: Storage) -> bool:
        """Returns whether the step reads the storage, and no later step reads it."""
        return self.readers(storage)[-1:] == [step]

    def is_written_between(self, storage: Storage, first: PlanNode, last: PlanNode | None = None) -> bool:
        """Returns whether a step after `first`, up to and including `last`, writes a state.

        Only states are written again after a step has read them; check.py verifies this.

        Args:
            storage: the storage. The result is False if it is not a state.
            first: a step that reads the storage.
            last: the last step of the range; None for the last of all steps.
        """
        if storage.kind is not StorageKind.STATE:
            return False
        end = self._next if last is None else self._positions[last]
        positions = (self._positions[step] for step in self._writers.get(storage, ()))
        return any(self._positions[first] < position <= end for position in positions)

    def may_run_later(self, step: PlanNode, last: PlanNode | None = None) -> bool:
        """Returns whether the step would read the same values after `last`.

        This is so if no step in between writes a state that the step reads.

        Args:
            step: the step.
            last: a later step; None for the last of all steps.
        """
        return not any(self.is_written_between(storage, step, last) for storage in step.reads())

    def writer_of_all(self, storage: Storage) -> PlanNode | None:
        """Returns the only writer of the storage, if it writes the whole storage and nothing else."""
        writers = list(self._writers.get(storage, ()))
        if len(writers) != 1 or storage.kind is not StorageKind.ARENA or len(writers[0].writes()) != 1:
            return None
        (step,) = writers
        return step if same(product(step.output.sizes), storage.numel) else None


class Aliases(Accesses):
    """The accesses of all steps so far, and the nodes whose tensors are views of each storage.

    A node that is not lowered yet reads a storage if one of its arguments is a view of the storage. The node
    still counts as a reader after it is lowered, unless its own result is a view of the storage. For example,
    the tensor of a dynamically quantized node is the tensor before quantization.

    Lowering asks five questions before it fuses, moves or removes a step, or overwrites memory:

        method                 question
        is_only_read_by        Does only this node read the memory?
        sole_writer            Which step may be fused into this node?
        sole_writer_for_step   Which step may be fused into this step?
        may_run_later          Would this step read the same values after later steps?
        may_overwrite          May this node overwrite the memory of its first argument?

        method                 when it is asked              who may read the memory
        is_only_read_by        before the node is lowered    the node, with the single argument `source`
        sole_writer            before the node is lowered    the same
        sole_writer_for_step   when the reader is a step     the step, with one operand; the nodes it computes
        may_run_later          at any time, also in passes   all; but no later step may write it
        may_overwrite          before the node is lowered    the node, and nodes that read only the shape

        method                 example (the caller)
        is_only_read_by        conv(pad(x)): the convolution pads x itself; the copies of pad are removed
                               (lower/images.py)
        sole_writer            relu(conv(x)): the convolution clamps its result, so that relu has no step
                               (Lowering.convolution_of)
        sole_writer_for_step   softmax(q @ k * 0.5) @ v: the softmax step reads the chain of `* 0.5`, which
                               reads the product; one attention step computes all (lower/attention.py)
        may_run_later          conv(cat(a, b)): the convolution reads a and b instead of copies; not if a is a
                               state that changes before the convolution (optimize/read_several_inputs.py)
        may_overwrite          index_put(x * 2, i, y): the update writes into the result of x * 2; not if
                               another node reads this result too (lower/state.py)

    The fusions also need a step that writes the whole memory (`writer_of_all`). `is_only_read_by` needs none,
    because its callers remove all writers, such as the two copies of a concatenation.
    """

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[Node, tuple[Tensor, ...]] = {}
        self._viewers: dict[Storage, dict[Node, None]] = {}
        """For each storage: the nodes whose tensors are views of it."""

    def set_views(self, node: Node, views: Iterable[Tensor]) -> None:
        """Registers the tensors of a node, which are views of storages."""
        self._views[node] = tuple(views)
        for view in self._views[node]:
            self._viewers.setdefault(view.storage, {})[node] = None

    def sole_writer(self, source: Node, user: Node, allows_views: bool = False) -> PlanNode | None:
        """Returns the only step that writes the memory of `source`, if it may be fused into `user`.

        The step must write the whole memory, and `is_only_read_by` must hold.

        Args:
            source: a node whose tensor covers the whole memory.
            user: the node into which the step is to be fused, which has no step yet.
            allows_views: see `is_only_read_by`.
        """
        view = self._view(source)
        if view is None or not view.is_dense() or not self.is_only_read_by(source, user, allows_views):
            return None
        step = self.writer_of_all(view.storage)
        return step if step is not None and self.may_run_later(step) else None

    def sole_writer_for_step(self, view: Tensor, reader: PlanNode) -> PlanNode | None:
        """Returns the only step that writes the memory of a view, if it may be fused into `reader`.

        The step must write the whole memory, and `reader` must read it with only one operand. Nodes may read
        the memory only if `reader` computes them. The memory must have the tensor of a node: memory between
        the steps of one node has no node, and its readers may not exist yet.

        Args:
            view: an operand of `reader`.
            reader: the step into which the other step is to be fused.
        """
        storage = view.storage
        step = self.writer_of_all(storage)
        if step is None or storage not in self._viewers or not self.is_only_reader(reader, storage):
            return None
        nodes = set(reader.nodes)
        is_read = any(node not in nodes for node in self._nodes_that_read(storage))
        return step if not is_read and step.output.is_dense() and self.may_run_later(step) else None

    def is_only_read_by(self, source: Node, user: Node, allows_views: bool = False) -> bool:
        """Returns whether only `user` reads the memory of `source`, with the single argument `source`.

        Args:
            source: a node with one tensor; the result is False for other nodes.
            user: a node that has no step yet.
            allows_views: whether `user` may read the memory with several arguments that are views of the same
                elements in the same order.
        """
        view = self._view(source)
        if view is None or self._readers.get(view.storage):
            return False
        if any(reader is not user for reader in self._nodes_that_read(view.storage)):
            return False
        reads = self._reads(user, view.storage)
        return all(_is_same_view(v, view) for v in reads) if allows_views else len(reads) == 1

    def writers_of(self, node: Node) -> list[PlanNode]:
        """Returns the steps that write the memory of a node's tensor."""
        return self.writers(self._views[node][0].storage)

    def may_overwrite(self, before: Node, update: Node, is_shape: Callable[[Node, Node], bool]) -> bool:
        """Returns whether `update` may overwrite its first argument, `before`.

        No other node or step may read this memory, neither earlier nor later, and no other argument of
        `update` may be a view of it.

        Args:
            before: the first argument of `update`.
            update: a node that returns a changed copy of its first argument.
            is_shape: returns for (user, node) whether the user reads only the shape of the node.
        """
        view = self._view(before)
        if view is None or self._readers.get(view.storage):
            return False
        viewers = self._viewers[view.storage]
        if any(item in viewers for item in _arguments(update, first=1)):
            return False
        return all(
            user is update or user in viewers or is_shape(user, node)
            for node in viewers
            for user in node.users
        )

    def _view(self, source: Node) -> Tensor | None:
        """Returns the tensor of a node; None if the node has several tensors or none."""
        views = self._views.get(source, ())
        return views[0] if len(views) == 1 else None

    def _reads(self, node: Node, storage: Storage) -> list[Tensor]:
        """Returns the views of a storage that a node reads; a view that is read twice is listed twice."""
        views = (view for item in _arguments(node) for view in self._views.get(item, ()))
        return [view for view in views if view.storage is storage]

    def _nodes_that_read(self, storage: Storage) -> Iterator[Node]:
        """Returns the users of all nodes with views of a storage, except users that are such nodes too."""
        viewers = self._viewers.get(storage, {})
        return (user for node in viewers for user in node.users if user not in viewers)


def _arguments(node: Node, first: int = 0) -> list[Node]:
    """Returns the nodes in the arguments of a node; a node that is read twice is listed twice.

    Args:
        node: the node.
        first: the index of the first positional argument that is included.
    """
    found: list[Node] = []

    def collect(item: object) -> None:
        if isinstance(item, Node):
            found.append(item)
        elif isinstance(item, (list, tuple)):
            for part in item:
                collect(part)
        elif isinstance(item, dict):
            collect(list(item.values()))

    collect(list(node.args[first:]))
    collect(dict(node.kwargs))
    return found


def _is_same_view(a: Tensor, b: Tensor) -> bool:
    return a.storage is b.storage and a.has_layout_of(b) and same(a.offset, b.offset)
