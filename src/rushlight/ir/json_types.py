"""Type aliases for the JSON in reports and records."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object: values by key. Values are numbers, strings, booleans, None, lists and objects."""
