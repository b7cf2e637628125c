"""A stage, and what stages hand to each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from rushlight.export.types import StageType


class PipelineArtifact:
    """What a stage hands to the next: its result, and what is known of the whole export."""

    def __init__(self, data: Any, context: dict[str, Any]) -> None:
        self.data = data
        self.context = context

    def add_context(self, key: str, value: Any) -> None:
        self.context[key] = value

    def get_context(self, key: str, default: Any = None) -> Any:
        return self.context.get(key, default)

    def copy_with_new_data(self, new_data: Any) -> PipelineArtifact:
        return PipelineArtifact(data=new_data, context=self.context.copy())


class Stage(ABC):
    """One step of an export; `run` leaves its artifact for `get_artifacts`."""

    def __init__(self) -> None:
        self._artifact: PipelineArtifact | None = None

    @property
    @abstractmethod
    def stage_type(self) -> StageType:
        """What it does."""

    @property
    @abstractmethod
    def valid_predecessor_stages(self) -> list[StageType]:
        """The stages that it may follow; empty: any."""

    @property
    @abstractmethod
    def can_start_pipeline(self) -> bool:
        """Whether it may be first."""

    @abstractmethod
    def run(self, artifact: PipelineArtifact) -> None:
        """Does the work on what the stage before left."""

    def get_artifacts(self) -> PipelineArtifact:
        """What `run` made. Raises RuntimeError before that."""
        if getattr(self, "_artifact", None) is None:
            raise RuntimeError(f"Stage: {type(self).__name__} not executed")
        assert self._artifact is not None
        return self._artifact


class FixedStage(Stage):
    """A stage whose place in a pipeline is known beforehand."""

    TYPE: ClassVar[StageType]
    AFTER: ClassVar[tuple[StageType, ...]] = ()
    MAY_BE_FIRST: ClassVar[bool] = False

    @property
    def stage_type(self) -> StageType:
        return self.TYPE

    @property
    def valid_predecessor_stages(self) -> list[StageType]:
        return list(self.AFTER)

    @property
    def can_start_pipeline(self) -> bool:
        return self.MAY_BE_FIRST
