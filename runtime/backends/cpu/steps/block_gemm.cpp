#include "backends/cpu/image.h"
#include "microkernels/conv/f32.h"
#include "microkernels/gemm/block.h"

namespace rushlight::cpu {

namespace {

// A GEMM with weights in int16 blocks. On processors where float32 products are faster than int16 products, the weights
// are converted to float32 at load. The pixels of each operand must have a constant stride.
class BlockGemmStep final : public Step {
 public:
  Error bind(const schema::BlockGemm& op, Binder& binder) {
    const int64_t k = op.channels(), n = op.outputs();
    const microkernels::Epilogue epilogue = binder.epilogue(op.epilogue());
    const float* const bias = binder.packed_bias(op.bias(), 1, n);
    const microkernels::BlockMatrix matrix = binder.block_matrix(op.weight(), op.blocks(), k, n);
    in_ = binder.input(op.input());
    residual_ = binder.optional_input(op.residual());
    out_ = binder.output(op.output());
    RL_TRY(binder.error());
    blocks_.blocks = binder.packs_as_planned() ? microkernels::block_microkernels(binder.kernels()) : nullptr;
    if (blocks_.blocks) {
      blocks_.kernels = &binder.kernels();
      blocks_.weights = matrix;
      blocks_.bias = bias;
      blocks_.epilogue = epilogue;
      return Error::Ok;
    }
    floats_.kernels = &binder.kernels();
    floats_.window = {1, 1, 1, 1, 0, 0, 1, 1};
    floats_.channels = k;
    floats_.outputs = n;
    floats_.epilogue = epilogue;
    floats_.weights = binder.to_float32(matrix);
    floats_.bias = bias;
    floats_.zeros = padding_pixel(binder, k);
    return binder.error();
  }

  Error prepare() override {
    RL_ASSIGN(const Image in, image_of(*in_));
    RL_ASSIGN(const Image out, image_of(*out_));
    Image residual;
    if (residual_) {
      RL_ASSIGN(const Image given, image_of(*residual_));
      residual = given;
    }
    if (blocks_.blocks == nullptr) return floats_.prepare(in, out, residual_ ? &residual : nullptr);
    RL_REQUIRE(in.sizes[3] == blocks_.weights.k && out.sizes[3] == blocks_.weights.n &&
                   std::equal(in.sizes, in.sizes + 3, out.sizes) &&
                   (!residual_ || std::equal(out.sizes, out.sizes + 4, residual.sizes)),
               InvalidProgram, "the shapes of the operands of a GEMM do not match its weights");
    int64_t in_step = 0, out_step = 0, residual_step = 0;
    RL_REQUIRE(in.has_pixel_step(&in_step) && in.has_channels_last() && out.has_pixel_step(&out_step) &&
                   out.has_channels_last() && residual.has_pixel_step(&residual_step) && residual.has_channels_last(),
               InvalidProgram, "the pixels of an operand of a GEMM do not have a constant stride");
    blocks_.prepare(out.sizes[0] * out.sizes[1] * out.sizes[2], in_step, out_step, residual_step);
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return blocks_.blocks ? blocks_.scratch_floats(workers) : floats_.scratch_floats(workers);
  }

  Error run(Run& run) override {
    const float* const in = in_->floats();
    const float* const residual = residual_ ? residual_->floats() : nullptr;
    if (blocks_.blocks) {
      blocks_.run(run.context, run.workers, in, out_->floats(), residual, run.scratch, run.next);
    } else {
      floats_.run(run.context, run.workers, &in, out_->floats(), residual, run.scratch, run.next);
    }
    return Error::Ok;
  }
  microkernels::FirstWeights first_weights(int64_t workers) const override {
    return blocks_.blocks ? blocks_.first_weights(workers) : floats_.first_weights(workers);
  }

  const char* name() const override { return blocks_.blocks ? "int16 block GEMM" : "GEMM"; }
  int64_t work() const override { return blocks_.blocks ? blocks_.work() : floats_.work(); }

 private:
  microkernels::BlockGemm blocks_;  // if it has no microkernels, floats_ is used instead
  microkernels::PackedConvolution floats_;
  const View* in_ = nullptr;
  const View* residual_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::BlockGemm& op, Binder& binder) { return binder.bind<BlockGemmStep>(op); }

}  // namespace rushlight::cpu
