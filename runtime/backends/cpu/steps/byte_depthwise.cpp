// Depthwise convolutions over int8.
#include "kernels/optimized/pixels/byte_depthwise.h"

#include "backends/cpu/bytes.h"

namespace rushlight::cpu {

namespace {

using optimized::PackedByteDepthwise;

// values: input [n, h, w, c], weights int8 [kh, kw, c], offsets or none, multipliers, output, all by channel as in an
// 8-bit product. ints: window (8), zero point of the input, range of the output. The input lies in the arena, since up
// to 15 bytes behind it are read.
class ByteDepthwiseStep final : public Step {
 public:
  Error bind(Binder& binder) {
    PackedByteDepthwise& c = convolution_;
    c.window = read_window(binder, 0);
    c.zero = read_zero(binder, 8);
    c.range = read_range(binder, 9);
    in_ = binder.input_of(0, ScalarType::Char);
    out_ = binder.output_of(4, ScalarType::Char);
    RL_TRY(binder.error());
    RL_REQUIRE(binder.is_arena(0) && in_->rank == 4 && c.taps() <= PackedByteDepthwise::kMostTaps, InvalidProgram,
               "operands of an 8-bit depthwise convolution do not fit");
    c.channels = in_->sizes[3];
    const int8_t* const filters = binder.bytes(1, c.taps() * c.channels);
    c.offsets = binder.optional_constant(2, c.channels);
    c.multipliers = binder.constant(3, c.channels);
    uint8_t* const packed = binder.array<uint8_t>(c.packed_bytes());
    RL_TRY(binder.error());
    c.pack(filters, packed);
    return Error::Ok;
  }

  Error prepare() override {
    RL_TRY(require_images(*in_, *out_));
    RL_REQUIRE(in_->sizes[3] == convolution_.channels && out_->sizes[3] == convolution_.channels, InvalidProgram,
               "an 8-bit depthwise convolution has the wrong channels");
    RL_REQUIRE(convolution_.prepare(in_->sizes, out_->sizes), InvalidProgram,
               "an 8-bit depthwise convolution is too wide");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>(workers) * worker_bytes() / sizeof(float);
  }

  Error run(Run& run) override {
    uint8_t* const scratch = reinterpret_cast<uint8_t*>(run.scratch);
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, convolution_.rows(), [&](int64_t worker, int64_t begin, int64_t end) {
      convolution_.run(static_cast<const int8_t*>(in_->data), static_cast<uint8_t*>(out_->data), begin, end,
                       scratch + static_cast<size_t>(worker) * worker_bytes());
    });
    return Error::Ok;
  }

  const char* name() const override { return "8-bit depthwise convolution"; }
  int64_t work() const override { return 2 * out_->numel() * convolution_.taps(); }

 private:
  size_t worker_bytes() const { return convolution_.worker_bytes(out_->sizes[2]); }

  PackedByteDepthwise convolution_;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_byte_depthwise(Binder& binder) {
  ByteDepthwiseStep* step = binder.make<ByteDepthwiseStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
