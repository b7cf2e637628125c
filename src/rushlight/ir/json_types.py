"""Types of the JSON that reports and records write."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object: values by key, which are numbers, strings, booleans, None, lists and further objects."""
