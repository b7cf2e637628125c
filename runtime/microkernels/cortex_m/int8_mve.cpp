// The inner loops with Helium. VMLADAVA adds 16 products of bytes to a sum. Gather loads read patches and windows in
// any layout.
#include "microkernels/cortex_m/int8.h"
#include "microkernels/cortex_m/loops.h"

#if defined(RL_CORTEX_M_MVE)

#include <arm_mve.h>

namespace rushlight::microkernels::cortex_m {
namespace {

RL_INLINE const int8_t* signed_bytes(const uint8_t* bytes) { return reinterpret_cast<const int8_t*>(bytes); }
RL_INLINE int8_t* signed_bytes(uint8_t* bytes) { return reinterpret_cast<int8_t*>(bytes); }

// Returns the offsets of four lanes: 0, 1, 2, 3 times a stride.
RL_INLINE uint32x4_t lanes_of(int32_t stride) { return vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(stride)); }

// Quantizes four real numbers at a time.
struct Requantization {
  explicit Requantization(const Int8Output& output)
      : least(vdupq_n_s32(output.least)), most(vdupq_n_s32(output.most)), inverse(output.inverse), zero(output.zero) {}
  RL_MEMBER int32x4_t operator()(float32x4_t real) const {
    const int32x4_t whole = vcvtnq_s32_f32(vmulq_n_f32(real, inverse));
    return vaddq_n_s32(vmaxq_s32(vminq_s32(whole, most), least), zero);
  }
  int32x4_t least, most;
  float inverse;
  int32_t zero;
};

// Dequantizes four bytes at a time.
struct RealNumbers {
  explicit RealNumbers(const Int8Operand& operand)
      : sign_masks(vdupq_n_u32(operand.sign_mask ^ 0x80u)), zero(128 + operand.zero), scale(operand.scale) {}
  RL_MEMBER float32x4_t operator()(uint32x4_t bytes) const {
    const int32x4_t whole = vsubq_n_s32(vreinterpretq_s32_u32(veorq_u32(bytes, sign_masks)), zero);
    return vmulq_n_f32(vcvtq_f32_s32(whole), scale);
  }
  uint32x4_t sign_masks;
  int32_t zero;
  float scale;
};

// As set_channels(), one channel after the other.
RL_INLINE bool set_each_channel(const Int8Scales& scales, Int8Channel* channels, int32_t count) {
  const float none = 0, in_scale = scales.in_scale, *scale = scales.scales, *bias = scales.bias;
  const int32_t scale_step = static_cast<int32_t>(scales.scale_step), bias_step = bias == nullptr ? 0 : 1;
  if (bias == nullptr) bias = &none;
  for (; count > 0; --count, ++channels, scale += scale_step, bias += bias_step) {
    const float factor = *scale * in_scale, offset = *bias;
    channels->factor = factor;
    channels->offset = offset;
    if (!is_usual(factor) || !is_usual(offset)) return false;
  }
  return true;
}

}  // namespace

bool set_channels(const Int8Scales& scales, Int8Channel* channels, int32_t count) {
  const float *scale = scales.scales, *bias = scales.bias;
  if (scales.scale_step == 0 || bias == nullptr) return set_each_channel(scales, channels, count);
  // The largest magnitudes, as the bits of float32 numbers without the sign. The least usual magnitude is subtracted
  // from those of the factors, so that smaller ones are very large. Smaller biases do not change results.
  const uint32x4_t fields = lanes_of(sizeof(Int8Channel));
  uint32x4_t factors = vdupq_n_u32(0), offsets = factors;
  for (; count > 3; count -= 4, scale += 4, bias += 4, channels += 4) {
    const float32x4_t factor = vmulq_n_f32(vldrwq_f32(scale), scales.in_scale), offset = vldrwq_f32(bias);
    vstrwq_scatter_offset_f32(&channels->factor, fields, factor);
    vstrwq_scatter_offset_f32(&channels->offset, fields, offset);
    factors = vmaxq_u32(factors, vsubq_n_u32(vshlq_n_u32(vreinterpretq_u32_f32(factor), 1), kLeastUsual));
    offsets = vmaxq_u32(offsets, vshlq_n_u32(vreinterpretq_u32_f32(offset), 1));
  }
  if (vmaxvq_u32(0, factors) > kMostUsual - kLeastUsual || vmaxvq_u32(0, offsets) > kMostUsual) return false;
  return set_each_channel({scales.in_scale, scale, 1, bias}, channels, count);
}

void set_corrections(const int8_t* weights, int32_t depth, int32_t zero, Int8Channel* channels, int32_t count) {
  const mve_pred16_t rest = vctp8q(static_cast<uint32_t>(depth & 15));
  for (; count > 0; count -= 4, channels += 4) {
    // If there are fewer than four channels, the others read the weights of the first one.
    const int8_t *a = weights, *b = count > 1 ? a + depth : a, *c = count > 2 ? b + depth : a,
                 *d = count > 3 ? c + depth : a;
    int32_t p = 0, q = 0, r = 0, s = 0;
    for (int32_t n = depth >> 4; n > 0; --n) {
      p = vaddvaq_s8(p, vldrbq_s8(a));
      q = vaddvaq_s8(q, vldrbq_s8(b));
      r = vaddvaq_s8(r, vldrbq_s8(c));
      s = vaddvaq_s8(s, vldrbq_s8(d));
      a += 16, b += 16, c += 16, d += 16;
    }
    if ((depth & 15) != 0) {
      p = vaddvaq_s8(p, vldrbq_z_s8(a, rest));
      q = vaddvaq_s8(q, vldrbq_z_s8(b, rest));
      r = vaddvaq_s8(r, vldrbq_z_s8(c, rest));
      s = vaddvaq_s8(s, vldrbq_z_s8(d, rest));
    }
    channels[0].correction = -zero * p;
    if (count > 1) channels[1].correction = -zero * q;
    if (count > 2) channels[2].correction = -zero * r;
    if (count > 3) channels[3].correction = -zero * s;
    weights += 4 * depth;
  }
}

void gather(const int8_t* from, const uint16_t* offsets, int32_t depth, int32_t, Patch* patch) {
  for (int32_t n = depth; n > 0; n -= 8) {
    vstrbq_s16(patch, vldrbq_gather_offset_s16(from, vldrhq_u16(offsets)));
    offsets += 8;
    patch += 8;
  }
}

void expand(const uint8_t* from, uint8_t sign_mask, int32_t depth, int32_t, Patch* patch) {
  const uint8x16_t sign_masks = vdupq_n_u8(sign_mask);
  for (int32_t n = depth; n > 0; n -= 16) {
    const mve_pred16_t valid = vctp8q(static_cast<uint32_t>(n));
    vstrbq_p_u8(reinterpret_cast<uint8_t*>(patch), veorq_u8(vldrbq_z_u8(from, valid), sign_masks), valid);
    from += 16;
    patch += 16;
  }
}

void products(const Patch* patches, int32_t step, const int8_t* weights, int32_t depth, const Int8Channel* channels,
              int32_t count, const Int8Output& output, uint8_t* out, int32_t pixel_stride, int32_t channel_stride) {
  const Requantization requantize(output);
  const uint32x4_t places = lanes_of(pixel_stride);
  const mve_pred16_t rest = vctp8q(static_cast<uint32_t>(depth & 15));
  for (; count > 0; --count) {
    const int8_t *a = patches, *b = a + step, *c = b + step, *d = c + step;
    int32_t p = channels->correction, q = p, r = p, s = p;
    for (int32_t n = depth >> 4; n > 0; --n) {
      const int8x16_t w = vldrbq_s8(weights);
      p = vmladavaq_s8(p, w, vldrbq_s8(a));
      q = vmladavaq_s8(q, w, vldrbq_s8(b));
      r = vmladavaq_s8(r, w, vldrbq_s8(c));
      s = vmladavaq_s8(s, w, vldrbq_s8(d));
      weights += 16, a += 16, b += 16, c += 16, d += 16;
    }
    if ((depth & 15) != 0) {
      const int8x16_t w = vldrbq_z_s8(weights, rest);
      p = vmladavaq_s8(p, w, vldrbq_s8(a));
      q = vmladavaq_s8(q, w, vldrbq_s8(b));
      r = vmladavaq_s8(r, w, vldrbq_s8(c));
      s = vmladavaq_s8(s, w, vldrbq_s8(d));
      weights += depth & 15;
    }
    const int32x4_t whole = {p, q, r, s};
    const float32x4_t real = vaddq_n_f32(vmulq_n_f32(vcvtq_f32_s32(whole), channels->factor), channels->offset);
    vstrbq_scatter_offset_s32(signed_bytes(out), places, requantize(real));
    ++channels;
    out += channel_stride;
  }
}

namespace {

// The negative of a zero point as the sum of two numbers, because -128 is an int8 number, but 128 is not.
struct NegativeZero {
  explicit NegativeZero(int32_t zero)
      : first(static_cast<int8_t>(-zero >> 1)), second(static_cast<int8_t>(-zero - first)) {}
  int8_t first, second;
};

// Adds products of 16 weights and numbers minus the zero point.
RL_INLINE int32_t add_products(int32_t sum, int8x16_t weights, int8x16_t numbers, int8x16_t first, int8x16_t second) {
  return vmladavaq_s8(vmladavaq_s8(vmladavaq_s8(sum, weights, numbers), weights, first), weights, second);
}

// Multiplies a patch by four rows of weights.
RL_ONCE void sums_of_four(const Patch* patch, const int8_t* weights, int32_t depth, NegativeZero zero, int32_t* sums) {
  const int8x16_t first = vdupq_n_s8(zero.first), second = vdupq_n_s8(zero.second);
  const int8_t *a = weights, *b = a + depth, *c = b + depth, *d = c + depth;
  int32_t p = 0, q = 0, r = 0, s = 0;
  for (const Patch* const end = patch + (depth & ~15); patch != end;) {
    const int8x16_t numbers = vldrbq_s8(patch);
    p = add_products(p, vldrbq_s8(a), numbers, first, second);
    q = add_products(q, vldrbq_s8(b), numbers, first, second);
    r = add_products(r, vldrbq_s8(c), numbers, first, second);
    s = add_products(s, vldrbq_s8(d), numbers, first, second);
    patch += 16, a += 16, b += 16, c += 16, d += 16;
  }
  if ((depth & 15) != 0) {
    const int8x16_t numbers = vldrbq_s8(patch);
    const mve_pred16_t rest = vctp8q(static_cast<uint32_t>(depth & 15));
    p = add_products(p, vldrbq_z_s8(a, rest), numbers, first, second);
    q = add_products(q, vldrbq_z_s8(b, rest), numbers, first, second);
    r = add_products(r, vldrbq_z_s8(c, rest), numbers, first, second);
    s = add_products(s, vldrbq_z_s8(d, rest), numbers, first, second);
  }
  sums[0] = p, sums[1] = q, sums[2] = r, sums[3] = s;
}

// Multiplies a patch by a row of weights.
RL_ONCE int32_t sum_of_one(const Patch* patch, const int8_t* weights, int32_t depth, NegativeZero zero) {
  const int8x16_t first = vdupq_n_s8(zero.first), second = vdupq_n_s8(zero.second);
  int32_t sum = 0;
  for (int32_t n = depth; n > 0; n -= 16, patch += 16, weights += 16) {
    const int8x16_t w = vldrbq_z_s8(weights, vctp8q(static_cast<uint32_t>(n)));
    sum = add_products(sum, w, vldrbq_s8(patch), first, second);
  }
  return sum;
}

}  // namespace

void products_of_one(const Patch* patch, const int8_t* weights, int32_t depth, int32_t zero,
                     const Int8Channel* channels, int32_t count, const Int8Output& output, uint8_t* out,
                     int32_t channel_stride) {
  constexpr int32_t kBlock = 32;
  const NegativeZero negative(zero);
  int32_t sums[kBlock];
  while (count > 0) {
    const int32_t n = count < kBlock ? count : kBlock;
    int32_t *sum = sums, *const end = sums + n;
    for (; end - sum > 3; sum += 4, weights += 4 * depth) sums_of_four(patch, weights, depth, negative, sum);
    for (; sum != end; weights += depth) *sum++ = sum_of_one(patch, weights, depth, negative);
    const Requantization requantize(output);
    const uint32x4_t places = lanes_of(channel_stride), fields = lanes_of(sizeof(Int8Channel));
    sum = sums;
    for (int32_t left = n; left > 0; left -= 4, sum += 4, channels += 4, out += 4 * channel_stride) {
      const mve_pred16_t exists = vctp32q(static_cast<uint32_t>(left));
      const float32x4_t factors = vldrwq_gather_offset_z_f32(&channels->factor, fields, exists);
      const float32x4_t offsets = vldrwq_gather_offset_z_f32(&channels->offset, fields, exists);
      const float32x4_t real = vaddq_f32(vmulq_f32(vcvtq_f32_s32(vldrwq_z_s32(sum, exists)), factors), offsets);
      vstrbq_scatter_offset_p_s32(signed_bytes(out), places, requantize(real), exists);
    }
    count -= n;
  }
}

void fill_bytes(int8_t* to, int32_t n, int32_t zero) {
  const int8x16_t zeros = vdupq_n_s8(static_cast<int8_t>(zero));
  for (; n > 0; n -= 16, to += 16) vstrbq_p_s8(to, zeros, vctp8q(static_cast<uint32_t>(n)));
}

void copy_bytes(const uint8_t* from, int32_t stride, int32_t n, uint8_t sign_mask, int8_t* to) {
  if (stride == 1) return expand(from, sign_mask, n, 0, to);
  for (; n > 0; --n, from += stride) *to++ = static_cast<int8_t>(*from ^ sign_mask);
}

void fill_plane(Plane* to, int32_t n, int32_t zero) { fill_bytes(to, n, zero); }

void copy_plane(const uint8_t* from, int32_t stride, int32_t n, uint8_t sign_mask, int32_t, Plane* to) {
  copy_bytes(from, stride, n, sign_mask, to);
}

// Computes `pixels` results. Their windows begin at `places` in the plane. The number of places is rounded up to a
// multiple of kTapPixels.
void depthwise(const Plane* plane, const uint16_t* places, int32_t pixels, const uint16_t* offsets,
               const TapWeight* weights, int32_t taps, const Int8Channel& channel, const Int8Output& output,
               uint8_t* out, int32_t pixel_stride) {
  const Requantization requantize(output);
  const uint32x4_t lanes = lanes_of(pixel_stride);
  for (; pixels > 0; pixels -= kTapPixels) {
    const uint32x4_t first = vldrhq_u32(places), second = vldrhq_u32(places + 4);
    int32x4_t sums = vdupq_n_s32(channel.correction), others = sums;
    const uint16_t* offset = offsets;
    for (const TapWeight *w = weights, *const end = weights + taps; w != end; ++w) {
      const Plane* const tap = plane + *offset++;
      sums = vmlaq_n_s32(sums, vldrbq_gather_offset_s32(tap, first), *w);
      others = vmlaq_n_s32(others, vldrbq_gather_offset_s32(tap, second), *w);
    }
    const float32x4_t real = vaddq_n_f32(vmulq_n_f32(vcvtq_f32_s32(sums), channel.factor), channel.offset);
    const float32x4_t more = vaddq_n_f32(vmulq_n_f32(vcvtq_f32_s32(others), channel.factor), channel.offset);
    vstrbq_scatter_offset_p_s32(signed_bytes(out), lanes, requantize(real), vctp32q(static_cast<uint32_t>(pixels)));
    if (pixels > 4) {
      vstrbq_scatter_offset_p_s32(signed_bytes(out + 4 * pixel_stride), lanes, requantize(more),
                                  vctp32q(static_cast<uint32_t>(pixels - 4)));
    }
    places += kTapPixels;
    out += kTapPixels * pixel_stride;
  }
}

uint32_t sum_of_bytes(const uint8_t* from, int32_t n, uint32_t sign_masks) {
  const uint8x16_t sign_mask = vreinterpretq_u8_u32(vdupq_n_u32(sign_masks));
  uint32_t total = 0;
  for (; n > 15; n -= 16, from += 16) total = vaddvaq_u8(total, veorq_u8(vldrbq_u8(from), sign_mask));
  if (n > 0) {
    const mve_pred16_t valid = vctp8q(static_cast<uint32_t>(n));
    total = vaddvaq_p_u8(total, veorq_u8(vldrbq_z_u8(from, valid), sign_mask), valid);
  }
  return total;
}

namespace {

template <typename Op>
RL_INLINE void binary(const Int8Operand& a, const Int8Operand& b, int32_t n, const Int8Output& output, uint8_t* out,
                      const Op& op) {
  const Requantization requantize(output);
  const RealNumbers left(a), right(b);
  const uint8_t *x = a.data, *y = b.data;
  const bool repeats_a = a.step == 0, repeats_b = b.step == 0;
  const float32x4_t first = left(vdupq_n_u32(*x)), second = right(vdupq_n_u32(*y));
  for (; n > 3; n -= 4, x += 4, y += 4, out += 4) {
    const float32x4_t p = repeats_a ? first : left(vldrbq_u32(x)), q = repeats_b ? second : right(vldrbq_u32(y));
    vstrbq_s32(signed_bytes(out), requantize(op(p, q)));
  }
  if (n == 0) return;
  const mve_pred16_t valid = vctp32q(static_cast<uint32_t>(n));
  const float32x4_t p = repeats_a ? first : left(vldrbq_z_u32(x, valid));
  const float32x4_t q = repeats_b ? second : right(vldrbq_z_u32(y, valid));
  vstrbq_p_s32(signed_bytes(out), requantize(op(p, q)), valid);
}

}  // namespace

void add(const Int8Operand& a, const Int8Operand& b, int32_t n, const Int8Output& output, uint8_t* out) {
  binary(a, b, n, output, out, [](float32x4_t x, float32x4_t y) { return vaddq_f32(x, y); });
}

void multiply_elements(const Int8Operand& a, const Int8Operand& b, int32_t n, const Int8Output& output, uint8_t* out) {
  binary(a, b, n, output, out, [](float32x4_t x, float32x4_t y) { return vmulq_f32(x, y); });
}

void look_up(const uint8_t* in, uint8_t sign_mask, const uint8_t* table, int32_t n, uint8_t* out) {
  const uint8x16_t sign_masks = vdupq_n_u8(sign_mask);
  for (; n > 15; n -= 16, in += 16, out += 16) {
    vstrbq_u8(out, vldrbq_gather_offset_u8(table, veorq_u8(vldrbq_u8(in), sign_masks)));
  }
  if (n == 0) return;
  const mve_pred16_t valid = vctp8q(static_cast<uint32_t>(n));
  const uint8x16_t places = veorq_u8(vldrbq_z_u8(in, valid), sign_masks);
  vstrbq_p_u8(out, vldrbq_gather_offset_z_u8(table, places, valid), valid);
}

void softmax(const uint8_t* in, uint8_t sign_mask, const int32_t* exponentials, int32_t n, const Int8Output& output,
             uint8_t* out) {
  const uint8x16_t sign_masks = vdupq_n_u8(sign_mask);
  uint32_t largest = 0;
  for (int32_t i = 0; i < n; i += 16) {
    const mve_pred16_t valid = vctp8q(static_cast<uint32_t>(n - i));
    largest = vmaxvq_p_u8(static_cast<uint8_t>(largest), veorq_u8(vldrbq_z_u8(in + i, valid), sign_masks), valid);
  }
  const uint32x4_t wide_sign_masks = vdupq_n_u32(sign_mask), most = vdupq_n_u32(largest);
  const auto below = [&](uint32x4_t bytes) { return vsubq_u32(most, veorq_u32(bytes, wide_sign_masks)); };
  // The numbers after the last group of four.
  const int32_t rest = n & ~3;
  const mve_pred16_t valid = vctp32q(static_cast<uint32_t>(n & 3));
  const int32x4_t last = vldrwq_gather_shifted_offset_z_s32(exponentials, below(vldrbq_z_u32(in + rest, valid)), valid);
  int64_t sum = vaddlvaq_s32(0, last);
  for (int32_t i = 0; i < rest; i += 4) {
    sum = vaddlvaq_s32(sum, vldrwq_gather_shifted_offset_s32(exponentials, below(vldrbq_u32(in + i))));
  }
  const float inverse = sum == 0 ? 0.0f : 1.0f / static_cast<float>(sum);
  const Requantization requantize(output);
  const auto result = [&](int32x4_t powers) { return requantize(vmulq_n_f32(vcvtq_f32_s32(powers), inverse)); };
  for (int32_t i = 0; i < rest; i += 4) {
    const int32x4_t powers = vldrwq_gather_shifted_offset_s32(exponentials, below(vldrbq_u32(in + i)));
    vstrbq_s32(signed_bytes(out + i), result(powers));
  }
  vstrbq_p_s32(signed_bytes(out + rest), result(last), valid);
}

void quantize(const float* in, int32_t n, const Int8Output& output, uint8_t* out) {
  const Requantization requantize(output);
  for (; n > 0; n -= 4, in += 4, out += 4) {
    const mve_pred16_t valid = vctp32q(static_cast<uint32_t>(n));
    const float32x4_t real = vldrwq_z_f32(in, valid);
    const int32x4_t numbers = vpselq_s32(requantize(real), vdupq_n_s32(0), vcmpeqq_f32(real, real));
    vstrbq_p_s32(signed_bytes(out), numbers, valid);
  }
}

void dequantize(const Int8Operand& in, int32_t n, float* out) {
  const RealNumbers real(in);
  const uint8_t* from = in.data;
  for (; n > 3; n -= 4, from += 4, out += 4) vstrwq_f32(out, real(vldrbq_u32(from)));
  if (n == 0) return;
  const mve_pred16_t valid = vctp32q(static_cast<uint32_t>(n));
  vstrwq_p_f32(out, real(vldrbq_z_u32(from, valid)), valid);
}

void row_means(const WindowRow& row, const Int8Means& means, const uint8_t* from, int32_t n, uint8_t* out) {
  const Requantization requantize(means.output);
  const uint32x4_t lanes = lanes_of(row.stride), outs = lanes_of(row.out_stride), biases = vdupq_n_u32(row.bias);
  const int32_t taps = row.kernel_h * row.kernel_w;
  const auto divisor = static_cast<float>(taps);
  const int32x4_t zeros = vdupq_n_s32(-taps * (128 + means.zero));
  for (; n > 0; n -= 4) {
    const mve_pred16_t valid = vctp32q(static_cast<uint32_t>(n));
    int32x4_t sums = zeros;
    const uint8_t* line = from;
    for (int32_t y = row.kernel_h; y > 0; --y, line += row.row_stride) {
      const uint8_t* tap = line;
      for (int32_t x = row.kernel_w; x > 0; --x, tap += row.tap_stride) {
        const uint32x4_t keys = veorq_u32(vldrbq_gather_offset_z_u32(tap, lanes, valid), biases);
        sums = vaddq_s32(sums, vreinterpretq_s32_u32(keys));
      }
    }
    // Each lane is divided separately, because there is no vector division.
    float32x4_t real = vmulq_n_f32(vcvtq_f32_s32(sums), means.factor);
    for (int i = 0; i < 4; ++i) real[i] /= divisor;
    vstrbq_scatter_offset_p_s32(signed_bytes(out), outs, requantize(real), valid);
    from += 4 * row.stride;
    out += 4 * row.out_stride;
  }
}

void row_maxima(const WindowRow& row, const uint8_t* from, int32_t place, int32_t n, uint8_t* out, int64_t* indices) {
  const uint32x4_t lanes = lanes_of(row.stride), outs = lanes_of(row.out_stride), biases = vdupq_n_u32(row.bias);
  const uint32x4_t words = lanes_of(row.index_stride * static_cast<int32_t>(sizeof(int64_t)));
  int32x4_t first = vaddq_n_s32(vreinterpretq_s32_u32(lanes_of(row.step)), place);
  for (; n > 0; n -= 4) {
    const mve_pred16_t valid = vctp32q(static_cast<uint32_t>(n));
    int32x4_t best = vdupq_n_s32(-1), where = first;
    const uint8_t* line = from;
    int32_t line_place = 0;
    for (int32_t y = row.kernel_h; y > 0; --y) {
      const uint8_t* tap = line;
      int32_t shift = line_place;
      for (int32_t x = row.kernel_w; x > 0; --x) {
        const int32x4_t key = vreinterpretq_s32_u32(veorq_u32(vldrbq_gather_offset_z_u32(tap, lanes, valid), biases));
        const mve_pred16_t larger = vcmpgtq_s32(key, best);
        best = vpselq_s32(key, best, larger);
        where = vpselq_s32(vaddq_n_s32(first, shift), where, larger);
        tap += row.tap_stride;
        shift += row.tap_step;
      }
      line += row.row_stride;
      line_place += row.row_step;
    }
    const int32x4_t bytes = veorq_s32(vmaxq_s32(best, vdupq_n_s32(0)), vreinterpretq_s32_u32(biases));
    vstrbq_scatter_offset_p_s32(signed_bytes(out), outs, bytes, valid);
    auto* const halves = reinterpret_cast<int32_t*>(indices);
    vstrwq_scatter_offset_p_s32(halves, words, where, valid);
    vstrwq_scatter_offset_p_s32(halves + 1, words, vdupq_n_s32(0), valid);
    from += 4 * row.stride;
    first = vaddq_n_s32(first, 4 * row.step);
    out += 4 * row.out_stride;
    indices += 4 * row.index_stride;
  }
}

}  // namespace rushlight::microkernels::cortex_m

#endif  // RL_CORTEX_M_MVE
