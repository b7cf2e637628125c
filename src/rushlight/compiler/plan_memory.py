"""Memory planning as a pass, with the default planner or a planner of the user."""

from __future__ import annotations

from typing import Any

from rushlight.ir.facts import MethodProgram
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.passes.base import ProgramPass


class PlanMemoryPass(ProgramPass):
    """Plans the memory of a graph of out variants, and writes the plan to the specs.

    Args:
        planner: an object with `run(graph_module, graph_signature)`, or a pass over graph modules.
    """

    def __init__(self, planner: Any) -> None:
        self._planner = planner

    def rewrite(self, program: MethodProgram) -> bool:
        """Plans the memory of one method."""
        planner, module, signature = self._planner, program.graph_module, program.graph_signature
        if shares_state(planner):
            result = planner.run(module, signature, program.facts.shared_state)
        elif hasattr(planner, "run"):
            result = planner.run(module, signature)
        else:
            result = planner(module)
        program._graph_module = result.graph_module
        return True


def shares_state(planner: Any) -> bool:
    """Returns whether the planner plans shared state at the same address in all methods.

    Only the default planner does this.
    """
    return (
        type(planner) is MemoryPlanningPass
        and planner.memory_planning_algo is None
        and planner.alloc_mutable_buffers
    )


def state_is_planned(planner: Any) -> bool:
    """Returns whether mutable buffers have planned memory, so that operators may write them in place."""
    return bool(getattr(planner, "alloc_mutable_buffers", False))


def caller_owns_outputs(planner: Any) -> bool:
    """Returns whether the caller provides the memory of outputs."""
    return not getattr(planner, "alloc_graph_output", True)


def caller_owns_memory(planner: Any) -> bool:
    """Returns whether the caller provides the memory of inputs or outputs."""
    return caller_owns_outputs(planner) or not getattr(planner, "alloc_graph_input", True)
