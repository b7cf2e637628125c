// Statistics of group normalization for channels-last images: it computes the scale and the shift of each channel.
#include <algorithm>
#include <cmath>

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kMaxChunks = 16;         // chunks of an image's pixels, for any number of workers
constexpr int64_t kMinChunk = 1 << 13;     // floats
constexpr int64_t kBlockFloats = 1 << 12;  // floats of a block of pixels, which is read twice

class GroupNormStatisticsStep final : public Step {
 public:
  Error bind(const schema::GroupNormStatistics& op, Binder& binder) {
    channels_ = op.channels();
    groups_ = op.groups();
    epsilon_ = op.epsilon();
    kernels_ = &binder.kernels();
    view_ = binder.input(op.input());
    weight_ = binder.optional_constant(op.weight(), channels_);
    bias_ = binder.optional_constant(op.bias(), channels_);
    scale_ = binder.output(op.scale());
    shift_ = binder.output(op.shift());
    RL_TRY(binder.error());
    RL_REQUIRE(channels_ % groups_ == 0, InvalidProgram,
               "%lld channels cannot be divided into %lld groups of equal size", static_cast<long long>(channels_),
               static_cast<long long>(groups_));
    return Error::Ok;
  }

  Error prepare() override {
    RL_ASSIGN(in_, image_of(*view_));
    RL_REQUIRE(in_.sizes[3] == channels_ && in_.has_channels_last() &&
                   (in_.sizes[1] == 1 || in_.strides[1] == in_.sizes[2] * in_.strides[2]),
               InvalidProgram, "the input of a group normalization is not channels-last");
    for (const View* view : {scale_, shift_}) {
      RL_REQUIRE(view->rank == 2 && view->sizes[0] == in_.sizes[0] && view->sizes[1] == channels_ &&
                     (channels_ == 1 || view->strides[1] == 1) &&
                     (view->sizes[0] == 1 || view->strides[0] == channels_),
                 InvalidProgram, "the shapes of the results of a group normalization do not match its input");
    }
    pixels_ = in_.sizes[1] * in_.sizes[2];
    chunks_ = std::clamp<int64_t>(pixels_ * channels_ / kMinChunk, 1, std::clamp<int64_t>(pixels_, 1, kMaxChunks));
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>((in_.sizes[0] * chunks_ * 2 + workers * 2) * channels_);
  }

  Error run(Run& run) override {
    if (pixels_ == 0) return Error::Ok;
    in_.data = view_->floats();
    float* buffers = run.scratch + in_.sizes[0] * chunks_ * 2 * channels_;
    for_workers(run.context, in_.numel() < kSerialWork ? 1 : run.workers, in_.sizes[0] * chunks_,
                [&](int64_t worker, int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    compute_chunk(i / chunks_, i % chunks_, run.scratch + i * 2 * channels_,
                                  buffers + worker * 2 * channels_);
                  }
                });
    for (int64_t image = 0; image < in_.sizes[0]; ++image) {
      finish(run.scratch + image * chunks_ * 2 * channels_, scale_->floats() + image * channels_,
             shift_->floats() + image * channels_);
    }
    return Error::Ok;
  }

  const char* name() const override { return "group norm statistics"; }
  int64_t work() const override { return 4 * in_.numel(); }

 private:
  // Returns the first pixel of a chunk.
  int64_t begin_of(int64_t chunk) const { return pixels_ * chunk / chunks_; }

  // Computes the mean and the sum of squared deviations of each channel over a chunk's pixels, and writes them to
  // `means` [2, channels]. `buffer` [2, channels] is for the same numbers of a block.
  void compute_chunk(int64_t image, int64_t index, float* means, float* buffer) const {
    float* deviations = means + channels_;
    float* sums = buffer + channels_;
    const int64_t first = begin_of(index), last = begin_of(index + 1), step = in_.strides[2];
    const int64_t block = std::max<int64_t>(8, kBlockFloats / channels_);
    for (int64_t at = first; at < last; at += block) {
      const int64_t rows = std::min(block, last - at);
      const float* x = in_.data + image * in_.strides[0] + at * step;
      std::fill_n(buffer, channels_, 0.0f);
      std::fill_n(sums, channels_, 0.0f);
      kernels_->reduce_rows(microkernels::BinaryOp::Add, x, step, rows, buffer, channels_);
      const float share = 1.0f / static_cast<float>(rows);
      for (int64_t c = 0; c < channels_; ++c) buffer[c] *= share;
      for (int64_t i = 0; i < rows; ++i) add_squares(x + i * step, buffer, sums);
      merge_block(static_cast<float>(at - first), static_cast<float>(rows), buffer, sums, means, deviations);
    }
  }

  void add_squares(const float* __restrict x, const float* __restrict mean, float* __restrict sums) const {
    for (int64_t c = 0; c < channels_; ++c) {
      const float difference = x[c] - mean[c];
      sums[c] += difference * difference;
    }
  }

  // Adds a block of `rows` pixels to the means and sums of squared deviations of `before` pixels. Source: Chan,
  // Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
  void merge_block(float before, float rows, const float* __restrict block_means, const float* __restrict block_sums,
                   float* __restrict means, float* __restrict sums) const {
    if (before == 0.0f) {
      std::copy_n(block_means, channels_, means);
      std::copy_n(block_sums, channels_, sums);
      return;
    }
    const float share = rows / (before + rows), weight = before * share;
    for (int64_t c = 0; c < channels_; ++c) {
      const float difference = block_means[c] - means[c];
      means[c] += difference * share;
      sums[c] += block_sums[c] + difference * difference * weight;
    }
  }

  // Combines the statistics of all chunks and of the channels of each group to the scale and shift [channels] of an
  // image.
  void finish(const float* chunks, float* scale, float* shift) const {
    const int64_t width = channels_ / groups_;
    const double count = static_cast<double>(pixels_) * static_cast<double>(width);
    for (int64_t first = 0; first < channels_; first += width) {
      double mean = 0;
      for_each_channel(chunks, first, width, [&](double rows, double m, double) { mean += rows / count * m; });
      double squares = 0;
      for_each_channel(chunks, first, width,
                       [&](double rows, double m, double sum) { squares += sum + rows * (m - mean) * (m - mean); });
      const double inverse = 1.0 / std::sqrt(squares / count + static_cast<double>(epsilon_));
      for (int64_t c = first; c < first + width; ++c) {
        const double factor = weight_ ? inverse * static_cast<double>(weight_[c]) : inverse;
        scale[c] = static_cast<float>(factor);
        shift[c] = static_cast<float>((bias_ ? static_cast<double>(bias_[c]) : 0.0) - mean * factor);
      }
    }
  }

  // Calls the function with the number of pixels, the mean and the sum of squared deviations of each chunk and of each
  // of its channels [first, first + width).
  template <typename F>
  void for_each_channel(const float* chunks, int64_t first, int64_t width, const F& function) const {
    for (int64_t i = 0; i < chunks_; ++i) {
      const double rows = static_cast<double>(begin_of(i + 1) - begin_of(i));
      const float* means = chunks + i * 2 * channels_ + first;
      for (int64_t c = 0; c < width; ++c) {
        function(rows, static_cast<double>(means[c]), static_cast<double>(means[channels_ + c]));
      }
    }
  }

  int64_t groups_ = 1, channels_ = 1, pixels_ = 0, chunks_ = 1;
  float epsilon_ = 0;
  const microkernels::F32Microkernels* kernels_ = nullptr;
  const float* weight_ = nullptr;
  const float* bias_ = nullptr;
  const View* view_ = nullptr;
  const View* scale_ = nullptr;
  const View* shift_ = nullptr;
  Image in_;
};

}  // namespace

Result<Step*> make_step(const schema::GroupNormStatistics& op, Binder& binder) {
  return binder.bind<GroupNormStatisticsStep>(op);
}

}  // namespace rushlight::cpu
