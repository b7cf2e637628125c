"""Builds echarts with only the charts of the page of `rushlight inspect`: vendor_echarts.py OUTPUT.

It needs npm. The result is `src/rushlight/devtools/view/page/vendor/echarts.min.js.xz`. The complete echarts
is twice as large.
"""

from __future__ import annotations

import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = ("echarts@6.1.0", "esbuild@0.25.12")
ENTRY = """
import { use, init, format, graphic } from "echarts/core";
import { BarChart, CustomChart, LineChart, TreemapChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, TitleComponent, TooltipComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";
use([BarChart, CustomChart, LineChart, TreemapChart]);
use([DataZoomComponent, GridComponent, TitleComponent, TooltipComponent, CanvasRenderer]);
export { init, format, graphic };
"""


def main(output: Path) -> None:
    """Installs the packages in a temporary folder, and writes the license and the bundle."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["npm", "install", "--silent", "--prefix", folder, *PACKAGES], check=True)
        (folder / "entry.js").write_text(ENTRY, encoding="utf-8")
        options = ["--bundle", "--minify", "--format=iife", "--global-name=echarts", "--legal-comments=none"]
        command: list[str | Path] = [
            folder / "node_modules/.bin/esbuild",
            "entry.js",
            *options,
            "--outfile=echarts.js",
        ]
        subprocess.run(command, check=True, cwd=folder)
        full = (folder / "node_modules/echarts/dist/echarts.min.js").read_text(encoding="utf-8")
        licence = full[full.index("/*") : full.index("*/") + 2]
        library = f"{licence}\n{(folder / 'echarts.js').read_text(encoding='utf-8')}".encode()
        output.write_bytes(lzma.compress(library, check=lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
