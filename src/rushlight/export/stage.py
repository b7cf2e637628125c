"""The base class of stages, and the values that stages pass to each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from rushlight.export.types import StageType


class PipelineArtifact:
    """The result of a stage.

    Attributes:
        data: the result; its type depends on the stage.
        context: values that all stages of the export share, by name.
    """

    def __init__(self, data: Any, context: dict[str, Any]) -> None:
        self.data = data
        self.context = context

    def add_context(self, key: str, value: Any) -> None:
        """Stores a value in the context."""
        self.context[key] = value

    def get_context(self, key: str, default: object = None) -> Any:
        """Returns a value of the context, or `default` if there is none."""
        return self.context.get(key, default)

    def copy_with_new_data(self, new_data: Any) -> PipelineArtifact:
        """Returns an artifact with other data and a copy of the context."""
        return PipelineArtifact(data=new_data, context=self.context.copy())


class Stage(ABC):
    """One step of an export. `run` stores the result, and `get_artifacts` returns it."""

    def __init__(self) -> None:
        self._artifact: PipelineArtifact | None = None

    @property
    @abstractmethod
    def stage_type(self) -> StageType:
        """The type of the stage."""

    @property
    @abstractmethod
    def valid_predecessor_stages(self) -> list[StageType]:
        """The stages that may run directly before this one; an empty list allows all stages."""

    @property
    @abstractmethod
    def can_start_pipeline(self) -> bool:
        """Whether the stage may be the first one."""

    @abstractmethod
    def run(self, artifact: PipelineArtifact) -> None:
        """Runs the stage, and stores its result.

        Args:
            artifact: the result of the previous stage.
        """

    def get_artifacts(self) -> PipelineArtifact:
        """Returns the result of `run`.

        Raises:
            RuntimeError: `run` was not called.
        """
        if getattr(self, "_artifact", None) is None:
            raise RuntimeError(f"Stage: {type(self).__name__} not executed")
        assert self._artifact is not None
        return self._artifact


class FixedStage(Stage):
    """A stage whose place in a pipeline is given by class attributes.

    Attributes:
        TYPE: the type of the stage.
        AFTER: the stages that may run directly before this one; an empty tuple allows all stages.
        MAY_BE_FIRST: whether the stage may be the first one.
    """

    TYPE: ClassVar[StageType]
    AFTER: ClassVar[tuple[StageType, ...]] = ()
    MAY_BE_FIRST: ClassVar[bool] = False

    @property
    def stage_type(self) -> StageType:
        """The value of `TYPE`."""
        return self.TYPE

    @property
    def valid_predecessor_stages(self) -> list[StageType]:
        """The value of `AFTER`, as a list."""
        return list(self.AFTER)

    @property
    def can_start_pipeline(self) -> bool:
        """The value of `MAY_BE_FIRST`."""
        return self.MAY_BE_FIRST
