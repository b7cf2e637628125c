#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/index.h"
#include "kernels/optimized/nn.h"
#include "kernels/optimized/quantized.h"
#include "kernels/optimized/reduction.h"
#include "kernels/optimized/with_fallback.h"
#include "kernels/portable/elementwise.h"
#include "kernels/portable/index.h"
#include "kernels/portable/nn.h"
#include "kernels/portable/reduction.h"
#include "kernels/quantized/affine.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/steady.h"
#include "rushlight/core/sorted_table.h"
#include "rushlight/kernels/optimized.h"

namespace rushlight {
namespace {

using namespace optimized;

constexpr Kernel kRows[] = {
#include "kernels/optimized/elementwise.inc"
#include "kernels/optimized/index.inc"
#include "kernels/optimized/nn.inc"
#include "kernels/optimized/quantized.inc"
#include "kernels/optimized/reduction.inc"
};

constexpr auto kTable = sorted_table(kRows);
static_assert(names_are_unique(kTable), "two optimized kernels have the same name");
static_assert(dtypes_are_of_tensors(kTable), "a row declares dtypes of an argument that is not a tensor");

}  // namespace

KernelTable optimized_kernels() { return {kTable.data(), kTable.size()}; }

}  // namespace rushlight
