#include "backends/openvino/api.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "rushlight/backends/openvino.h"

namespace rushlight {
namespace {

std::atomic<OpenvinoLocator> locator{nullptr};

#if defined(__APPLE__)
constexpr const char* kName = "libopenvino_c.dylib";
#else
constexpr const char* kName = "libopenvino_c.so";
#endif

Error bind(void* library, const char* path, openvino::Api* api) {
#define RL_OPENVINO_BIND(result, name, arguments)                                                               \
  if (void* address = dlsym(library, #name)) {                                                                  \
    std::memcpy(&api->name, &address, sizeof(address));                                                         \
  } else {                                                                                                      \
    return fail(Error::NotSupported, "%.300s has no function %s: install OpenVINO 2024 or later", path, #name); \
  }
  RL_OPENVINO_FUNCTIONS(RL_OPENVINO_BIND)
#undef RL_OPENVINO_BIND
  return Error::Ok;
}

}  // namespace

void set_openvino_locator(OpenvinoLocator value) { locator.store(value); }

namespace openvino {

Result<const Api*> load_api() {
  static std::mutex mutex;
  static Api api;
  static bool is_loaded = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (is_loaded) return static_cast<const Api*>(&api);
  char found[1024];
  const char* path = std::getenv("OPENVINO_LIB_PATH");
  if (!path || !*path) {
    const OpenvinoLocator locate = locator.load();
    path = locate && locate(found, sizeof(found)) ? found : kName;
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  RL_REQUIRE(library, NotFound,
             "OpenVINO was not found (%.300s): run pip install 'rushlight[openvino]', or set OPENVINO_LIB_PATH to the "
             "path of %s",
             dlerror(), kName);
  RL_TRY(bind(library, path, &api));
  is_loaded = true;
  return static_cast<const Api*>(&api);
}

Error failure(const Api& api, Error code, const char* what) {
  const char* text = api.ov_get_last_err_msg();
  return fail(code, "OpenVINO cannot %s: %.400s", what, text ? text : "OpenVINO reports no reason");
}

}  // namespace openvino
}  // namespace rushlight
