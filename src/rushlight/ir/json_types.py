"""Types of what reports and records write as JSON."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON, by key: numbers, strings, booleans, None, lists and further objects."""
