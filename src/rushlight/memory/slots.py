"""Plans memory as slots. Buffers of the same slot are never alive at the same time."""

from __future__ import annotations

from rushlight.memory.problem import Buffer, Plan, Problem, align_up


class Slots:
    """The slots of one memory."""

    def __init__(self) -> None:
        self._slots: list[tuple[int, list[Buffer]]] = []
        self._end = 0

    def find(self, buffer: Buffer) -> int:
        """Returns the offset of the first slot that is free during the buffer's lifetime, or of a new one."""
        for offset, users in self._slots:
            is_free = all(b.upper <= buffer.lower or buffer.upper <= b.lower for b in users)
            if is_free and users[0].size >= buffer.size and offset % buffer.alignment == 0:
                return offset
        return align_up(self._end, buffer.alignment)

    def take(self, buffer: Buffer, offset: int) -> None:
        """Adds a buffer to the slot at `offset`, which `find` returned."""
        for start, users in self._slots:
            if start == offset:
                users.append(buffer)
                return
        self._slots.append((offset, [buffer]))
        self._end = offset + buffer.size


def by_slot_size(buffer: Buffer) -> tuple[int, ...]:
    """Orders by decreasing size, then by start."""
    return (-buffer.size, buffer.lower)


def slots(problem: Problem) -> Plan:
    """Places each buffer, by decreasing size, in the first slot that is free during its lifetime.

    Two buffers that share bytes have the same offset. Memories that consist of whole objects, such as
    textures, require this. The running time is O(n * slots) for n buffers. Source: Pisarchyk and Lee,
    "Efficient Memory Management for Deep Neural Net Inference" (2020), section 4.2.
    """
    offsets: dict[int, int] = {}
    for buffers in problem.by_memory().values():
        memory = Slots()
        for buffer in sorted(buffers, key=by_slot_size):
            offsets[buffer.id] = memory.find(buffer)
            memory.take(buffer, offsets[buffer.id])
    return Plan(offsets)
