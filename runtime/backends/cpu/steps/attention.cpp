// Scaled dot product attention. It computes the scores of a few queries at a time, which stay in the L1 cache.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/image.h"
#include "microkernels/gemm/f32_panels.h"

namespace rushlight::cpu {

namespace {

using microkernels::AttentionMasks;
using microkernels::AttentionTile;

// With at most this many queries, keys and values are read in place and not packed. The keys and values may then have
// two pieces, such as a cache and the rows of this call.
constexpr int64_t kFewQueries = 4;
// The maximum number of scores that are stored at a time, unless one tile has more.
constexpr int64_t kScoreFloats = 6 * 1024;

// Prefetches rows [first, last) of a head into the L2 cache.
void fetch(const View& view, const float* head, int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) {
    const float* const row = head + i * view.strides[2];
    for (int64_t j = 0; j < view.sizes[3]; j += 16) __builtin_prefetch(row + j, 0, 2);
  }
}

class AttentionStep final : public Step {
 public:
  Error bind(const schema::Attention& op, Binder& binder) {
    is_causal_ = op.is_causal();
    may_be_empty_ = op.may_be_empty();
    scale_ = op.scale();
    kernels_ = &binder.kernels();
    query_ = binder.input(op.query());
    key_ = key_pieces_[0] = binder.input(op.key());
    value_ = value_pieces_[0] = binder.input(op.value());
    key_pieces_[1] = binder.optional_input(op.key_tail());
    value_pieces_[1] = binder.optional_input(op.value_tail());
    pieces_ = key_pieces_[1] && value_pieces_[1] ? 2 : 1;
    masks_[0] = op.mask().has_value() ? binder.any_input(op.mask()) : nullptr;
    if (masks_[0]) masks_[1] = binder.optional_input(op.second_mask());
    out_ = binder.output(op.output());
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(have_matching_shapes() && (pieces_ == 1 || tails_match()), InvalidProgram,
               "the shapes or strides of the operands of an attention do not match");
    queries_ = query_->sizes[2];
    keys_ = key_->sizes[2] + (pieces_ == 2 ? key_pieces_[1]->sizes[2] : 0);
    depth_ = query_->sizes[3];
    width_ = value_->sizes[3];
    for (const View* mask : masks_) {
      RL_REQUIRE(mask == nullptr || is_mask(*mask), InvalidProgram,
                 "the shapes or strides of the operands of an attention do not match");
    }
    const int64_t rows = kernels_->gemm_rows;
    together_ = std::clamp<int64_t>(kScoreFloats / (rows * score_step()), 1, AttentionTile::kMaxRows / rows);
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    const int64_t heads = out_->sizes[0] * out_->sizes[1];
    if (out_->numel() == 0) return Error::Ok;
    if (keys_ == 0) {
      for (int64_t i = 0; i < heads * queries_; ++i) {
        std::fill_n(row(*out_, i / queries_, i % queries_), width_, 0.0f);
      }
      return Error::Ok;
    }
    const int64_t workers = work() / 2 < kSerialWork ? 1 : run.workers;
    if (queries_ <= kFewQueries) {
      for_workers(run.context, workers, heads, [&](int64_t worker, int64_t begin, int64_t end) {
        for (int64_t head = begin; head < end; ++head)
          attend_with_few_queries(head, run.scratch + worker * worker_floats());
      });
    } else {
      const int64_t tiles = tiles_of_head();
      microkernels::for_sharing_workers(run.context, workers, heads * tiles, tiles,
                                        [&](int64_t worker, int64_t begin, int64_t end) {
                                          attend_with_tiles(begin, end, run.scratch + worker * worker_floats());
                                        });
    }
    return Error::Ok;
  }

  const char* name() const override { return "attention"; }
  int64_t work() const override { return 2 * out_->sizes[0] * out_->sizes[1] * queries_ * keys_ * (depth_ + width_); }

 private:
  // The shapes are query [n, heads, queries, depth], key [n, shared, keys, depth], value [n, shared, keys, width] and
  // output [n, heads, queries, width]. `shared` divides `heads`. The last dimension is contiguous.
  bool have_matching_shapes() const {
    for (const View* view : {query_, key_, value_, out_, key_pieces_[1], value_pieces_[1]}) {
      if (view && (view->rank != 4 || (view->sizes[3] > 1 && view->strides[3] != 1))) return false;
    }
    const int64_t *query = query_->sizes, *key = key_->sizes, *value = value_->sizes, *out = out_->sizes;
    const int64_t heads = query[1], shared = key[1];
    return query[0] == out[0] && key[0] == out[0] && value[0] == out[0] && heads == out[1] && shared == value[1] &&
           (shared == 0 ? heads == 0 : heads % shared == 0) && query[2] == out[2] && key[2] == value[2] &&
           query[3] == key[3] && value[3] == out[3];
  }

  // Returns whether the second pieces have the shapes of the first pieces, except for the number of keys.
  bool tails_match() const {
    const int64_t *key = key_->sizes, *value = value_->sizes;
    const int64_t *key_tail = key_pieces_[1]->sizes, *value_tail = value_pieces_[1]->sizes;
    for (const int i : {0, 1, 3}) {
      if (key_tail[i] != key[i] || value_tail[i] != value[i]) return false;
    }
    return key_tail[2] == value_tail[2] && query_->sizes[2] <= kFewQueries;
  }

  // Returns whether a mask is float32 or bool [n, heads, queries, keys].
  bool is_mask(const View& mask) const {
    return mask.rank == 4 && std::equal(mask.sizes, mask.sizes + 3, query_->sizes) && mask.sizes[3] == keys_ &&
           (mask.dtype == ScalarType::Float || mask.dtype == ScalarType::Bool);
  }

  Packing packing() const { return packing_of(*kernels_); }
  int64_t tiles_of_head() const { return divide_up(queries_, kernels_->gemm_rows); }
  // Returns the floats from row to row of the scores. Padding avoids powers of two, with which the rows would use the
  // same cache sets.
  int64_t score_step() const { return round_up(keys_, 16) + 16; }
  // Returns the number of rows of scores and of masks in the scratch memory of a worker.
  int64_t score_rows() const { return std::max(together_ * kernels_->gemm_rows, kFewQueries); }
  int64_t key_floats() const { return round_up(packing().columns(keys_) * depth_, 16); }
  int64_t value_floats() const { return round_up(packing().columns(width_) * keys_, 16); }
  int64_t score_floats() const { return score_rows() * score_step(); }
  // The scratch memory of a worker: packed keys, packed values, scores, and converted masks.
  int64_t mask_floats(int index) const { return masks_[index] && !is_direct(index) ? score_floats() : 0; }
  int64_t worker_floats() const {
    return key_floats() + value_floats() + score_floats() + mask_floats(0) + mask_floats(1);
  }

  static float* row(const View& view, int64_t head, int64_t index) {
    return view.floats() + head / view.sizes[1] * view.strides[0] + head % view.sizes[1] * view.strides[1] +
           index * view.strides[2];
  }
  // Returns the index of the key and value head that a query head uses.
  int64_t shared_head(int64_t head) const {
    const int64_t heads = out_->sizes[1], shared = key_->sizes[1];
    return head / heads * shared + head % heads / (heads / shared);
  }

  // Packs the keys of a head, then its values.
  void pack(int64_t head, float* scratch) const {
    const int64_t panel = packing().panel, width = packing().vector;
    const float* keys = row(*key_, head, 0);
    for (int64_t j = 0; j < keys_; j += panel) {
      const int64_t columns = std::min(panel, keys_ - j);
      kernels_->pack_transposed(static_cast<int>(divide_up(columns, width)), keys + j * key_->strides[2],
                                key_->strides[2], depth_, columns, scratch + j * depth_);
    }
    float* to = scratch + key_floats();
    const float* values = row(*value_, head, 0);
    for (int64_t j = 0; j < width_; j += panel) {
      const int64_t columns = std::min(panel, width_ - j);
      kernels_->pack_rows(static_cast<int>(divide_up(columns, width)), values + j, value_->strides[2], keys_, columns,
                          to + j * keys_);
    }
  }

  // Whether the rows of mask `index` are used in place, without conversion.
  bool is_direct(int index) const {
    const View& mask = *masks_[index];
    return mask.dtype == ScalarType::Float && (mask.strides[3] == 1 || keys_ == 1);
  }

  // Returns the masks of `count` queries. Writes the strides between the masks of queries to `steps`, and masks that
  // must be converted to `scratch`.
  AttentionMasks masks_of(int64_t head, int64_t first, int64_t count, float* scratch, int64_t* steps) const {
    const bool has_bool_mask = masks_[0] && masks_[0]->dtype == ScalarType::Bool;
    AttentionMasks result{scale_, {}, may_be_empty_ || has_bool_mask};
    int used = 0;
    steps[0] = steps[1] = 0;
    for (int i = 0; i < 2 && masks_[i]; scratch += mask_floats(i++)) {
      const View& mask = *masks_[i];
      const int64_t at =
          head / mask.sizes[1] * mask.strides[0] + head % mask.sizes[1] * mask.strides[1] + first * mask.strides[2];
      if (is_direct(i)) {
        result.masks[used] = mask.floats() + at;
        steps[used++] = mask.strides[2];
        continue;
      }
      if (shows_all_keys(mask, at, count)) continue;
      for (int64_t r = 0; r < count; ++r) write_mask(mask, at + r * mask.strides[2], scratch + r * score_step());
      result.masks[used] = scratch;
      steps[used++] = score_step();
    }
    return result;
  }

  // Returns whether `count` queries see all keys, so that their mask has no effect. A mask of padding is often so.
  bool shows_all_keys(const View& mask, int64_t at, int64_t count) const {
    if (mask.dtype != ScalarType::Bool || mask.strides[3] != 1) return false;
    const uint8_t* from = static_cast<const uint8_t*>(mask.data) + at;
    for (int64_t r = 0; r < count; ++r, from += mask.strides[2]) {
      if (std::memchr(from, 0, static_cast<size_t>(keys_)) != nullptr) return false;
    }
    return true;
  }

  // Converts the mask of a query, whose first element is at the offset `at`. false becomes -infinity.
  void write_mask(const View& mask, int64_t at, float* to) const {
    if (mask.dtype == ScalarType::Float) {
      for (int64_t j = 0; j < keys_; ++j) to[j] = mask.floats()[at + j * mask.strides[3]];
    } else {
      const uint8_t* const from = static_cast<const uint8_t*>(mask.data) + at;
      // The compiler vectorizes the loop over adjacent elements.
      if (mask.strides[3] == 1) {
        for (int64_t j = 0; j < keys_; ++j) to[j] = mask_of(from[j]);
      } else {
        for (int64_t j = 0; j < keys_; ++j) to[j] = mask_of(from[j * mask.strides[3]]);
      }
    }
  }

  static float mask_of(uint8_t is_seen) { return is_seen ? 0.0f : -std::numeric_limits<float>::infinity(); }

  // Computes tiles [begin, end), counted over all heads.
  void attend_with_tiles(int64_t begin, int64_t end, float* scratch) const {
    float* const scores = scratch + key_floats() + value_floats();
    const int64_t tiles = tiles_of_head();
    for (int64_t at = begin, packed_head = -1; at < end;) {
      const int64_t head = at / tiles, tile = at - head * tiles;
      const int64_t source = shared_head(head);
      if (at == begin) fetch_head(head, 0, tiles);
      if (packed_head != source) pack(source, scratch);
      packed_head = source;
      const int64_t left = std::min(end - at, tiles - tile);
      const int64_t count = divide_up(left, divide_up(left, together_));
      if (end > (head + 1) * tiles) fetch_head(head + 1, tile, tile + count);
      run_tiles(head, queries_ * tile / tiles, queries_ * (tile + count) / tiles, scratch, scores);
      at += count;
    }
  }

  // Prefetches the rows for tiles [tile, last) of a head, because hardware prefetchers do not predict rows that are not
  // contiguous.
  void fetch_head(int64_t head, int64_t tile, int64_t last) const {
    const int64_t tiles = tiles_of_head(), source = shared_head(head), keys = key_->sizes[2];
    fetch(*key_, row(*key_, source, 0), keys * tile / tiles, keys * last / tiles);
    fetch(*value_, row(*value_, source, 0), keys * tile / tiles, keys * last / tiles);
    fetch(*query_, row(*query_, head, 0), queries_ * tile / tiles, queries_ * last / tiles);
  }

  // Computes queries [first, last) of a head, at most together_ tiles, from its packed keys and values.
  void run_tiles(int64_t head, int64_t first, int64_t last, const float* packed, float* scores) const {
    AttentionTile tile{};
    tile.queries = row(*query_, head, first);
    tile.query_step = query_->strides[2];
    tile.rows = last - first;
    tile.depth = depth_;
    tile.keys = keys_;
    tile.width = width_;
    tile.packed_keys = packed;
    tile.packed_values = packed + key_floats();
    tile.is_causal = is_causal_;
    tile.seen = is_causal_ ? first + 1 : keys_;
    tile.masks = masks_of(head, first, tile.rows, scores + score_floats(), tile.mask_steps);
    tile.scores = scores;
    tile.score_step = score_step();
    tile.out = row(*out_, head, first);
    tile.out_step = out_->strides[2];
    kernels_->packed->attention(tile);
  }

  // Computes all queries of a head without packing its keys and values.
  void attend_with_few_queries(int64_t head, float* scratch) const {
    const int64_t source = shared_head(head);
    int64_t steps[2];
    AttentionMasks masks = masks_of(head, 0, queries_, scratch + score_floats(), steps);
    std::fill_n(scratch, queries_ * score_step(), 0.0f);
    for (int64_t piece = 0, at = 0; piece < pieces_; at += key_pieces_[piece++]->sizes[2]) {
      const View& keys = *key_pieces_[piece];
      kernels_->add_dots(queries_, keys.sizes[2], depth_, row(*query_, head, 0), query_->strides[2],
                         row(keys, source, 0), keys.strides[2], scratch + at, score_step());
    }
    for (int64_t i = 0; i < queries_; ++i) {
      float* scores = scratch + i * score_step();
      const int64_t seen = is_causal_ ? std::min(keys_, i + 1) : keys_;
      const float factor = kernels_->packed->attention_share(masks, scores, seen);
      float* to = row(*out_, head, i);
      std::fill_n(to, width_, 0.0f);
      for (int64_t piece = 0, at = 0; piece < pieces_ && at < seen; at += key_pieces_[piece++]->sizes[2]) {
        const View& values = *value_pieces_[piece];
        kernels_->add_scaled_rows(std::min(values.sizes[2], seen - at), scores + at, row(values, source, 0),
                                  values.strides[2], width_, to);
      }
      kernels_->unary(microkernels::UnaryOp::Affine, to, to, width_, factor, -0.0f);
      for (int mask = 0; mask < 2; ++mask) {
        if (masks.masks[mask]) masks.masks[mask] += steps[mask];
      }
    }
  }

  bool is_causal_ = false;
  bool may_be_empty_ = false;
  float scale_ = 1;
  const microkernels::F32Microkernels* kernels_ = nullptr;
  const View* query_ = nullptr;
  const View* key_ = nullptr;
  const View* value_ = nullptr;
  // The keys and values of all pieces, one after the other. Piece 0 is key_ and value_.
  const View* key_pieces_[2] = {};
  const View* value_pieces_[2] = {};
  int64_t pieces_ = 1;
  const View* masks_[2] = {};
  const View* out_ = nullptr;
  int64_t queries_ = 0, keys_ = 0;  // keys_: of all pieces
  int64_t depth_ = 0, width_ = 0;   // numbers of a query or key, and of a value
  int64_t together_ = 1;            // tiles whose scores are stored at a time
};

}  // namespace

Result<Step*> make_step(const schema::Attention& op, Binder& binder) { return binder.bind<AttentionStep>(op); }

}  // namespace rushlight::cpu
