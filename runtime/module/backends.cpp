#include "rushlight/module/backends.h"

#include <algorithm>
#include <string>

#include "core/message.h"

namespace rushlight {
namespace {

#if defined(RUSHLIGHT_NO_MESSAGES)
const char* provision_of(std::string_view) { return ""; }
#else
struct Provision {
  std::string_view id;
  const char* text;
};

constexpr Provision kProvisions[] = {
    {"XnnpackBackend", "a build of Rushlight with its XNNPACK backend (-DRUSHLIGHT_BUILD_XNNPACK=ON)"},
    {"CpuBackend", "a build of Rushlight with its CPU backend"},
    {"OpenvinoBackend", "pip install 'rushlight[openvino]'"},
    {"CoreMLBackend", "ExecuTorch on an Apple device; for other machines lower with another partitioner"},
    {"MPSBackend", "ExecuTorch on an Apple device; for other machines lower with another partitioner"},
    {"QnnBackend", "ExecuTorch with Qualcomm's SDK; for other machines lower with another partitioner"},
    {"VulkanBackend", "ExecuTorch with Vulkan; for other machines lower with another partitioner"},
    {"EthosUBackend", "ExecuTorch on an Arm Ethos-U; for other machines lower with another partitioner"},
    {"NeutronBackend", "ExecuTorch on an NXP eIQ Neutron; for other machines lower with another partitioner"},
    {"CudaBackend", "ExecuTorch with CUDA; for other machines lower with another partitioner"},
};

const char* provision_of(std::string_view id) {
  for (const Provision& row : kProvisions) {
    if (row.id == id) return row.text;
  }
  return "a shared library that defines it with RUSHLIGHT_BACKEND_LIBRARY; load it with load_library before the method";
}
#endif

bool is_available(const Backend* row) { return row && row->backend->is_available(); }

}  // namespace

std::vector<MissingBackend> missing_backends(const MethodMeta& meta, BackendTable backends) {
  std::vector<MissingBackend> missing;
  for (size_t i = 0; i < meta.num_backends(); ++i) {
    const std::string_view id = meta.backend_name(i).get();
    const Backend* row = find_backend(backends, id);
    clear_last_error_message();
    if (is_available(row)) continue;
    const char* reason = last_error_message();
    if (row && !*reason) reason = "the backend cannot run on this machine";
    const auto is_same = [id](const MissingBackend& other) { return other.id == id; };
    if (std::any_of(missing.begin(), missing.end(), is_same)) continue;
    missing.push_back({id, row != nullptr, row ? reason : provision_of(id)});
  }
  return missing;
}

Error require_backends(const MethodMeta& meta, BackendTable backends) {
  size_t first = 0;  // the first missing backend
  while (first < meta.num_backends() && is_available(find_backend(backends, meta.backend_name(first).get()))) ++first;
  if (first == meta.num_backends()) return Error::Ok;
  if (!kHasMessages) return Error::NotFound;
  const std::vector<MissingBackend> missing = missing_backends(meta, backends);
  std::string text;
  for (const MissingBackend& backend : missing) {
    text += text.empty() ? "" : "; ";
    text += std::string(backend.id) + " (" + backend.provision + ")";
  }
  return fail(Error::NotFound, "method '%.40s' needs backends that are missing here: %.440s", meta.name().data(),
              text.c_str());
}

}  // namespace rushlight
