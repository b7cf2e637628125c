"""A registry of passes by name, with the interface of ExecuTorch's `PassRegistry`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import ClassVar, TypeVar

from rushlight.ir.errors import ExportError, ExportErrorType

AnyPass = TypeVar("AnyPass")


class PassRegistry:
    """The registered passes: a list of passes for each name.

    Attributes:
        registry: the lists by name.
    """

    registry: ClassVar[dict[str, list[object]]] = {}

    @classmethod
    def register(cls, pass_name: str | None = None) -> Callable[[AnyPass], AnyPass]:
        """Returns a decorator that registers a pass.

        Args:
            pass_name: the name of the pass. By default, it is the name of the function or class in lower case
                with underscores.
        """

        def add(one_pass: AnyPass) -> AnyPass:
            own_name = getattr(one_pass, "__name__", type(one_pass).__name__)
            cls.register_list(pass_name or re.sub(r"(?<!^)(?=[A-Z])", "_", own_name).lower(), [one_pass])
            return one_pass

        return add

    @classmethod
    def register_list(cls, pass_name: str, pass_list: list[object]) -> None:
        """Registers passes under a name. If the name is already registered, only a warning is issued."""
        if pass_name in cls.registry:
            warnings.warn(f"{pass_name} is already registered; its passes are not replaced", stacklevel=2)
            return
        cls.registry[pass_name] = pass_list

    @classmethod
    def get(cls, key: str) -> list[object]:
        """Returns the passes with a name.

        Raises:
            ExportError: the name is not registered.
        """
        if key not in cls.registry:
            known = ", ".join(sorted(cls.registry)) or "none"
            raise ExportError(
                ExportErrorType.MISSING_PROPERTY,
                f"no pass is registered as {key}; the registered names are: {known}",
            )
        return cls.registry[key]
