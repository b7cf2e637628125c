#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "rushlight/core/kernel.h"

namespace rushlight {

// Returns the intersection of both sets, or `dtypes` if the intersection is empty.
constexpr DtypeSet common_dtypes(DtypeSet dtypes, DtypeSet used) {
  DtypeSet common;
  for (int i = 0; i < kScalarTypeCount; ++i) {
    const auto type = static_cast<ScalarType>(i);
    if (dtypes.contains(type) && used.contains(type)) common = common | DtypeSet(type);
  }
  return common.bits() != 0 ? common : dtypes;
}

// Returns the row without the dtypes that are not in `used`, for the tables of selective builds.
constexpr Kernel narrowed(Kernel row, DtypeSet used) {
  row.dtypes = common_dtypes(row.dtypes, used);
  for (ArgumentDtypes& other : row.others) other.dtypes = common_dtypes(other.dtypes, used);
  return row;
}

// Returns the rows in the order of a KernelTable.
template <size_t N>
constexpr std::array<Kernel, N> sorted_table(const Kernel (&rows)[N]) {
  std::array<Kernel, N> sorted{};
  for (size_t i = 0; i < N; ++i) {
    size_t j = i;
    for (; j > 0 && std::string_view(rows[i].name) < std::string_view(sorted[j - 1].name); --j) {
      sorted[j] = sorted[j - 1];
    }
    sorted[j] = rows[i];
  }
  return sorted;
}

// Returns whether all names of a sorted table are different.
template <size_t N>
constexpr bool names_are_unique(const std::array<Kernel, N>& sorted) {
  for (size_t i = 1; i < N; ++i) {
    if (std::string_view(sorted[i - 1].name) == std::string_view(sorted[i].name)) return false;
  }
  return true;
}

// Returns whether each argument for which a row declares dtypes is a tensor.
template <size_t N>
constexpr bool dtypes_are_of_tensors(const std::array<Kernel, N>& rows) {
  for (const Kernel& row : rows) {
    for (const ArgumentDtypes& other : row.others) {
      for (uint32_t i = 0; i < 32; ++i) {
        const bool is_declared = ((other.arguments >> i) & 1u) != 0;
        if (is_declared && (i >= row.boxed.arity || !is_tensor_kind(row.boxed.kinds[i]))) return false;
      }
    }
  }
  return true;
}

}  // namespace rushlight
