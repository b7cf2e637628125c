#include "backends/openvino/payload.h"

#include <array>
#include <cstring>

namespace rushlight::openvino {
namespace {

constexpr size_t kHeader = 32;
constexpr size_t kAlignment = 64;

template <typename T>
T read(const uint8_t* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(bytes[i]) << (8 * i);
  return value;
}

// tables[k][byte]: the remainder of the byte followed by k zero bytes (slicing by 8; Kounavis and Berry, 2005).
using Tables = std::array<std::array<uint32_t, 256>, 8>;

Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0xEDB88320u : 0u);
    tables[0][byte] = value;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

uint32_t crc32(const uint8_t* data, size_t size) {
  static const Tables tables = make_tables();
  uint32_t crc = 0xFFFFFFFFu;
  for (; size >= 8; data += 8, size -= 8) {
    const uint64_t word = read<uint64_t>(data) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= tables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; size > 0; ++data, --size) crc = (crc >> 8) ^ tables[0][(crc ^ *data) & 0xFF];
  return ~crc;
}

}  // namespace

Result<Payload> read_payload(Span<const uint8_t> bytes) {
  Payload payload;
  if (bytes.size() < 4 || std::memcmp(bytes.data(), "RLOV", 4) != 0) {
    payload.is_exported = true;
    payload.xml = bytes;
    return payload;
  }
  RL_REQUIRE(bytes.size() >= kHeader, InvalidProgram, "the OpenVINO payload is shorter than its header");
  const uint32_t version = read<uint32_t>(bytes.data() + 4);
  RL_REQUIRE(version == 1, NotSupported, "the OpenVINO payload has version %u; this runtime supports only version 1",
             version);
  const uint32_t crc = crc32(bytes.data() + 12, bytes.size() - 12);
  RL_REQUIRE(crc == read<uint32_t>(bytes.data() + 8), InvalidProgram,
             "the OpenVINO payload is damaged: its CRC-32 is wrong");
  const uint64_t rest = bytes.size() - kHeader;
  const uint64_t xml = read<uint64_t>(bytes.data() + 16);
  const uint64_t weights = read<uint64_t>(bytes.data() + 24);
  RL_REQUIRE(xml <= rest, InvalidProgram, "the XML of the OpenVINO payload extends beyond its end");
  const uint64_t start = (kHeader + xml + kAlignment - 1) / kAlignment * kAlignment;
  RL_REQUIRE(start <= bytes.size() && weights == bytes.size() - start, InvalidProgram,
             "the weights of the OpenVINO payload extend beyond its end");
  payload.xml = {bytes.data() + kHeader, static_cast<size_t>(xml)};
  payload.weights = {bytes.data() + start, static_cast<size_t>(weights)};
  return payload;
}

}  // namespace rushlight::openvino
