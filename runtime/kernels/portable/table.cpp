#include "kernels/shared/steady.h"
#include "rushlight/core/sorted_table.h"
#include "rushlight/kernels/portable.h"

#if __has_include("kernels/portable/create.inc")
#include "kernels/portable/create.h"
#endif
#if __has_include("kernels/portable/elementwise.inc")
#include "kernels/portable/elementwise.h"
#endif
#if __has_include("kernels/portable/index.inc")
#include "kernels/portable/index.h"
#endif
#if __has_include("kernels/portable/linalg.inc")
#include "kernels/portable/linalg.h"
#endif
#if __has_include("kernels/portable/llm.inc")
#include "kernels/portable/llm.h"
#endif
#if __has_include("kernels/portable/nn.inc")
#include "kernels/portable/nn.h"
#endif
#if __has_include("kernels/portable/prim.inc")
#include "kernels/portable/prim.h"
#endif
#if __has_include("kernels/portable/reduction.inc")
#include "kernels/portable/reduction.h"
#endif
#if __has_include("kernels/portable/shape.inc")
#include "kernels/portable/shape.h"
#endif

namespace rushlight {
namespace {

using namespace portable;

constexpr Kernel kRows[] = {
#if __has_include("kernels/portable/create.inc")
#include "kernels/portable/create.inc"
#endif
#if __has_include("kernels/portable/elementwise.inc")
#include "kernels/portable/elementwise.inc"
#endif
#if __has_include("kernels/portable/index.inc")
#include "kernels/portable/index.inc"
#endif
#if __has_include("kernels/portable/linalg.inc")
#include "kernels/portable/linalg.inc"
#endif
#if __has_include("kernels/portable/llm.inc")
#include "kernels/portable/llm.inc"
#endif
#if __has_include("kernels/portable/nn.inc")
#include "kernels/portable/nn.inc"
#endif
#if __has_include("kernels/portable/prim.inc")
#include "kernels/portable/prim.inc"
#endif
#if __has_include("kernels/portable/reduction.inc")
#include "kernels/portable/reduction.inc"
#endif
#if __has_include("kernels/portable/shape.inc")
#include "kernels/portable/shape.inc"
#endif
};

constexpr auto kTable = sorted_table(kRows);
static_assert(names_are_unique(kTable), "two portable kernels have the same name");
static_assert(dtypes_are_of_tensors(kTable), "a row declares dtypes of an argument that is not a tensor");

}  // namespace

KernelTable portable_kernels() { return {kTable.data(), kTable.size()}; }

}  // namespace rushlight
