"""The software bill of materials of a package, as CycloneDX 1.5."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone

from common import epoch, version


@dataclass(frozen=True)
class Component:
    """Third-party software that a package contains."""

    name: str
    version: str
    licence: str  # an SPDX license expression
    purl: str


def package(name: str, release: str, licence: str) -> Component:
    """Returns a package of npm."""
    return Component(name, release, licence, f"pkg:npm/{name.replace('@', '%40')}@{release}")


PAGE = (
    package("@dagrejs/dagre", "3.1.3", "MIT"),
    package("@dagrejs/graphlib", "4.0.6", "MIT"),
    package("d3-array", "3.2.5", "ISC"),
    package("d3-axis", "3.0.1", "ISC"),
    package("d3-brush", "3.0.1", "ISC"),
    package("d3-color", "3.1.1", "ISC"),
    package("d3-dispatch", "3.0.2", "ISC"),
    package("d3-drag", "3.0.1", "ISC"),
    package("d3-ease", "3.0.2", "BSD-3-Clause"),
    package("d3-format", "3.1.3", "ISC"),
    package("d3-hierarchy", "3.1.3", "ISC"),
    package("d3-interpolate", "3.0.2", "ISC"),
    package("d3-path", "3.1.1", "ISC"),
    package("d3-scale", "4.0.3", "ISC"),
    package("d3-selection", "3.0.1", "ISC"),
    package("d3-shape", "3.2.1", "ISC"),
    package("d3-timer", "3.0.2", "ISC"),
    package("d3-transition", "3.0.2", "ISC"),
    package("d3-zoom", "3.0.1", "ISC"),
    package("internmap", "2.0.3", "ISC"),
)
"""Components in `rushlight/devtools/view/page/vendor`. `vendor_page.py` builds them from these releases."""


def bill(components: list[Component]) -> bytes:
    """Returns the bill of materials of Rushlight and its components."""
    own = {
        "type": "library",
        "bom-ref": f"pkg:pypi/rushlight@{version()}",
        "name": "rushlight",
        "version": version(),
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "purl": f"pkg:pypi/rushlight@{version()}",
    }
    others = [
        {
            "type": "library",
            "bom-ref": part.purl,
            "name": part.name,
            "version": part.version,
            "licenses": [{"expression": part.licence}],
            "purl": part.purl,
        }
        for part in components
    ]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": own,
        },
        "components": others,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [part.purl for part in components]}],
    }
    return (json.dumps(document, indent=2) + "\n").encode()
