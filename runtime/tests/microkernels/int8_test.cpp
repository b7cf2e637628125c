#include <limits>

#include "tests/microkernels/int8_fixture.h"

namespace rushlight::microkernels {
namespace {

class Int8Test : public Int8Fixture {};

INSTANTIATE_TEST_SUITE_P(Sets, Int8Test, testing::ValuesIn(all_int8_sets()), int8_set_name);

TEST_P(Int8Test, TilesOfEverySizeAreExact) {
  for (const int64_t k : {1, 2, 3, 4, 37, 130}) {
    for (int rows = 1; rows <= kernels.rows; ++rows) {
      for (int vectors = 1; vectors <= kernels.vectors; ++vectors) {
        const int64_t width = vectors * kernels.lanes, groups = (k + kernels.group - 1) / kernels.group;
        const auto lhs = numbers(rows * k), rhs = numbers(width * k);
        Buffer packed(packed_rhs_size(kernels, width, k));
        pack_rhs(kernels, rhs.data(), k, width, k, packed.data());
        const int64_t stride = groups * kernels.group;
        Buffer rows_of_lhs(static_cast<size_t>(rows * stride * kernels.lhs_size));
        for (int64_t i = 0; i < rows; ++i) {
          uint8_t* to = static_cast<uint8_t*>(rows_of_lhs.data()) + i * stride * kernels.lhs_size;
          kernels.fill_lhs(77, stride, to);
          kernels.pack_lhs(reinterpret_cast<const uint8_t*>(lhs.data()) + i * k, 0, k, to);
        }
        Buffer sums(static_cast<size_t>(rows * width) * 4);
        int32_t* const result = static_cast<int32_t*>(sums.data());
        const int8_t* panel = static_cast<const int8_t*>(packed.data()) + (width * 4 + 63) / 64 * 64;
        Int8Tile tile{rows_of_lhs.data(), stride, panel, groups, result, width, false};
        for (const int times : {1, 2}) {
          tile.accumulate = times == 2;
          kernels.gemm(rows, vectors, tile);
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < width; ++j) {
              const int64_t want = exact(lhs, rhs, k, i, j, -kernels.lhs_offset) * times;
              ASSERT_EQ(result[i * width + j], want) << rows << "x" << vectors << " k " << k;
            }
          }
        }
      }
    }
  }
}

TEST_P(Int8Test, LeftNumbersOfBothSigns) {
  const int64_t k = 75;
  const auto lhs = numbers(k);
  std::vector<uint8_t> as_unsigned;
  for (const int8_t x : lhs) as_unsigned.push_back(static_cast<uint8_t>(x + 128));
  std::vector<uint8_t> a(static_cast<size_t>(k * kernels.lhs_size) + 1, 99), b(a);
  kernels.pack_lhs(reinterpret_cast<const uint8_t*>(lhs.data()), 0, k, a.data());
  kernels.pack_lhs(as_unsigned.data(), 0x80, k, b.data());
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.back(), 99);
}

TEST_P(Int8Test, RequantizeRoundsTiesToEvenAndClamps) {
  std::vector<int32_t> sums;
  for (int32_t i = -700; i <= 700; ++i) sums.push_back(i);
  for (const int32_t big : {1 << 30, -(1 << 30), INT32_MAX / 2}) sums.push_back(big);
  const auto n = static_cast<int64_t>(sums.size());
  const std::vector<float> half(sums.size(), 0.5f), offset(sums.size(), 0.25f);
  const std::vector<int32_t> correction(sums.size(), 3);
  for (const Requantize& how :
       {Requantize{nullptr, half.data(), nullptr, 0, -128, 127}, Requantize{nullptr, half.data(), nullptr, 7, 0, 255},
        Requantize{correction.data(), half.data(), offset.data(), -5, -5, 100}}) {
    for (const int64_t count : {n, n - 1, int64_t{3}}) {
      std::vector<uint8_t> out(static_cast<size_t>(count) + 1, 77);
      kernels.requantize(how, {sums.data(), count, 1, count, count}, out.data());
      for (int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(i);
        const double x = (sums[at] + (how.correction ? 3.0 : 0.0)) * 0.5 + (how.offset ? 0.25 : 0.0);
        ASSERT_EQ(out[at], static_cast<uint8_t>(rounded(x, how))) << sums[at];
      }
      EXPECT_EQ(out.back(), 77);
    }
  }
}

TEST_P(Int8Test, RequantizedNumbersAreAddedAsByThemselves) {
  const int64_t rows = 5, columns = 59, step = 64, out_step = 71;
  const std::vector<float> multiplier = reals(columns, 0.001f, 0.4f), offset = reals(columns, -40, 40);
  std::vector<int32_t> sums(static_cast<size_t>(rows * step)), correction(static_cast<size_t>(columns));
  for (int32_t& sum : sums) sum = static_cast<int32_t>(random() % 4000) - 2000;
  for (int32_t& number : correction) number = static_cast<int32_t>(random() % 200);
  const std::vector<int8_t> others = numbers(rows * out_step);
  for (const bool has_offset : {false, true}) {
    for (const int32_t least : {-128, -17}) {
      Requantize how{correction.data(), multiplier.data(), has_offset ? offset.data() : nullptr, -17, least, 120};
      const SumRows from{sums.data(), step, rows, columns, out_step};
      const Int8Range range{3, least == -128 ? -128 : 3, 127};
      std::vector<uint8_t> apart(others.size(), 77), out(others.begin(), others.end());
      kernels.requantize(how, from, apart.data());
      how.sum = {reinterpret_cast<const int8_t*>(out.data()), 0.73f, -1.31f, 5.5f, range};
      for (int64_t i = 0; i < rows; ++i) {
        int8_t* const row = reinterpret_cast<int8_t*>(apart.data()) + i * out_step;
        kernels.loops.add(row, others.data() + i * out_step, columns, 0.73f, -1.31f, 5.5f, range, row);
      }
      std::vector<uint8_t> masked(out);
      kernels.requantize(how, from, out.data());
      for (uint8_t& byte : masked) byte ^= 0x80;
      how.sum.others = reinterpret_cast<const int8_t*>(masked.data()), how.sum.sign_mask = 0x80;
      kernels.requantize(how, from, masked.data());
      for (int64_t i = 0; i < rows * out_step; ++i) {
        const auto at = static_cast<size_t>(i);
        ASSERT_EQ(out[at], i % out_step < columns ? apart[at] : static_cast<uint8_t>(others[at])) << i;
        ASSERT_EQ(masked[at], i % out_step < columns ? out[at] : static_cast<uint8_t>(others[at] ^ 0x80)) << i;
      }
    }
  }
}

TEST_P(Int8Test, RowsOfNumbersArePackedAsByThemselves) {
  if (!kernels.pack_rows) GTEST_SKIP() << "rows are packed one by one";
  for (const int64_t k : {1, 24, 63, 64, 130, 192}) {
    const int64_t rows = 5, from_stride = k + 3, stride = (k + 63) / 64 * 64 + 64;
    const auto lhs = numbers(rows * from_stride);
    const auto* from = reinterpret_cast<const uint8_t*>(lhs.data());
    for (const uint8_t sign_mask : {uint8_t{0}, uint8_t{0x80}}) {
      std::vector<uint8_t> want(static_cast<size_t>(rows * stride * kernels.lhs_size)), got(want);
      kernels.pack_rows({from, from_stride, sign_mask, k, stride}, rows, got.data());
      for (int64_t i = 0; i < rows; ++i) {
        kernels.pack_lhs(from + i * from_stride, sign_mask, k, want.data() + i * stride * kernels.lhs_size);
        for (int64_t j = 0; j < k * kernels.lhs_size; ++j) {
          const auto at = static_cast<size_t>(i * stride * kernels.lhs_size + j);
          ASSERT_EQ(got[at], want[at]) << "k " << k << " row " << i;
        }
      }
    }
  }
}

TEST_P(Int8Test, ResultsOfTilesAreThoseOfTheirSums) {
  if (!kernels.gemm_results) GTEST_SKIP() << "tiles give sums alone";
  const int64_t groups = 9, k = groups * kernels.group;
  for (int rows = 1; rows <= kernels.rows; ++rows) {
    for (int vectors = 1; vectors <= kernels.vectors; ++vectors) {
      for (const int64_t missing : {0, 5}) {
        const int64_t width = vectors * kernels.lanes, columns = width - missing, out_stride = width + 3;
        const auto lhs = numbers(rows * k), rhs = numbers(width * k), others = numbers(rows * out_stride);
        Buffer packed(packed_rhs_size(kernels, width, k)), sums(static_cast<size_t>(rows * width) * 4);
        pack_rhs(kernels, rhs.data(), k, width, k, packed.data());
        std::vector<uint8_t> rows_of_lhs(static_cast<size_t>(rows * k * kernels.lhs_size));
        kernels.pack_lhs(reinterpret_cast<const uint8_t*>(lhs.data()), 0, rows * k, rows_of_lhs.data());
        int32_t* const sums_of_rows = static_cast<int32_t*>(sums.data());
        Int8Tile tile{rows_of_lhs.data(), k, panels_of(packed.data(), width), groups, sums_of_rows, width, false};
        tile.half_step = (rows + 1) / 2 * k;
        kernels.gemm(rows, vectors, tile);
        const SumRows from{sums_of_rows, width, rows, columns, out_stride};
        const auto size = static_cast<size_t>(rows * out_stride);
        const auto small = reals(width, -2e-3f, 2e-3f), large = reals(width, -1e7f, 1e7f), offset = reals(width, -9, 9);
        std::vector<int32_t> corrections(static_cast<size_t>(width)), zeros(static_cast<size_t>(rows));
        zero_corrections(kernels, packed.data(), width, 11, nullptr, corrections.data());
        for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<int32_t>(i) - 3;
        const Int8Sum sum{others.data(), 0.73f, -1.31f, 5.5f, {3, -128, 127}};
        for (const Requantize& how : {Requantize{corrections.data(), small.data(), offset.data(), -5, -128, 127},
                                      Requantize{nullptr, small.data(), nullptr, 3, 0, 255},
                                      Requantize{corrections.data(), large.data(), offset.data(), -5, -100, 90},
                                      Requantize{corrections.data(), small.data(), offset.data(), -5, -128, 90, sum},
                                      Requantize{nullptr, large.data(), nullptr, 0, -128, 127, sum}}) {
          std::vector<uint8_t> want(size, 77), got(want);
          kernels.requantize(how, from, want.data());
          PanelEpilogue panel;
          kernels.prepare_requantize(vectors, how, columns, &panel);
          kernels.gemm_results(rows, vectors, tile, {&panel, nullptr, got.data(), out_stride, columns, how.sum.others});
          ASSERT_EQ(got, want) << rows << "x" << vectors << " columns " << columns;
        }
        const auto scales = reals(rows, 0.1f, 0.2f);
        for (const int64_t step : {0, 1}) {
          for (const bool accumulate : {false, true}) {
            const Dequantize how{zeros.data(),
                                 scales.data(),
                                 step,
                                 kernels.lhs_offset,
                                 rhs_sums(packed.data()),
                                 small.data(),
                                 accumulate ? nullptr : offset.data(),
                                 -20.0f,
                                 30.0f,
                                 accumulate};
            std::vector<float> want = reals(rows * out_stride, -5, 5), got(want);
            kernels.dequantize(how, from, want.data());
            PanelEpilogue panel;
            kernels.prepare_dequantize(vectors, how, columns, &panel);
            kernels.gemm_results(rows, vectors, tile, {&panel, &how, got.data(), out_stride, columns});
            ASSERT_EQ(got, want) << rows << "x" << vectors << " columns " << columns;
          }
        }
      }
    }
  }
}

TEST_P(Int8Test, ZeroPointsOfAnyValueWrapAround) {
  const int64_t columns = kernels.lanes + 3, rows = 3;
  const std::vector<int32_t> zeros{std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min(),
                                   2143289472};
  const std::vector<int32_t> sums_of_columns(static_cast<size_t>(columns), -81);
  std::vector<int32_t> sums(static_cast<size_t>(rows * columns), 5);
  const std::vector<float> ones(static_cast<size_t>(columns), 1.0f), scales(3, 1.0f);
  std::vector<float> out(sums.size());
  const Dequantize how{zeros.data(), scales.data(), 1,      128,  sums_of_columns.data(),
                       ones.data(),  nullptr,       -1e30f, 1e30f};
  kernels.dequantize(how, {sums.data(), columns, rows, columns, columns}, out.data());
  for (size_t i = 0; i < 3; ++i) {
    const auto zero = static_cast<uint32_t>(zeros[i]) + 128u;
    const auto want = static_cast<float>(static_cast<int32_t>(5u + 81u * zero));
    for (int64_t j = 0; j < columns; ++j)
      EXPECT_EQ(out[i * static_cast<size_t>(columns) + static_cast<size_t>(j)], want);
  }
}

TEST_P(Int8Test, PipelinedResultsAreThoseOfTheirSums) {
  if (!kernels.gemm_pipelined) GTEST_SKIP() << "no tile waits for the next one";
  const int64_t rows = kernels.rows, width = kernels.vectors * kernels.lanes, out_stride = width + 3;
  for (const int64_t groups :
       {kMinPipelinedGroups, kMinPipelinedGroups + 1, kMinPipelinedGroups + 15, 2 * kMinPipelinedGroups}) {
    for (const int64_t runs : {1, 3}) {
      // There are gaps between runs, and a larger gap between the two halves of the rows.
      const int64_t run = groups * kernels.group, k = runs * run, run_step = 2 * run, stride = runs * run_step;
      const int64_t half_step = (rows / 2 + 1) * stride, half = rows / 2;
      const auto rhs = numbers(width * k), others = numbers(rows * out_stride);
      Buffer packed(packed_rhs_size(kernels, width, k)), sums(static_cast<size_t>(rows * width) * 4);
      pack_rhs(kernels, rhs.data(), k, width, k, packed.data());
      const auto multiplier = reals(width, -2e-3f, 2e-3f), offset = reals(width, -9, 9);
      std::vector<int32_t> corrections(static_cast<size_t>(width));
      zero_corrections(kernels, packed.data(), width, 11, nullptr, corrections.data());
      Requantize how{corrections.data(), multiplier.data(), offset.data(), -5, -128, 127};
      for (const int kind : {0, 1, 2}) {  // add nothing, int8, uint8
        if (kind > 0) how.sum = {others.data(), 0.73f, -1.31f, 5.5f, {3, -128, 127}};
        if (kind == 2) how.sum.range = {131, 0, 255}, how.sum.sign_mask = 0x80;
        PanelEpilogue panel;
        ASSERT_TRUE(kernels.prepare_requantize(kernels.vectors, how, width, &panel));
        const auto size = static_cast<size_t>(rows * out_stride);
        std::vector<uint8_t> want[3], got[3];
        TileEpilogue ends[3];
        int32_t* const sums_of_tile = static_cast<int32_t*>(sums.data());
        for (int t = 0; t < 3; ++t) {
          const auto lhs = numbers(2 * half_step);
          Buffer form(lhs.size() * static_cast<size_t>(kernels.lhs_size));
          kernels.pack_lhs(reinterpret_cast<const uint8_t*>(lhs.data()), 0, 2 * half_step, form.data());
          std::vector<int8_t> rows_of_lhs;
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t r = 0; r < runs; ++r) {
              const auto from = lhs.begin() + i / half * half_step + i % half * stride + r * run_step;
              rows_of_lhs.insert(rows_of_lhs.end(), from, from + run);
            }
          }
          std::vector<int32_t> exact_sums;
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < width; ++j) {
              exact_sums.push_back(static_cast<int32_t>(exact(rows_of_lhs, rhs, k, i, j, -kernels.lhs_offset)));
            }
          }
          want[t].assign(size, 77), got[t].assign(size, 77);
          kernels.requantize(how, {exact_sums.data(), width, rows, width, out_stride}, want[t].data());
          ends[t] = {&panel, nullptr, got[t].data(), out_stride, width, how.sum.others, kind == 2};
          Int8Tile tile{form.data(), stride, panels_of(packed.data(), width), groups, sums_of_tile, width, false};
          tile.runs = runs, tile.run_step = run_step, tile.half_step = half_step;
          tile.ahead = rhs.data();
          kernels.gemm_pipelined(tile, ends[t], t == 0 ? nullptr : &ends[t - 1]);
        }
        kernels.finish_pipelined(sums_of_tile, ends[2]);
        for (int t = 0; t < 3; ++t)
          ASSERT_EQ(got[t], want[t]) << groups << " groups, " << runs << " runs, kind " << kind;
      }
    }
  }
}

TEST_P(Int8Test, NumbersOfFourBits) {
  for (const int64_t group : {32, 96}) {
    const int64_t rows = 9, columns = 3, groups = 2, k = groups * group;
    const auto lhs = numbers(rows * k), bytes = numbers(columns * k / 2);
    const auto* const rhs = reinterpret_cast<const uint8_t*>(bytes.data());
    const auto scales = reals(columns * groups, 0.5f, 1.5f);
    std::vector<uint8_t> packed(static_cast<size_t>(rows * k));
    for (int64_t i = 0; i < rows; ++i) kernels.pack_int4_lhs(lhs.data() + i * k, k, packed.data() + i * k);
    std::vector<float> sums(static_cast<size_t>(rows * columns)), weights(static_cast<size_t>(k));
    kernels.int4_dots(rows, columns,
                      {packed.data(), k, rhs, k / 2, scales.data(), groups, groups, group, sums.data(), columns});
    for (int64_t j = 0; j < columns; ++j) {
      kernels.dequantize_int4(rhs + j * k / 2, k, 1.0f, 2.0f, weights.data());
      for (int64_t i = 0; i < rows; ++i) {
        double want = 0;
        for (int64_t l = 0; l < k; ++l) {
          const uint8_t byte = rhs[(j * k + l) / 2];
          const int number = (l % 2 == 0 ? byte >> 4 : byte & 15) - 8;
          ASSERT_EQ(weights[static_cast<size_t>(l)], static_cast<float>(number - 1) * 2);
          want += (lhs[static_cast<size_t>(i * k + l)] + kernels.int4_offset) * number *
                  double(scales[static_cast<size_t>(j * groups + l / group)]);
        }
        ASSERT_NEAR(sums[static_cast<size_t>(i * columns + j)], want, 1e-5 * std::fabs(want) + 0.02);
      }
    }
    if (kernels.expand_int4 == nullptr) continue;
    const Int4Dots dots{packed.data(), k, rhs, k / 2, scales.data(), groups, groups, group, nullptr, 0};
    std::vector<int8_t> expanded(static_cast<size_t>(k * kInt4Panel), 1);
    std::vector<float> panel_scales(static_cast<size_t>(groups * kInt4Panel), 1.0f);
    kernels.expand_int4(dots, columns, expanded.data(), panel_scales.data());
    std::vector<float> panel(static_cast<size_t>(rows * kInt4Panel));
    kernels.int4_panel(rows, {packed.data(), k, expanded.data(), panel_scales.data(), groups, group, panel.data()});
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < kInt4Panel; ++j) {
        const float want = j < columns ? sums[static_cast<size_t>(i * columns + j)] : 0.0f;
        ASSERT_NEAR(panel[static_cast<size_t>(i * kInt4Panel + j)], want, 1e-5f * std::fabs(want) + 0.02f);
      }
    }
  }
}

// Columns of 8-bit or 4-bit numbers whose first group has fewer terms, and the real numbers that they represent.
struct GroupedColumns {
  GroupedColumns(bool is_int4, int64_t group, int64_t terms, std::vector<int8_t> numbers, std::vector<float> factors)
      : bytes(std::move(numbers)),
        scales(std::move(factors)),
        columns{reinterpret_cast<const uint8_t*>(bytes.data()),
                is_int4,
                is_int4 ? terms / 2 : terms,
                scales.data(),
                kScales,
                kColumns,
                terms,
                group - 2,
                group} {}

  float real(int64_t column, int64_t term) const {
    const uint8_t* const from = columns.numbers + column * columns.stride;
    const int byte = from[columns.is_int4 ? term / 2 : term];
    const int number = !columns.is_int4 ? static_cast<int8_t>(byte) : (term % 2 == 0 ? byte >> 4 : byte & 15) - 8;
    const int64_t at = term < columns.left ? 0 : 1 + (term - columns.left) / columns.group;
    return static_cast<float>(number) * scales[static_cast<size_t>(column * kScales + at)];
  }

  static constexpr int64_t kColumns = 11, kScales = 40;
  std::vector<int8_t> bytes;
  std::vector<float> scales;
  ScaledColumns columns;
};

TEST_P(Int8Test, DequantizedPanels) {
  for (const bool is_int4 : {false, true}) {
    for (const int64_t group : {6, 34, 80}) {
      const int64_t terms = 150;
      const GroupedColumns grouped(is_int4, group, terms, numbers(GroupedColumns::kColumns * terms),
                                   reals(GroupedColumns::kColumns * GroupedColumns::kScales, 0.5f, 1.5f));
      for (const int64_t width : {12, 16, 32}) {
        std::vector<float> panel(static_cast<size_t>(terms * width + 1), 77.0f);
        kernels.dequantize_panel(grouped.columns, width, panel.data());
        for (int64_t k = 0; k < terms; ++k) {
          for (int64_t j = 0; j < width; ++j) {
            const float want = j < GroupedColumns::kColumns ? grouped.real(j, k) : 0.0f;
            ASSERT_EQ(panel[static_cast<size_t>(k * width + j)], want) << k << ", " << j;
          }
        }
        ASSERT_EQ(panel.back(), 77.0f);
      }
    }
  }
}

TEST_P(Int8Test, ProductsOfFloatsAndScaledNumbers) {
  for (const bool is_int4 : {false, true}) {
    for (const int64_t group : {6, 34, 80}) {
      const int64_t terms = 150, columns = GroupedColumns::kColumns;
      const GroupedColumns grouped(is_int4, group, terms, numbers(GroupedColumns::kColumns * terms),
                                   reals(GroupedColumns::kColumns * GroupedColumns::kScales, 0.5f, 1.5f));
      for (const int64_t tile : {1, 4, 8}) {
        if (tile > kernels.scaled_rows) continue;
        const int64_t rows = tile == 1 ? 1 : tile - 1;
        const auto x = reals(rows * terms, -1, 1);
        std::vector<float> packed(static_cast<size_t>(tile * terms)), sums(static_cast<size_t>(tile * columns), 1.0f);
        pack_scaled_rows(x.data(), terms, rows, tile, grouped.columns, packed.data());
        kernels.add_scaled_dots(static_cast<int>(tile), {packed.data(), grouped.columns, sums.data(), columns});
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) {
            double want = 1, size = 1;
            for (int64_t k = 0; k < terms; ++k) {
              const double product = double(x[static_cast<size_t>(i * terms + k)]) * double(grouped.real(j, k));
              want += product, size += std::fabs(product);
            }
            ASSERT_NEAR(sums[static_cast<size_t>(i * columns + j)], want, 1e-6 * size)
                << tile << ": " << i << ", " << j;
          }
        }
      }
    }
  }
}

TEST_P(Int8Test, RowsOfResultsOfFourBitNumbers) {
  for (const size_t n : {1, 16, 45}) {
    const auto sums = reals(static_cast<int64_t>(n), -100, 100), weights = reals(static_cast<int64_t>(n), -10, 10);
    const auto bias = reals(static_cast<int64_t>(n), -1, 1), residual = reals(static_cast<int64_t>(n), -5, 5);
    for (const int kind : {0, 1, 2, 3}) {
      std::vector<float> out = residual;
      out.push_back(77);
      const bool has_bias = kind % 2 == 1, has_residual = kind >= 2;
      kernels.int4_row({sums.data(), weights.data(), 3.0f, 0.25f, has_bias ? bias.data() : nullptr,
                        has_residual ? out.data() : nullptr, out.data()},
                       static_cast<int64_t>(n));
      EXPECT_EQ(out.back(), 77);
      for (size_t j = 0; j < n; ++j) {
        const double want = (double(sums[j]) - 3.0 * double(weights[j])) * 0.25 + (has_bias ? double(bias[j]) : 0) +
                            (has_residual ? double(residual[j]) : 0);
        ASSERT_NEAR(out[j], want, 1e-5) << n << ", " << j;
      }
    }
  }
}

TEST_P(Int8Test, ElementsToBytesAndBack) {
  for (const int64_t n : {1, 8, 61, 1000}) {
    auto x = reals(n, -400, 400);
    for (size_t i = 0; i < x.size(); i += 3) x[i] = std::nearbyint(x[i]) + 0.5f;
    float least = 0, most = 0;
    EXPECT_TRUE(kernels.extremes(x.data(), n, &least, &most));
    EXPECT_EQ(least, std::min(0.0f, *std::min_element(x.begin(), x.end())));
    EXPECT_EQ(most, std::max(0.0f, *std::max_element(x.begin(), x.end())));
    x.back() = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(kernels.extremes(x.data(), n, &least, &most));
    for (const Int8Range& range : {Int8Range{3, -128, 127}, Int8Range{120, 2, 255}}) {
      std::vector<uint8_t> bytes(x.size() + 1, 77);
      kernels.quantize(x.data(), n, range, 0.5f, bytes.data());
      EXPECT_EQ(bytes.back(), 77);
      for (size_t i = 0; i + 1 < x.size(); ++i) {
        const double want = std::clamp<double>(std::nearbyint(x[i] * 0.5f) + range.zero, range.least, range.most);
        ASSERT_EQ(bytes[i], static_cast<uint8_t>(static_cast<int>(want))) << x[i];
      }
      EXPECT_EQ(bytes[x.size() - 1], 0);
      std::vector<float> back(x.size());
      kernels.dequantize_int8(bytes.data(), 0x80, n, 5.0f, 0.25f, back.data());
      for (size_t i = 0; i < back.size(); ++i) {
        ASSERT_EQ(back[i], static_cast<float>(int{bytes[i]} - 128 - 5) * 0.25f);
      }
    }
  }
}

TEST_P(Int8Test, SumsAndProductsOfQuantizedNumbers) {
  const int64_t n = 700;
  const auto a = numbers(n), b = numbers(n);
  const auto* const x = reinterpret_cast<const uint8_t*>(a.data());
  const auto* const y = reinterpret_cast<const uint8_t*>(b.data());
  for (const bool multiply : {false, true}) {
    for (const int steps : {1, 2, 3}) {
      const Int8Operand lhs{x, steps & 1, 0, 4, 0.5f}, rhs{y, steps >> 1, 0x80, -3, 0.25f};
      std::vector<uint8_t> out(a.begin(), a.end());
      Int8Operand in_place = lhs;
      if (lhs.step == 1) in_place.data = out.data();
      kernels.combine(multiply, in_place, rhs, {-2, -128, 120}, 0.125f, n, out.data());
      for (int64_t i = 0; i < n; ++i) {
        const float real_a = static_cast<float>(a[static_cast<size_t>(i * lhs.step)] - 4) * 0.5f;
        const auto masked = static_cast<int8_t>(y[i * rhs.step] ^ 0x80);
        const float real_b = static_cast<float>(masked + 3) * 0.25f;
        const float real = (multiply ? real_a * real_b : real_a + real_b) * 0.125f;
        const double want = std::clamp<double>(std::nearbyint(real) - 2, -128, 120);
        ASSERT_EQ(static_cast<int8_t>(out[static_cast<size_t>(i)]), want) << multiply << steps;
      }
    }
  }
}

}  // namespace
}  // namespace rushlight::microkernels
