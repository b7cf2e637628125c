#include "kernels/quantized/affine.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/steady.h"
#include "rushlight/core/sorted_table.h"
#include "rushlight/kernels/quantized.h"

namespace rushlight {
namespace {

using namespace quantized;

constexpr Kernel kRows[] = {
#include "kernels/quantized/affine.inc"
#include "kernels/quantized/operators.inc"
};

constexpr auto kTable = sorted_table(kRows);
static_assert(names_are_unique(kTable), "two quantized kernels have the same name");
static_assert(dtypes_are_of_tensors(kTable), "a row declares dtypes of an argument that is not a tensor");

}  // namespace

KernelTable quantized_kernels() { return {kTable.data(), kTable.size()}; }

}  // namespace rushlight
