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


PAGE = (
    Component("echarts", "6.1.0", "Apache-2.0", "pkg:npm/echarts@6.1.0"),
    Component("zrender", "6.1.0", "BSD-3-Clause", "pkg:npm/zrender@6.1.0"),
    Component("cytoscape", "3.34.4", "MIT", "pkg:npm/cytoscape@3.34.4"),
    Component("cytoscape-dagre", "3.0.0", "MIT", "pkg:npm/cytoscape-dagre@3.0.0"),
)
"""Components in `rushlight/devtools/view/page/vendor`."""


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
