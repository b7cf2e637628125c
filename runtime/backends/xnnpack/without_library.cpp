// Replaces the functions that call XNNPACK in a build without it. Kernels, microkernels and scalar steps then execute
// all nodes.
#include "backends/xnnpack/step.h"
#include "backends/xnnpack/threads.h"

namespace rushlight::xnnpack {

bool initialize_library() { return true; }

pthreadpool* shared_threads(size_t) { return nullptr; }

Result<Step*> make_library_step(const Graph&, const Node& node, const Operand*, MemoryAllocator&) {
  return fail(Error::NotSupported, "this build has no XNNPACK operator for a %s", name_of(node.kind));
}

}  // namespace rushlight::xnnpack
