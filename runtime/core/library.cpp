#include "rushlight/core/library.h"

#include "core/message.h"

namespace rushlight {

void connect_library(const LibraryHost* host) noexcept {
  if (host->message_size >= kMessageSize) set_message_buffer(host->message_buffer);
}

const LibraryHost& library_host() noexcept {
  static const LibraryHost host{message_buffer(), kMessageSize};
  return host;
}

}  // namespace rushlight
