#include <cstring>

#include "core/sha256.h"
#include "program/tables.h"
#include "rushlight/program/program.h"

namespace rushlight {
namespace {

constexpr std::string_view kDigestKey = "rushlight.sha256";
// The number of bytes that are read at once from a loader that copies.
constexpr size_t kPieceBytes = size_t{64} << 10;

}  // namespace

Error Program::verify_digest() const {
  const auto program = program_at(root_);
  for (const schema::NamedData item : program.named_data()) {
    if (item.key() != kDigestKey) continue;
    const schema::DataSegment segment = program.segments()[item.segment_index()];
    const uint64_t start = segment_base_ + segment.offset();
    RL_ASSIGN(const size_t file_size, loader_->size());
    RL_REQUIRE(segment.size() == Sha256::kDigestBytes && start + segment.size() == file_size, InvalidProgram,
               "the digest is not the last 32 bytes of the program, so it does not cover the whole file");
    Sha256 hash;
    const size_t end = static_cast<size_t>(start);
    for (size_t at = 0; at < end;) {
      const size_t size = end - at < kPieceBytes ? end - at : kPieceBytes;
      RL_ASSIGN(const FreeableBuffer piece, loader_->load(at, size, SegmentKind::Program));
      hash.update(piece.data(), size);
      at += size;
    }
    uint8_t computed[Sha256::kDigestBytes];
    hash.finish(computed);
    RL_ASSIGN(const FreeableBuffer stored, loader_->load(end, sizeof(computed), SegmentKind::Program));
    RL_REQUIRE(std::memcmp(stored.data(), computed, sizeof(computed)) == 0, InvalidProgram,
               "the bytes of the program do not match its digest: the file was changed after it was written");
    return Error::Ok;
  }
  return fail(Error::InvalidProgram,
              "the program contains no digest; compile it with digest=True (`rushlight compile --digest`)");
}

}  // namespace rushlight
