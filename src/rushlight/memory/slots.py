"""Plans memory as slots, each for buffers that are never alive together."""

from __future__ import annotations

from rushlight.memory.problem import Buffer, Plan, Problem, align_up


def slots(problem: Problem) -> Plan:
    """Places each buffer, in the order of decreasing size, in the first slot that is free during its
    lifetime.

    Two buffers that share bytes begin at the same offset, as memories of whole objects (for example textures)
    require. O(n * slots). Source: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
    Inference" (2020), section 4.2.
    """
    offsets: dict[int, int] = {}
    for buffers in problem.by_memory().values():
        taken: list[tuple[int, list[Buffer]]] = []
        end = 0
        for buffer in sorted(buffers, key=lambda b: (-b.size, b.lower)):
            for offset, users in taken:
                if all(b.upper <= buffer.lower or buffer.upper <= b.lower for b in users):
                    users.append(buffer)
                    offsets[buffer.id] = offset
                    break
            else:
                start = align_up(end, buffer.alignment)
                taken.append((start, [buffer]))
                offsets[buffer.id] = start
                end = start + buffer.size
    return Plan(offsets)
