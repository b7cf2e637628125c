"""Who reads and writes which memory: what every decision to fuse, to drop, to move or to overwrite asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from torch.fx import Node

from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.operation import Operation
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tables import StorageKind
from rushlight.backends.cpu.plan.tensor import Storage, Tensor


class Accesses:
    """Which steps read and write each storage, in the order in which they run.

    Steps register what they touch: whoever changes the operation of a step tells so by `change`.
    """

    def __init__(self, steps: Iterable[PlanNode] = ()) -> None:
        self._turns: dict[PlanNode, int] = {}
        self._next = 0
        self._readers: dict[Storage, dict[PlanNode, None]] = {}
        self._writers: dict[Storage, dict[PlanNode, None]] = {}
        self._touched: dict[PlanNode, tuple[list[Storage], list[Storage]]] = {}
        for step in steps:
            self.add(step)

    def add(self, step: PlanNode) -> None:
        """A step that runs after all others."""
        self._turns[step] = self._next
        self._next += 1
        self._register(step)

    def remove(self, step: PlanNode) -> None:
        """A step that runs no more."""
        del self._turns[step]
        self._forget(step)

    def change(self, step: PlanNode, operation: Operation[Tensor]) -> None:
        """Gives a step another operation, or the same of other operands; it runs when it did."""
        self._forget(step)
        step.operation = operation
        self._register(step)

    def _register(self, step: PlanNode) -> None:
        touched = self._touched[step] = (step.reads(), step.writes())
        for storages, users in zip(touched, (self._readers, self._writers), strict=True):
            for storage in storages:
                users.setdefault(storage, {})[step] = None

    def _forget(self, step: PlanNode) -> None:
        for storages, users in zip(self._touched.pop(step), (self._readers, self._writers), strict=True):
            for storage in storages:
                users[storage].pop(step, None)

    def __contains__(self, step: PlanNode) -> bool:
        return step in self._turns

    def turn(self, step: PlanNode) -> int:
        """A number that is greater for steps that run later."""
        return self._turns[step]

    def readers(self, storage: Storage) -> list[PlanNode]:
        """The steps that read the storage, in their order."""
        return sorted(self._readers.get(storage, ()), key=self._turns.__getitem__)

    def writers(self, storage: Storage) -> list[PlanNode]:
        """The steps that write the storage, in their order."""
        return sorted(self._writers.get(storage, ()), key=self._turns.__getitem__)

    def users(self, storage: Storage) -> list[PlanNode]:
        """The steps that read or write the storage, in their order."""
        users = {**self._readers.get(storage, {}), **self._writers.get(storage, {})}
        return sorted(users, key=self._turns.__getitem__)

    def storages(self) -> list[Storage]:
        """All that steps read or write."""
        return list({**self._readers, **self._writers})

    def is_only_reader(self, step: PlanNode, storage: Storage) -> bool:
        """Whether the step alone reads the storage, and by one of its operands."""
        return list(self._readers.get(storage, ())) == [step] and step.reads().count(storage) == 1

    def is_last_reader(self, step: PlanNode, storage: Storage) -> bool:
        """Whether the step reads the storage and no step after it does."""
        return self.readers(storage)[-1:] == [step]

    def is_written_between(self, storage: Storage, first: PlanNode, last: PlanNode | None = None) -> bool:
        """Whether what `first` reads of the storage may be something else after `last`, or after all steps.

        What lasts for one call is never written again once a step has read it, which check.py makes sure of.
        """
        if storage.kind is not StorageKind.STATE:
            return False
        end = self._next if last is None else self._turns[last]
        turns = (self._turns[step] for step in self._writers.get(storage, ()))
        return any(self._turns[first] < turn <= end for turn in turns)

    def may_run_later(self, step: PlanNode, last: PlanNode | None = None) -> bool:
        """Whether the step reads the same if it runs after `last`, or after all others."""
        return not any(self.is_written_between(storage, step, last) for storage in step.reads())

    def writer_of_all(self, storage: Storage) -> PlanNode | None:
        """The only step that writes the storage, if it writes all of it and nothing else."""
        writers = list(self._writers.get(storage, ()))
        if len(writers) != 1 or storage.kind is not StorageKind.ARENA or len(writers[0].writes()) != 1:
            return None
        (step,) = writers
        return step if same(product(step.output.sizes), storage.numel) else None


class Aliases(Accesses):
    """The accesses of the steps so far, and the nodes that stand for views of each storage.

    Nodes that are not lowered yet read a storage if they are users of a node that stands for a view of it. A
    user counts as a reader also once it is lowered, unless it is a view itself: nodes may be read again under
    another name, as what is quantized dynamically.
    """

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[Node, tuple[Tensor, ...]] = {}
        self._names: dict[Storage, dict[Node, None]] = {}

    def name(self, node: Node, views: Iterable[Tensor]) -> None:
        """The node stands for these views from now on."""
        self._views[node] = tuple(views)
        for view in self._views[node]:
            self._names.setdefault(view.storage, {})[node] = None

    def sole_writer(self, source: Node, user: Node, corresponds: bool = False) -> PlanNode | None:
        """The step that alone wrote the memory of `source`, all of it, if it may be made part of what
        computes `user`: nothing but `user` reads that memory, and only once, as `source`.

        corresponds: it may read it several times, through views of the same elements in the same order.
        """
        view = self._view(source)
        if view is None or not view.is_dense():
            return None
        step = self.writer_of_all(view.storage)
        if step is None or self._readers.get(view.storage) or not self.may_run_later(step):
            return None
        if any(reader is not user for reader in self._nodes_that_read(view.storage)):
            return None
        reads = self._reads(user, view.storage)
        if corresponds:
            return step if all(_is_same_view(v, view) for v in reads) else None
        return step if len(reads) == 1 else None

    def source_of(self, view: Tensor, reader: PlanNode) -> PlanNode | None:
        """The step that alone wrote the memory of a view, all of it, if the step `reader` alone reads that
        memory, and only once.
        """
        storage = view.storage
        step = self.writer_of_all(storage)
        if step is None or storage not in self._names or not self.is_only_reader(reader, storage):
            return None
        nodes = set(reader.nodes)
        is_read = any(node not in nodes for node in self._nodes_that_read(storage))
        return step if not is_read and step.output.is_dense() and self.may_run_later(step) else None

    def is_read_by(self, source: Node, user: Node) -> bool:
        """Whether `user` alone reads the memory of `source`, and only once, as `source`."""
        view = self._view(source)
        if view is None:
            return False
        return (
            len(self._reads(user, view.storage)) == 1
            and not self._readers.get(view.storage)
            and all(reader is user for reader in self._nodes_that_read(view.storage))
        )

    def writers_of(self, node: Node) -> list[PlanNode]:
        """The steps that write the memory of which a node is a view."""
        return self.writers(self._views[node][0].storage)

    def may_overwrite(self, before: Node, update: Node, is_shape: Callable[[Node, Node], bool]) -> bool:
        """Whether `update` may be written over its first argument, `before`: nothing else reads that memory,
        neither before nor after, nor does `update` by its other arguments.

        is_shape: (user, node): whether the user takes nothing but the shape of the node.
        """
        view = self._view(before)
        if view is None or self._readers.get(view.storage):
            return False
        names = self._names[view.storage]
        if any(item in names for item in _arguments(update, first=1)):
            return False
        return all(
            user is update or user in names or is_shape(user, node) for node in names for user in node.users
        )

    def _view(self, source: Node) -> Tensor | None:
        """The view that a node stands for, if it is one."""
        views = self._views.get(source, ())
        return views[0] if len(views) == 1 else None

    def _reads(self, node: Node, storage: Storage) -> list[Tensor]:
        """The views of a storage that a node reads, as often as it reads them."""
        views = (view for item in _arguments(node) for view in self._views.get(item, ()))
        return [view for view in views if view.storage is storage]

    def _nodes_that_read(self, storage: Storage) -> Iterator[Node]:
        """The users of all names of a storage that are no names themselves."""
        names = self._names.get(storage, {})
        return (user for node in names for user in node.users if user not in names)


def _arguments(node: Node, first: int = 0) -> list[Node]:
    """The nodes that a node reads, as often as it reads them; those of arguments from `first` on."""
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
    return a.storage is b.storage and a.lies_as(b) and same(a.offset, b.offset)
