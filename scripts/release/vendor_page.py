"""Builds the JavaScript libraries of the page of `rushlight inspect --html`: vendor_page.py.

It needs npm. For each library it writes a minified script and the licences of its packages to
`src/rushlight/devtools/view/page/vendor`. The scripts contain only the functions that the page uses. The
releases of the packages are those of the bill of materials.
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import tempfile
from pathlib import Path

from common import ROOT
from sbom import PAGE

VENDOR = ROOT / "src/rushlight/devtools/view/page/vendor"
TOOLS = ("esbuild@0.28.2", "rollup@4.68.8", "@rollup/plugin-node-resolve@16.0.3")
LIBRARIES = {
    "dagre": 'export { Graph, layout } from "@dagrejs/dagre";',
    "d3": """
        export { axisBottom, axisLeft } from "d3-axis";
        export { brushX } from "d3-brush";
        export { hierarchy, treemap } from "d3-hierarchy";
        export { scaleBand, scaleLinear, scaleOrdinal } from "d3-scale";
        export { create, select } from "d3-selection";
        export { area, curveBumpY, curveStepAfter, line } from "d3-shape";
        export { zoom, zoomIdentity } from "d3-zoom";
    """,
}
# Packages whose built files contain the code of another package.
INSIDE = {"@dagrejs/dagre": "@dagrejs/graphlib", "d3-array": "internmap"}


def bundle(library: str, folder: Path) -> tuple[str, set[str]]:
    """Returns the minified script of a library, and the names of the packages in it.

    rollup leaves out more unused code than esbuild: the script of d3 is 8 % smaller. rollup does not minify.
    """
    tools = folder / "node_modules/.bin"
    (folder / "entry.js").write_text(LIBRARIES[library], encoding="utf-8")
    plugin = ["--plugin", "@rollup/plugin-node-resolve"]
    output = ["--format", "iife", "--name", library, "--sourcemap", "--file", "bundle.js"]
    subprocess.run([tools / "rollup", "entry.js", "--silent", *plugin, *output], check=True, cwd=folder)
    options = ["--minify", "--target=es2020", "--charset=utf8", "--legal-comments=none", "--outfile=small.js"]
    subprocess.run([tools / "esbuild", "bundle.js", "--log-level=warning", *options], check=True, cwd=folder)
    sources = json.loads((folder / "bundle.js.map").read_text(encoding="utf-8"))["sources"]
    found = (re.search(r"node_modules/((?:@[^/]+/)?[^/]+)/", source) for source in sources)
    packages = {match[1] for match in found if match}
    packages |= {INSIDE[package] for package in packages & INSIDE.keys()}
    return (folder / "small.js").read_text(encoding="utf-8"), packages


def licences(packages: set[str], folder: Path) -> str:
    """Returns the licences of packages, each text once below the packages that it is for."""
    texts: dict[str, list[str]] = {}
    for part in PAGE:
        if part.name in packages:
            text = (folder / "node_modules" / part.name / "LICENSE").read_text(encoding="utf-8").strip()
            texts.setdefault(text, []).append(f"{part.name} {part.version}")
    return "\n\n".join(f"{', '.join(names)}:\n\n{text}" for text, names in texts.items()) + "\n"


def main() -> None:
    """Installs the packages in a temporary folder, and writes the scripts and the licences."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = [f"{part.name}@{part.version}" for part in PAGE]
        command = ["npm", "install", "--silent", "--ignore-scripts", "--prefix", name, *wanted, *TOOLS]
        subprocess.run(command, check=True)
        listed = set()
        for library in LIBRARIES:
            script, packages = bundle(library, folder)
            listed |= packages
            (VENDOR / f"{library}.LICENSE").write_text(licences(packages, folder), encoding="utf-8")
            small = lzma.compress(script.encode(), check=lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME)
            (VENDOR / f"{library}.min.js.xz").write_bytes(small)
            print(f"{library}: {len(small)} bytes, {', '.join(sorted(packages))}")
        if listed != {part.name for part in PAGE}:
            raise SystemExit(
                f"the bill of materials differs: {sorted(listed ^ {part.name for part in PAGE})}"
            )


if __name__ == "__main__":
    main()
