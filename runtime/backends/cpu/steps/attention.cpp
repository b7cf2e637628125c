// Scaled dot product attention: a few rows of scores at a time, which never leave the first level cache.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/image.h"
#include "kernels/optimized/pixels/panels.h"

namespace rushlight::cpu {

namespace {

// Queries for which keys and values are read as they are, and not packed.
constexpr int64_t kFewQueries = 4;
// Scores that are held at a time, if these are several tiles' at all.
constexpr int64_t kScoreFloats = 6 * 1024;
constexpr int64_t kMostRows = 64;

// values: query [b, h, t, d], key [b, g, s, d], value [b, g, s, e], mask [b, h, t, s] (float32: added; bool: where to
// look), keys and values behind these [b, g, r, d], [b, g, r, e] or none (or five values in all), output [b, h, t, e];
// h is a multiple of g. For keys in two pieces there are a few queries alone. ints: whether a query sees keys up to its
// own place alone. floats: scale. Last dimensions are contiguous, but for the mask.
class AttentionStep final : public Step {
 public:
  Error bind(Binder& binder) {
    is_causal_ = binder.integer(0, 0, 1) != 0;
    scale_ = binder.number(0);
    tiles_ = &binder.tiles();
    query_ = binder.input(0);
    key_ = binder.input(1);
    value_ = binder.input(2);
    mask_ = binder.has(3) ? binder.any_input(3) : nullptr;
    if (binder.value_count() > 5) {
      key_pieces_[1] = binder.optional_input(4);
      value_pieces_[1] = binder.optional_input(5);
      out_ = binder.output(6);
    } else {
      out_ = binder.output(4);
    }
    key_pieces_[0] = key_;
    value_pieces_[0] = value_;
    pieces_ = key_pieces_[1] && value_pieces_[1] ? 2 : 1;
    return binder.error();
  }

  Error prepare() override {
    const View &q = *query_, &k = *key_, &v = *value_, &out = *out_;
    bool fits = q.rank == 4 && k.rank == 4 && v.rank == 4 && out.rank == 4;
    fits = fits && q.sizes[0] == out.sizes[0] && k.sizes[0] == out.sizes[0] && v.sizes[0] == out.sizes[0] &&
           q.sizes[1] == out.sizes[1] && k.sizes[1] == v.sizes[1] && k.sizes[1] > 0 && q.sizes[1] % k.sizes[1] == 0 &&
           q.sizes[2] == out.sizes[2] && k.sizes[2] == v.sizes[2] && q.sizes[3] == k.sizes[3] &&
           v.sizes[3] == out.sizes[3];
    for (const View* view : {query_, key_, value_, out_, key_pieces_[1], value_pieces_[1]}) {
      fits = fits && (view == nullptr || (view->rank == 4 && (view->sizes[3] <= 1 || view->strides[3] == 1)));
    }
    keys_ = fits ? k.sizes[2] : 0;
    if (pieces_ == 2 && fits) {
      const View &tail = *key_pieces_[1], &values = *value_pieces_[1];
      for (int i = 0; i < 4; ++i) {
        fits = fits && (i == 2 ? tail.sizes[i] == values.sizes[i] && q.sizes[i] <= kFewQueries
                               : tail.sizes[i] == k.sizes[i] && values.sizes[i] == v.sizes[i]);
      }
      keys_ += tail.sizes[2];
    }
    if (mask_) {
      fits = fits && mask_->rank == 4 && mask_->sizes[3] == keys_ &&
             (mask_->dtype == ScalarType::Float || mask_->dtype == ScalarType::Bool);
      for (int i = 0; i < 3; ++i) fits = fits && mask_->sizes[i] == q.sizes[i];
    }
    RL_REQUIRE(fits, InvalidProgram, "operands of an attention do not fit");
    queries_ = q.sizes[2];
    depth_ = q.sizes[3];
    width_ = v.sizes[3];
    rows_ = tiles_->gemm_rows;
    rows_ *= std::clamp<int64_t>(kScoreFloats / (rows_ * score_step()), 1, kMostRows / rows_);
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    const int64_t heads = out_->sizes[0] * out_->sizes[1];
    if (out_->numel() == 0) return Error::Ok;
    if (keys_ == 0) {
      for (int64_t i = 0; i < heads * queries_; ++i) {
        std::fill_n(row(*out_, i / queries_, i % queries_), width_, std::numeric_limits<float>::quiet_NaN());
      }
      return Error::Ok;
    }
    const int64_t groups = divide_up(queries_, rows_);
    const int64_t workers = work() / 2 < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, heads * groups, [&](int64_t worker, int64_t begin, int64_t end) {
      float* scratch = run.scratch + worker * worker_floats();
      int64_t packed = -1;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t head = i / groups, group = i % groups;
        const int64_t first = queries_ * group / groups;
        const int64_t count = queries_ * (group + 1) / groups - first;
        if (queries_ > kFewQueries) {
          const int64_t source = shared_head(head);
          if (packed != source) pack(source, scratch);
          packed = source;
          tile(head, first, static_cast<int>(count), scratch);
        } else {
          few(head, first, count, scratch);
        }
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "attention"; }
  int64_t work() const override { return 2 * out_->sizes[0] * out_->sizes[1] * queries_ * keys_ * (depth_ + width_); }

 private:
  Packing packing() const { return packing_of(*tiles_); }
  int64_t score_step() const { return round_up(keys_, 16) + 16; }
  int64_t key_floats() const { return round_up(packing().columns(keys_) * depth_, 16); }
  int64_t value_floats() const { return round_up(packing().columns(width_) * keys_, 16); }
  int64_t score_floats() const { return round_up(std::max(rows_, kFewQueries) * score_step(), 16); }
  int64_t worker_floats() const {
    return key_floats() + value_floats() + score_floats() + (scales_first() ? round_up(rows_ * depth_, 16) : 0);
  }

  static float* row(const View& view, int64_t head, int64_t index) {
    return view.floats() + head / view.sizes[1] * view.strides[0] + head % view.sizes[1] * view.strides[1] +
           index * view.strides[2];
  }
  // Of keys and values, for a head of queries.
  int64_t shared_head(int64_t head) const {
    const int64_t heads = out_->sizes[1], shared = key_->sizes[1];
    return head / heads * shared + head % heads / (heads / shared);
  }

  void pack(int64_t head, float* scratch) const {
    const int64_t panel = packing().panel, width = packing().vector;
    const float* keys = row(*key_, head, 0);
    for (int64_t j = 0; j < keys_; j += panel) {
      const int64_t columns = std::min(panel, keys_ - j);
      tiles_->pack_transposed(static_cast<int>(divide_up(columns, width)), keys + j * key_->strides[2],
                              key_->strides[2], depth_, columns, scratch + j * depth_);
    }
    float* to = scratch + key_floats();
    const float* values = row(*value_, head, 0);
    for (int64_t j = 0; j < width_; j += panel) {
      const int64_t columns = std::min(panel, width_ - j);
      tiles_->pack_rows(static_cast<int>(divide_up(columns, width)), values + j, value_->strides[2], keys_, columns,
                        to + j * keys_);
    }
  }

  // Whether scores are scaled before exponentials are.
  bool scales_first() const { return mask_ != nullptr || !(scale_ > 0); }

  // Scores (scaled ones if scales_first()) to shares, all of which are to be multiplied by the result.
  float share(int64_t head, int64_t query, float* scores) const {
    if (mask_) {
      const int64_t at = head / mask_->sizes[1] * mask_->strides[0] + head % mask_->sizes[1] * mask_->strides[1] +
                         query * mask_->strides[2];
      if (mask_->dtype == ScalarType::Float) {
        const float* mask = mask_->floats() + at;
        for (int64_t j = 0; j < keys_; ++j) scores[j] += mask[j * mask_->strides[3]];
      } else {
        const uint8_t* mask = static_cast<const uint8_t*>(mask_->data) + at;
        for (int64_t j = 0; j < keys_; ++j) {
          if (!mask[j * mask_->strides[3]]) scores[j] = -std::numeric_limits<float>::infinity();
        }
      }
    }
    const int64_t seen = is_causal_ ? std::min(keys_, query + 1) : keys_;
    if (mask_ && mask_->dtype == ScalarType::Bool && tiles_->extreme(true, scores, seen) == -kInfinity) {
      std::fill_n(scores, keys_, 0.0f);  // a query that may look nowhere sees nothing
      return 1.0f;
    }
    const float total = tiles_->packed->exponentials(scores, scales_first() ? 1.0f : scale_, scores, seen);
    std::fill_n(scores + seen, keys_ - seen, 0.0f);
    return 1.0f / total;
  }

  void tile(int64_t head, int64_t first, int count, float* scratch) const {
    float* scores = scratch + key_floats() + value_floats();
    float* scaled = scores + score_floats();
    const float* rows[kMostRows];
    float shares[kMostRows];
    for (int i = 0; i < count; ++i) {
      rows[i] = row(*query_, head, first + i);
      if (!scales_first()) continue;
      tiles_->unary(tiles::UnaryOp::Affine, rows[i], scaled + i * depth_, depth_, scale_, -0.0f);
      rows[i] = scaled + i * depth_;
    }
    optimized::Panels p{};
    p.tiles = tiles_;
    p.rows = rows;
    p.row_step = p.m = count;
    p.taps = 1;
    p.k = depth_;
    p.n = keys_;
    p.b = scratch;
    p.c = scores;
    p.c_step = score_step();
    multiply(p, 0, divide_up(keys_, packing().panel));
    for (int i = 0; i < count; ++i) {
      shares[i] = share(head, first + i, scores + i * score_step());
      rows[i] = scores + i * score_step();
    }
    p.k = keys_;
    p.n = width_;
    p.b = scratch + key_floats();
    p.c = row(*out_, head, first);
    p.c_step = out_->strides[2];
    multiply(p, 0, divide_up(width_, packing().panel));
    for (int i = 0; i < count; ++i) scale(p.c + i * p.c_step, shares[i]);
  }

  void scale(float* values, float factor) const {
    tiles_->unary(tiles::UnaryOp::Affine, values, values, width_, factor, -0.0f);
  }

  void few(int64_t head, int64_t first, int64_t count, float* scratch) const {
    const int64_t source = shared_head(head);
    std::fill_n(scratch, count * score_step(), 0.0f);
    for (int64_t piece = 0, at = 0; piece < pieces_; at += key_pieces_[piece++]->sizes[2]) {
      const View& keys = *key_pieces_[piece];
      tiles_->add_dots(count, keys.sizes[2], depth_, row(*query_, head, first), query_->strides[2],
                       row(keys, source, 0), keys.strides[2], scratch + at, score_step());
    }
    for (int64_t i = 0; i < count; ++i) {
      float* scores = scratch + i * score_step();
      if (scales_first()) tiles_->unary(tiles::UnaryOp::Affine, scores, scores, keys_, scale_, -0.0f);
      const float factor = share(head, first + i, scores);
      float* to = row(*out_, head, first + i);
      std::fill_n(to, width_, 0.0f);
      for (int64_t piece = 0, at = 0; piece < pieces_; at += value_pieces_[piece++]->sizes[2]) {
        const View& values = *value_pieces_[piece];
        tiles_->add_scaled_rows(values.sizes[2], scores + at, row(values, source, 0), values.strides[2], width_, to);
      }
      scale(to, factor);
    }
  }

  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool is_causal_ = false;
  float scale_ = 1;
  const tiles::Tiles* tiles_ = nullptr;
  const View* query_ = nullptr;
  const View* key_ = nullptr;
  const View* value_ = nullptr;
  const View* key_pieces_[2] = {};
  const View* value_pieces_[2] = {};
  int64_t pieces_ = 1;
  const View* mask_ = nullptr;
  const View* out_ = nullptr;
  int64_t queries_ = 0, keys_ = 0, depth_ = 0, width_ = 0;
  int64_t rows_ = 1;  // of scores that are held at a time
};

}  // namespace

Result<Step*> make_attention(Binder& binder) {
  AttentionStep* step = binder.make<AttentionStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
