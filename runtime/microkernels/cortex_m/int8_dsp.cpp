// The inner loops with the DSP extension of Armv7E-M. SMLAD adds two products of 16-bit numbers to a sum. SXTB16
// extends two of the four bytes of a word to 16 bits.
#include <algorithm>

#include "microkernels/cortex_m/int8.h"
#include "microkernels/cortex_m/loops.h"

#if defined(RL_CORTEX_M_DSP)

#include <arm_acle.h>

namespace rushlight::microkernels::cortex_m {
namespace {

RL_INLINE uint32_t load_word(const void* from) {
  uint32_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// Return the first and the third byte of a word, or the second and the fourth, as two 16-bit numbers.
RL_INLINE uint32_t even_bytes(uint32_t word) { return static_cast<uint32_t>(__sxtb16(static_cast<int8x4_t>(word))); }
RL_INLINE uint32_t odd_bytes(uint32_t word) {
#if defined(__arm__)
  uint32_t result;
  asm("sxtb16 %0, %1, ror #8" : "=r"(result) : "r"(word));
  return result;
#else
  return even_bytes(word >> 8 | word << 24);
#endif
}

RL_INLINE int32_t add_products(uint32_t a, uint32_t b, int32_t sum) {
  return __smlad(static_cast<int16x2_t>(a), static_cast<int16x2_t>(b), sum);
}

RL_INLINE uint32_t subtract_halves(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(__ssub16(static_cast<int16x2_t>(a), static_cast<int16x2_t>(b)));
}

// Returns the larger byte of each pair of unsigned bytes.
RL_INLINE uint32_t larger_bytes(uint32_t a, uint32_t b) {
  __usub8(static_cast<uint8x4_t>(a), static_cast<uint8x4_t>(b));  // sets the flags that SEL reads
  return static_cast<uint32_t>(__sel(static_cast<uint8x4_t>(a), static_cast<uint8x4_t>(b)));
}

// Quantizes numbers as requantized_number() does. If the range of the results is the whole range of int8, SSAT clamps
// them in one instruction.
struct Quantizer {
  explicit Quantizer(const Int8Output& output)
      : inverse(output.inverse),
        zero(output.zero),
        least(output.least),
        most(output.most),
        is_whole_int8(least + zero == -128 && most + zero == 127) {}
  RL_MEMBER int32_t saturated_number(float real) const {
    int32_t number = __ssat(__qadd(round_to_int32(real * inverse), zero), 8);
#if defined(__arm__)
    asm("" : "+r"(number));  // stops the compiler from extending the byte before it stores it
#endif
    return number;
  }
  RL_MEMBER int32_t number(float real) const { return requantized_number(real, {inverse, zero, least, most}); }
  RL_MEMBER uint8_t operator()(float real) const {
    return static_cast<uint8_t>(is_whole_int8 ? saturated_number(real) : number(real));
  }
  RL_MEMBER uint8_t operator()(int32_t sum, const Int8Channel& channel) const {
    return (*this)(static_cast<float>(sum) * channel.factor + channel.offset);
  }
  const float inverse;
  const int32_t zero, least, most;
  const bool is_whole_int8;
};

// Multiplies one patch by one row of weights.
RL_ONCE int32_t product(const Patch* patch, const int8_t* weights, int32_t depth) {
  const auto* x = reinterpret_cast<const uint32_t*>(patch);
  int32_t sum = 0;
  for (int32_t n = depth >> 2; n > 0; --n) {
    const uint32_t w = load_word(weights);
    sum = add_products(even_bytes(w), x[0], sum);
    sum = add_products(odd_bytes(w), x[1], sum);
    x += 2;
    weights += 4;
  }
  const auto* rest = reinterpret_cast<const int16_t*>(x);
  for (int32_t n = depth & 3; n > 0; --n) sum += *rest++ * *weights++;
  return sum;
}

// Multiplies one patch by two rows of weights.
RL_INLINE void products_of_pair(const Patch* patch, const int8_t* a, const int8_t* b, int32_t depth,
                                int32_t (&sums)[2]) {
  const auto* x = reinterpret_cast<const uint32_t*>(patch);
  int32_t xa = 0, xb = 0;
  for (const uint32_t* const end = x + (depth >> 2) * 2; x != end; x += 2) {
    const uint32_t aw = load_word(a), bw = load_word(b), even = x[0], odd = x[1];
    xa = add_products(even_bytes(aw), even, xa), xb = add_products(even_bytes(bw), even, xb);
    xa = add_products(odd_bytes(aw), odd, xa), xb = add_products(odd_bytes(bw), odd, xb);
    a += 4, b += 4;
  }
  const auto* rest = reinterpret_cast<const int16_t*>(x);
  for (int32_t n = depth & 3; n > 0; --n, ++rest) xa += *rest * *a++, xb += *rest * *b++;
  sums[0] = xa, sums[1] = xb;
}

// Multiplies two patches by two rows of weights.
RL_INLINE void products_of_two(const Patch* patches, int32_t step, const int8_t* a, const int8_t* b, int32_t depth,
                               int32_t (&sums)[4]) {
  const auto *x = reinterpret_cast<const uint32_t*>(patches), *y = reinterpret_cast<const uint32_t*>(patches + step);
  int32_t xa = 0, xb = 0, ya = 0, yb = 0;
  for (int32_t n = depth >> 2; n > 0; --n) {
    const uint32_t aw = load_word(a), bw = load_word(b);
    uint32_t p = x[0], q = y[0];
    const uint32_t a_even = even_bytes(aw), b_even = even_bytes(bw);
    xa = add_products(a_even, p, xa), xb = add_products(b_even, p, xb);
    ya = add_products(a_even, q, ya), yb = add_products(b_even, q, yb);
    p = x[1], q = y[1];
    const uint32_t a_odd = odd_bytes(aw), b_odd = odd_bytes(bw);
    xa = add_products(a_odd, p, xa), xb = add_products(b_odd, p, xb);
    ya = add_products(a_odd, q, ya), yb = add_products(b_odd, q, yb);
    x += 2, y += 2, a += 4, b += 4;
  }
  const auto *u = reinterpret_cast<const int16_t*>(x), *v = reinterpret_cast<const int16_t*>(y);
  for (int32_t n = depth & 3; n > 0; --n) {
    xa += *u * *a, xb += *u * *b, ya += *v * *a, yb += *v * *b;
    ++u, ++v, ++a, ++b;
  }
  sums[0] = xa, sums[1] = ya, sums[2] = xb, sums[3] = yb;
}

}  // namespace

bool set_channels(const Int8Scales& scales, Int8Channel* channels, int32_t count) {
  // Denormal numbers give the same results as in the portable kernels. Only infinities and NaN could give others, and
  // then the total is one of them.
  const float none = 0, in_scale = scales.in_scale, *scale = scales.scales;
  const float* bias = scales.bias == nullptr ? &none : scales.bias;
  const int32_t scale_step = static_cast<int32_t>(scales.scale_step), bias_step = scales.bias == nullptr ? 0 : 1;
  float total = 0;
  for (; count > 0; --count, ++channels, scale += scale_step, bias += bias_step) {
    const float factor = *scale * in_scale, offset = *bias;
    channels->factor = factor;
    channels->offset = offset;
    total += factor, total += offset;
  }
  return std::isfinite(total);
}

void set_corrections(const int8_t*, int32_t, int32_t, Int8Channel*, int32_t) {}

void gather(const int8_t* from, const uint16_t* offsets, int32_t depth, int32_t zero, Patch* patch) {
  for (const Patch* const end = patch + depth; patch != end; ++patch) {
    *patch = static_cast<int16_t>(from[*offsets++] - zero);
  }
}

void expand(const uint8_t* from, uint8_t sign_mask, int32_t depth, int32_t zero, Patch* patch) {
  const uint32_t sign_masks = sign_mask * 0x01010101u, zeros = static_cast<uint32_t>(zero & 0xffff) * 0x00010001u;
  auto* words = reinterpret_cast<uint32_t*>(patch);
  for (int32_t n = depth >> 2; n > 0; --n) {
    const uint32_t word = load_word(from) ^ sign_masks;
    words[0] = subtract_halves(even_bytes(word), zeros);
    words[1] = subtract_halves(odd_bytes(word), zeros);
    words += 2;
    from += 4;
  }
  patch = reinterpret_cast<int16_t*>(words);
  for (int32_t n = depth & 3; n > 0; --n)
    *patch++ = static_cast<int16_t>(static_cast<int8_t>(*from++ ^ sign_mask) - zero);
}

void products(const Patch* patches, int32_t step, const int8_t* weights, int32_t depth, const Int8Channel* channels,
              int32_t count, const Int8Output& output, uint8_t* out, int32_t pixel_stride, int32_t channel_stride) {
  const Quantizer quantized(output);
  for (; count > 1; count -= 2) {
    int32_t sums[4];
    products_of_two(patches, step, weights, weights + depth, depth, sums);
    for (int32_t i = 0; i < 4; i += 2, ++channels, out += channel_stride) {
      out[0] = quantized(sums[i], *channels);
      out[pixel_stride] = quantized(sums[i + 1], *channels);
    }
    weights += 2 * depth;
  }
  if (count == 0) return;
  for (int32_t i = 0; i < 2; ++i, patches += step, out += pixel_stride) {
    *out = quantized(product(patches, weights, depth), *channels);
  }
}

void products_of_one(const Patch* patch, const int8_t* weights, int32_t depth, int32_t, const Int8Channel* channels,
                     int32_t count, const Int8Output& output, uint8_t* out, int32_t channel_stride) {
  const Quantizer quantized(output);
  for (; count > 1; count -= 2) {
    int32_t sums[2];
    products_of_pair(patch, weights, weights + depth, depth, sums);
    out[0] = quantized(sums[0], channels[0]);
    out[channel_stride] = quantized(sums[1], channels[1]);
    out += 2 * channel_stride;
    channels += 2;
    weights += 2 * depth;
  }
  if (count > 0) *out = quantized(product(patch, weights, depth), *channels);
}

void copy_bytes(const uint8_t* from, int32_t stride, int32_t n, uint8_t sign_mask, int8_t* to) {
  if (stride == 1) {
    const uint32_t sign_masks = sign_mask * 0x01010101u;
    for (; n > 3; n -= 4, from += 4, to += 4) {
      const uint32_t word = load_word(from) ^ sign_masks;
      std::memcpy(to, &word, sizeof(word));
    }
  }
  for (; n > 0; --n, from += stride) *to++ = static_cast<int8_t>(*from ^ sign_mask);
}

void fill_bytes(int8_t* to, int32_t n, int32_t zero) {
  for (; n > 0; --n) *to++ = static_cast<int8_t>(zero);
}

void copy_plane(const uint8_t* from, int32_t stride, int32_t n, uint8_t sign_mask, int32_t zero, Plane* to) {
  for (; n > 0; --n, from += stride) *to++ = static_cast<int16_t>(static_cast<int8_t>(*from ^ sign_mask) - zero);
}

void fill_plane(Plane* to, int32_t n, int32_t) {
  for (; n > 0; --n) *to++ = 0;
}

void depthwise(const Plane* plane, const uint16_t* places, int32_t pixels, const uint16_t* offsets,
               const TapWeight* weights, int32_t taps, const Int8Channel& channel, const Int8Output& output,
               uint8_t* out, int32_t pixel_stride) {
  const Quantizer quantized(output);
  for (; pixels > 0; pixels -= kTapPixels) {
    const Plane *a = plane + places[0], *b = plane + places[1], *c = plane + places[2], *d = plane + places[3];
    int32_t sums[4] = {0, 0, 0, 0};
    const uint16_t* offset = offsets;
    for (const TapWeight *w = weights, *const end = weights + taps; w != end; ++w) {
      const int32_t at = *offset++;
      sums[0] = add_products(load_word(a + at), *w, sums[0]);
      sums[1] = add_products(load_word(b + at), *w, sums[1]);
      sums[2] = add_products(load_word(c + at), *w, sums[2]);
      sums[3] = add_products(load_word(d + at), *w, sums[3]);
    }
    for (int32_t i = 0; i < kTapPixels && i < pixels; ++i) {
      *out = quantized(sums[i], channel);
      out += pixel_stride;
    }
    places += kTapPixels;
  }
}

namespace {

// Returns `total` plus the sum of n adjacent bytes XOR `sign_masks`.
RL_INLINE uint32_t add_bytes(const uint8_t* from, int32_t n, uint32_t sign_masks, uint32_t total) {
  for (int32_t words = n >> 2; words > 0; --words, from += 4) {
    total = __usada8(static_cast<uint8x4_t>(load_word(from) ^ sign_masks), 0, total);
  }
  if ((n & 2) != 0) {
    uint16_t pair;
    std::memcpy(&pair, from, sizeof(pair));
    total = __usada8(static_cast<uint8x4_t>(pair ^ (sign_masks & 0xffff)), 0, total);
    from += 2;
  }
  return (n & 1) != 0 ? total + (*from ^ (sign_masks & 0xff)) : total;
}

}  // namespace

uint32_t sum_of_bytes(const uint8_t* from, int32_t n, uint32_t sign_masks) { return add_bytes(from, n, sign_masks, 0); }

namespace {

// Computes the means of n windows. If kIsDense is true, the taps of a row are adjacent.
template <bool kIsDense>
RL_INLINE void means_of_row(const WindowRow& row, const Int8Means& means, int32_t kernel_h, int32_t kernel_w,
                            const uint8_t* from, int32_t n, uint8_t* out) {
  const Quantizer quantized(means.output);
  const int32_t bias = row.bias, stride = row.stride, row_stride = row.row_stride, out_stride = row.out_stride;
  const int32_t taps = kernel_h * kernel_w, zeros = -taps * (128 + means.zero);
  const auto divisor = static_cast<float>(taps);
  const float factor = means.factor;
  for (; n > 0; --n) {
    uint32_t sum = static_cast<uint32_t>(zeros);
    const uint8_t* line = from;
    for (int32_t y = kernel_h; y > 0; --y, line += row_stride) {
      if constexpr (kIsDense) {
        sum = add_bytes(line, kernel_w, bias * 0x01010101u, sum);
      } else {
        const uint8_t* tap = line;
        for (int32_t x = kernel_w; x > 0; --x, tap += row.tap_stride) sum += *tap ^ bias;
      }
    }
    *out = quantized(static_cast<float>(static_cast<int32_t>(sum)) * factor / divisor);
    from += stride;
    out += out_stride;
  }
}

}  // namespace

void row_means(const WindowRow& row, const Int8Means& means, const uint8_t* from, int32_t n, uint8_t* out) {
  int32_t kernel_h = row.kernel_h, kernel_w = row.kernel_w;
  if (row.tap_stride != 1) return means_of_row<false>(row, means, kernel_h, kernel_w, from, n, out);
  if (row.row_stride == kernel_w) kernel_w *= kernel_h, kernel_h = 1;
  means_of_row<true>(row, means, kernel_h, kernel_w, from, n, out);
}

void row_maxima(const WindowRow& row, const uint8_t* from, int32_t place, int32_t n, uint8_t* out, int64_t* indices) {
  const int32_t bias = row.bias, kernel_w = row.kernel_w, tap_stride = row.tap_stride, tap_step = row.tap_step;
  for (; n > 0; --n) {
    int32_t best = -1, where = place, first = place;
    const uint8_t* line = from;
    for (int32_t y = row.kernel_h; y > 0; --y) {
      const uint8_t* tap = line;
      int32_t at = first;
      for (int32_t x = kernel_w; x > 0; --x) {
        const int32_t key = *tap ^ bias;
        if (key > best) best = key, where = at;
        tap += tap_stride;
        at += tap_step;
      }
      line += row.row_stride;
      first += row.row_step;
    }
    *out = static_cast<uint8_t>((best < 0 ? 0 : best) ^ bias);
    *indices = where;
    from += row.stride;
    place += row.step;
    out += row.out_stride;
    indices += row.index_stride;
  }
}

namespace {

RL_INLINE float real_number(int8_t number, const Int8Operand& operand) {
  return static_cast<float>(number - operand.zero) * operand.scale;
}

// Adds the byte at bits [kShift, kShift + 8) of a word, as an int8 number.
template <int kShift>
RL_INLINE int32_t add_byte(int32_t sum, uint32_t word) {
#if defined(__arm__)
  int32_t result;
  asm("sxtab %0, %1, %2, ror %3" : "=r"(result) : "r"(sum), "r"(word), "n"(kShift));
  return result;
#else
  return sum + static_cast<int8_t>(word >> kShift);
#endif
}

// Computes op(a, b) for a commutative operation.
template <typename Op>
RL_INLINE void binary(const Int8Operand& a, const Int8Operand& b, int32_t n, const Int8Output& output, uint8_t* out,
                      const Op& op) {
  const Int8Operand left = a.step == 0 ? b : a, right = a.step == 0 ? a : b;
  const Quantizer quantized(output);
  const auto *x = reinterpret_cast<const int8_t*>(left.data), *y = reinterpret_cast<const int8_t*>(right.data);
  const uint8_t* const end = out + n;
  if ((left.sign_mask | right.sign_mask) == 0 && left.step == 1 && quantized.is_whole_int8) {
    if (right.step == 0) {
      const float q = real_number(*y, right);
      while (out != end) *out++ = static_cast<uint8_t>(quantized.saturated_number(op(real_number(*x++, left), q)));
    }
    const int32_t left_zero = -left.zero, right_zero = -right.zero;
    for (; end - out > 3; x += 4, y += 4, out += 4) {
      const uint32_t p = load_word(x), q = load_word(y);
      const auto result = [&](int32_t u, int32_t v) {
        return static_cast<uint8_t>(
            quantized.saturated_number(op(static_cast<float>(u) * left.scale, static_cast<float>(v) * right.scale)));
      };
      out[0] = result(add_byte<0>(left_zero, p), add_byte<0>(right_zero, q));
      out[1] = result(add_byte<8>(left_zero, p), add_byte<8>(right_zero, q));
      out[2] = result(add_byte<16>(left_zero, p), add_byte<16>(right_zero, q));
      out[3] = result(add_byte<24>(left_zero, p), add_byte<24>(right_zero, q));
    }
  }
  for (; out != end; x += left.step, y += right.step) {
    const float p = real_number(static_cast<uint8_t>(*x), left), q = real_number(static_cast<uint8_t>(*y), right);
    *out++ = quantized(op(p, q));
  }
}

}  // namespace

void add(const Int8Operand& a, const Int8Operand& b, int32_t n, const Int8Output& output, uint8_t* out) {
  binary(a, b, n, output, out, [](float x, float y) { return x + y; });
}

void multiply_elements(const Int8Operand& a, const Int8Operand& b, int32_t n, const Int8Output& output, uint8_t* out) {
  binary(a, b, n, output, out, [](float x, float y) { return x * y; });
}

void look_up(const uint8_t* in, uint8_t sign_mask, const uint8_t* table, int32_t n, uint8_t* out) {
  for (const uint8_t* const end = out + n; out != end;) *out++ = table[*in++ ^ sign_mask];
}

void softmax(const uint8_t* in, uint8_t sign_mask, const int32_t* exponentials, int32_t n, const Int8Output& output,
             uint8_t* out) {
  const uint32_t sign_masks = sign_mask * 0x01010101u;
  uint32_t most = 0;
  int32_t i = 0;
  for (; i < n - 3; i += 4) most = larger_bytes(load_word(in + i) ^ sign_masks, most);
  int32_t largest = 0;
  for (; most != 0; most >>= 8) largest = std::max<int32_t>(largest, most & 0xff);
  for (; i < n; ++i) largest = std::max<int32_t>(largest, in[i] ^ sign_mask);
  int64_t sum = 0;
  for (int32_t k = 0; k < n; ++k) sum += exponentials[largest - (in[k] ^ sign_mask)];
  const float inverse = sum == 0 ? 0.0f : 1.0f / static_cast<float>(sum);
  const Quantizer quantized(output);
  for (const uint8_t* const end = in + n; in != end;) {
    *out++ = quantized(static_cast<float>(exponentials[largest - (*in++ ^ sign_mask)]) * inverse);
  }
}

void quantize(const float* in, int32_t n, const Int8Output& output, uint8_t* out) {
  const Quantizer quantized(output);
  const uint8_t* const end = out + n;
  if (quantized.is_whole_int8) {
    while (out != end) {
      const float real = *in++;
      const int32_t number = quantized.saturated_number(real);
      *out++ = static_cast<uint8_t>(real == real ? number : 0);
    }
  }
  while (out != end) {
    const float real = *in++;
    const int32_t number = quantized.number(real);
    *out++ = static_cast<uint8_t>(real == real ? number : 0);
  }
}

void dequantize(const Int8Operand& in, int32_t n, float* out) {
  // Bytes XOR `bias` are unsigned: the int8 numbers plus 128.
  const int32_t bias = in.sign_mask ^ 0x80, zero = in.zero + 128;
  const float scale = in.scale;
  const uint8_t* from = in.data;
  for (const float* const end = out + n; out != end;) *out++ = static_cast<float>((*from++ ^ bias) - zero) * scale;
}

}  // namespace rushlight::microkernels::cortex_m

#endif  // RL_CORTEX_M_DSP
