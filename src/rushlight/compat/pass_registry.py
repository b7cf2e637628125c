"""Passes by name, with the interface of ExecuTorch's `PassRegistry`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import ClassVar, TypeVar

from rushlight.ir.errors import ExportError, ExportErrorType

AnyPass = TypeVar("AnyPass")


class PassRegistry:
    """The passes that were registered, one list for each name.

    Attributes:
        registry: the lists by name.
    """

    registry: ClassVar[dict[str, list[object]]] = {}

    @classmethod
    def register(cls, pass_name: str | None = None) -> Callable[[AnyPass], AnyPass]:
        """Returns a decorator that registers a pass.

        Args:
            pass_name: its name, by default that of the function or class, in lower case with underscores.
        """

        def add(one_pass: AnyPass) -> AnyPass:
            own_name = getattr(one_pass, "__name__", type(one_pass).__name__)
            cls.register_list(pass_name or re.sub(r"(?<!^)(?=[A-Z])", "_", own_name).lower(), [one_pass])
            return one_pass

        return add

    @classmethod
    def register_list(cls, pass_name: str, pass_list: list[object]) -> None:
        """Registers passes under a name. A name that exists keeps its passes, which a warning says."""
        if pass_name in cls.registry:
            warnings.warn(f"{pass_name} is registered already and keeps its passes", stacklevel=2)
            return
        cls.registry[pass_name] = pass_list

    @classmethod
    def get(cls, key: str) -> list[object]:
        """Returns the passes of a name.

        Raises:
            ExportError: there is none.
        """
        if key not in cls.registry:
            known = ", ".join(sorted(cls.registry)) or "none"
            raise ExportError(
                ExportErrorType.MISSING_PROPERTY,
                f"no pass is registered as {key}; there are: {known}",
            )
        return cls.registry[key]
