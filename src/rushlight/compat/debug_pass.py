"""A pass that logs a graph, with the options of ExecuTorch's `DebugPass`."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.compat.memory_checks import get_node_tensor_specs
from rushlight.ir import meta

_LOG = logging.getLogger(__name__)


class DebugPass(PassBase):
    """Logs the code and the nodes of a graph, and the numbers of nodes by kind and by target.

    Args:
        msg: the first line of the text.
        enable_debug_pass: if False, the pass does nothing.
        show_src: add the Python source line of each node.
        show_full_path: write the full paths of source files instead of their names.
        show_all_frames: write all frames of the stack instead of only the innermost one.
        path_filter: a regular expression that selects source files. Frames of other files are left out.
        show_spec: add the tensor specs and the value of each node.
        log_filename: a file to which the text is also written. An existing file is replaced.
    """

    def __init__(
        self,
        msg: str = "",
        enable_debug_pass: bool = True,
        show_src: bool = False,
        show_full_path: bool = False,
        show_all_frames: bool = False,
        path_filter: str | None = None,
        show_spec: bool = False,
        log_filename: str | None = None,
    ) -> None:
        super().__init__()
        self.msg = msg
        self.enable_debug_pass = enable_debug_pass
        self.show_src = show_src
        self.show_full_path = show_full_path
        self.show_all_frames = show_all_frames
        self.path_filter_re = re.compile(path_filter) if path_filter else None
        self.show_spec = show_spec
        self.log_filename = log_filename

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Logs the graph, which is not changed."""
        if not self.enable_debug_pass:
            return PassResult(graph_module, False)
        text = "\n".join(self._lines(graph_module))
        _LOG.debug("%s", text)
        if self.log_filename:
            Path(self.log_filename).write_text(text + "\n")
        return PassResult(graph_module, True)

    def _lines(self, module: GraphModule) -> Iterator[str]:
        if self.msg:
            yield self.msg
        module.recompile()
        yield f"Code is:\n{module.code}"
        yield "Nodes:"
        for index, node in enumerate(module.graph.nodes):
            yield f"{index:4}: {node.format_node()}"
            if self.show_spec:
                yield from (f"      {spec!r}" for spec in get_node_tensor_specs(node))
                yield f"      val: {meta.find_val(node)}"
            if self.show_src:
                yield from (f"      {line}" for line in self._frames(node))
        yield "Kinds of nodes:"
        kinds = Counter(node.op for node in module.graph.nodes)
        yield from (f"  {kind}: {count}" for kind, count in kinds.items())
        yield "Targets of calls:"
        targets = Counter(str(node.target) for node in module.graph.nodes if node.op == "call_function")
        yield from (f"  {target}: {count}" for target, count in targets.items())

    def _frames(self, node: Node) -> list[str]:
        """Returns the stack frames that created a node, the innermost frame last."""
        frames = [
            f"{frame.file if self.show_full_path else Path(frame.file).name}:{frame.line}: {frame.code}"
            for frame in meta.source_frames(node)
            if self.path_filter_re is None or self.path_filter_re.search(frame.file)
        ]
        return frames if self.show_all_frames else frames[-1:]
