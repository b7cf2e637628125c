#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/message.h"
#include "executorch/devtools/bundled_program/bundled_program.h"
#include "executorch/devtools/etdump/etdump_flatcc.h"
#include "executorch/extension/evalue_util/print_evalue.h"
#include "executorch/extension/runner_util/inputs.h"
#include "executorch/runtime/core/exec_aten/util/scalar_type_util.h"
#include "rushlight/exec/bundled_test.h"
#include "rushlight/module/module.h"
#include "rushlight/module/tensor_ptr.h"
#include "rushlight/program/bundled_program.h"

namespace executorch {

using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Tag;

namespace extension {

BufferCleanup::~BufferCleanup() {
  for (void* buffer : buffers_) std::free(buffer);
  std::free(buffers_.data());
}

Result<BufferCleanup> prepare_input_tensors(runtime::Method& method, PrepareInputTensorsOptions options,
                                            const std::vector<std::pair<char*, size_t>>& input_buffers) {
  const runtime::MethodMeta meta = method.method_meta();
  const size_t count = meta.num_inputs();
  ET_CHECK_OR_RETURN_ERROR(count <= options.max_inputs, InvalidProgram, "the method has %zu inputs; the maximum is %zu",
                           count, options.max_inputs);
  ET_CHECK_OR_RETURN_ERROR(input_buffers.empty() || input_buffers.size() == count, InvalidArgument,
                           "the method has %zu input%s, but %zu input buffer%s given", count,
                           ::rushlight::plural(count), input_buffers.size(),
                           input_buffers.size() == 1 ? " is" : "s are");
  void** pieces = static_cast<void**>(std::calloc(count + 1, sizeof(void*)));
  ET_CHECK_OR_RETURN_ERROR(pieces, MemoryAllocationFailed, "no memory for the list of inputs");
  BufferCleanup cleanup(runtime::Span<void*>(pieces, count));
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    RL_ASSIGN(const Tag tag, meta.input_tag(i));
    if (tag != Tag::Tensor) {
      RL_TRY(method.set_input(EValue(method.get_input(i)), i));
      continue;
    }
    RL_ASSIGN(const runtime::TensorInfo info, meta.input_tensor_meta(i));
    total += info.nbytes();
    ET_CHECK_OR_RETURN_ERROR(total <= options.max_total_allocation_size, InvalidProgram,
                             "the inputs have more than %zu bytes", options.max_total_allocation_size);
    pieces[i] = std::malloc(info.nbytes() + 1);
    ET_CHECK_OR_RETURN_ERROR(pieces[i], MemoryAllocationFailed, "no memory for the %zu bytes of input %zu",
                             info.nbytes(), i);
    ::rushlight::TensorPtr tensor =
        ::rushlight::make_tensor_ptr({info.sizes().begin(), info.sizes().end()}, pieces[i],
                                     {info.dim_order().begin(), info.dim_order().end()}, {}, info.scalar_type());
    if (!tensor) return runtime::internal::log_error(Error::InvalidProgram);
    if (!input_buffers.empty()) {
      ET_CHECK_OR_RETURN_ERROR(input_buffers[i].second == info.nbytes(), InvalidArgument,
                               "input %zu has %zu bytes, but %zu are given", i, info.nbytes(), input_buffers[i].second);
      std::memcpy(pieces[i], input_buffers[i].first, info.nbytes());
    } else {
      const ::rushlight::TensorPtr ones =
          ::rushlight::ones({info.sizes().begin(), info.sizes().end()}, info.scalar_type());
      if (!ones) return runtime::internal::log_error(Error::NotSupported);
      std::memcpy(pieces[i], ones->const_data_ptr(), info.nbytes());
    }
    RL_TRY(method.set_input(EValue(*tensor), i));
  }
  return cleanup;
}

namespace {

int edge_items_slot() {
  static const int slot = std::ios_base::xalloc();
  return slot;
}

constexpr long kEdgeItems = 3;

template <typename Print>
void print_list(std::ostream& stream, size_t count, const Print& print) {
  const long stored = stream.iword(edge_items_slot());
  const auto edge = static_cast<size_t>(stored > 0 ? stored : kEdgeItems);
  stream << "[";
  for (size_t i = 0; i < count; ++i) {
    if (count > 2 * edge && i == edge) {
      stream << ", ...";
      i = count - edge;
    }
    if (i > 0) stream << ", ";
    print(i);
  }
  stream << "]";
}

void print_double(std::ostream& stream, double value) {
  stream << value;
  if (std::isfinite(value) && value == std::floor(value) && std::fabs(value) < 1e6) stream << ".";
}

void print_tensor(std::ostream& stream, const aten::Tensor& tensor) {
  stream << "tensor(sizes=";
  print_list(stream, tensor.sizes().size(), [&](size_t i) { stream << tensor.sizes()[i]; });
  stream << ", ";
  const auto numel = static_cast<size_t>(tensor.const_data_ptr() ? tensor.numel() : 0);
  switch (tensor.scalar_type()) {
#define ET_INTERNAL_PRINT_CASE(cpp_type, name)                    \
  case aten::ScalarType::name:                                    \
    print_list(stream, numel, [&](size_t i) {                     \
      const cpp_type item = tensor.const_data_ptr<cpp_type>()[i]; \
      if constexpr (std::is_same_v<cpp_type, bool>) {             \
        stream << (item ? "True" : "False");                      \
      } else if constexpr (std::is_integral_v<cpp_type>) {        \
        stream << static_cast<int64_t>(item);                     \
      } else {                                                    \
        print_double(stream, static_cast<double>(item));          \
      }                                                           \
    });                                                           \
    break;
    ET_FORALL_REALHBBF16_TYPES(ET_INTERNAL_PRINT_CASE)
#undef ET_INTERNAL_PRINT_CASE
    default:
      stream << "[" << tensor.numel() << " elements of " << runtime::toString(tensor.scalar_type()) << "]";
  }
  stream << ")";
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const evalue_edge_items& items) {
  stream.iword(edge_items_slot()) = items.count_;
  return stream;
}

}  // namespace extension

namespace runtime {

std::ostream& operator<<(std::ostream& stream, const EValue& value) {
  using extension::print_double;
  using extension::print_list;
  switch (value.tag) {
    case Tag::None:
      return stream << "None";
    case Tag::Bool:
      return stream << (value.toBool() ? "True" : "False");
    case Tag::Int:
      return stream << value.toInt();
    case Tag::Double:
      print_double(stream, value.toDouble());
      return stream;
    case Tag::String:
      return stream << '"' << value.toString() << '"';
    case Tag::Tensor:
      extension::print_tensor(stream, value.toTensor());
      return stream;
    case Tag::ListInt: {
      const auto list = value.toIntList();
      stream << "(len=" << list.size() << ")";
      print_list(stream, list.size(), [&](size_t i) { stream << list[i]; });
      return stream;
    }
    case Tag::ListDouble: {
      const auto list = value.toDoubleList();
      stream << "(len=" << list.size() << ")";
      print_list(stream, list.size(), [&](size_t i) { print_double(stream, list[i]); });
      return stream;
    }
    case Tag::ListBool: {
      const auto list = value.toBoolList();
      stream << "(len=" << list.size() << ")";
      print_list(stream, list.size(), [&](size_t i) { stream << (list[i] ? "True" : "False"); });
      return stream;
    }
    case Tag::ListTensor: {
      const auto list = value.toTensorList();
      stream << "(len=" << list.size() << ")";
      print_list(stream, list.size(), [&](size_t i) { extension::print_tensor(stream, list[i]); });
      return stream;
    }
    case Tag::ListOptionalTensor: {
      const auto list = value.toListOptionalTensor();
      stream << "(len=" << list.size() << ")";
      print_list(stream, list.size(), [&](size_t i) {
        if (list[i]) {
          extension::print_tensor(stream, *list[i]);
        } else {
          stream << "None";
        }
      });
      return stream;
    }
    default:
      return stream << "<" << tag_to_string(value.tag) << ">";
  }
}

}  // namespace runtime

namespace bundled_program {
namespace {

Result<::rushlight::BundledProgram> open(void* data) {
  // The caller does not pass the size of the file. All offsets of the format are below this limit.
  constexpr size_t kMaxSize = 0x7fffffff;
  constexpr size_t kHeader = 8;
  ET_CHECK_OR_RETURN_ERROR(data && ::rushlight::is_bundled_program(data, kHeader), NotSupported,
                           "the file is not a bundled program");
  return ::rushlight::BundledProgram::load(data, kMaxSize);
}

}  // namespace

Error load_bundled_input(runtime::Method& method, void* bundled_program_ptr, size_t testset_idx) {
  RL_ASSIGN(const auto bundled, open(bundled_program_ptr));
  if (method.get_event_tracer()) method.get_event_tracer()->set_bundled_input_index(static_cast<int>(testset_idx));
  const Error error = ::rushlight::load_bundled_input(method.native().method(), bundled, testset_idx);
  if (error != Error::Ok) return runtime::internal::log_error(error);
  method.native().note_inputs_set();
  return Error::Ok;
}

Error verify_method_outputs(runtime::Method& method, void* bundled_program_ptr, size_t testset_idx, double rtol,
                            double atol) {
  RL_ASSIGN(const auto bundled, open(bundled_program_ptr));
  return runtime::internal::log_error(
      ::rushlight::verify_method_outputs(method.native().method(), bundled, testset_idx, rtol, atol));
}

ErrorStats compute_method_output_error_stats(runtime::Method& method, void* bundled_program_ptr, size_t testset_idx) {
  ErrorStats stats;
  auto bundled = open(bundled_program_ptr);
  if (!bundled.ok()) return stats.status = bundled.error(), stats;
  const std::string_view name = method.native().method().meta().name();
  size_t count = 0;
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    auto expected = bundled->expected_output(name, testset_idx, i);
    if (!expected.ok()) return stats.status = expected.error(), stats;
    if (!method.get_output(i).isTensor() || !expected->is_tensor()) continue;
    const aten::Tensor& tensor = method.get_output(i).toTensor();
    if (tensor.scalar_type() != expected->layout.dtype || tensor.sizes() != expected->layout.sizes) {
      return stats.status = Error::InvalidType, stats;
    }
    std::vector<aten::SizesType> sizes(tensor.sizes().begin(), tensor.sizes().end());
    const ::rushlight::TensorPtr wanted = ::rushlight::clone_tensor_ptr(
        *::rushlight::make_tensor_ptr(sizes, const_cast<void*>(expected->data), tensor.scalar_type()),
        aten::ScalarType::Double);
    const ::rushlight::TensorPtr given = ::rushlight::clone_tensor_ptr(tensor, aten::ScalarType::Double);
    if (!wanted || !given) return stats.status = Error::InvalidType, stats;
    for (int64_t j = 0; j < tensor.numel(); ++j) {
      const double want = wanted->const_data_ptr<double>()[j];
      const double difference = std::fabs(given->const_data_ptr<double>()[j] - want);
      const double relative = want == 0 ? difference : difference / std::fabs(want);
      stats.mean_abs_error += difference;
      stats.mean_relative_error += relative;
      stats.max_abs_error = std::fmax(stats.max_abs_error, difference);
      stats.max_relative_error = std::fmax(stats.max_relative_error, relative);
      ++count;
    }
  }
  if (count > 0) {
    stats.mean_abs_error /= static_cast<double>(count);
    stats.mean_relative_error /= static_cast<double>(count);
  }
  return stats;
}

Error get_program_data(void* file_data, size_t file_data_len, const void** out_program_data,
                       size_t* out_program_data_len) {
  if (is_bundled_program(file_data, file_data_len)) {
    auto bundled = ::rushlight::BundledProgram::load(file_data, file_data_len);
    if (!bundled.ok()) return runtime::internal::log_error(bundled.error());
    *out_program_data = bundled->program_data().data();
    *out_program_data_len = bundled->program_data().size();
    return Error::Ok;
  }
  constexpr size_t kHeader = 8;
  ET_CHECK_OR_RETURN_ERROR(file_data_len >= kHeader && ::rushlight::is_program_header(file_data, file_data_len),
                           InvalidProgram, "the file is neither a program nor a bundled program");
  *out_program_data = file_data;
  *out_program_data_len = file_data_len;
  return Error::Ok;
}

bool is_bundled_program(void* file_data, size_t file_data_len) {
  constexpr size_t kHeader = 8;
  return file_data_len >= kHeader && ::rushlight::is_bundled_program(file_data, file_data_len);
}

}  // namespace bundled_program

namespace etdump {
namespace {

constexpr size_t kOwnBytes = size_t{64} << 20;

}  // namespace

ETDumpGen::ETDumpGen(runtime::Span<uint8_t> buffer)
    : own_(buffer.empty() ? new uint8_t[kOwnBytes] : nullptr),
      native_(buffer.empty() ? runtime::Span<uint8_t>(own_.get(), kOwnBytes) : buffer),
      adapter_(&native_, ::rushlight::EventId()) {}

ETDumpGen::~ETDumpGen() = default;

ETDumpResult ETDumpGen::get_etdump_data() {
  const runtime::Span<const uint8_t> data = native_.get_etdump_data();
  if (!own_ || data.empty()) return {const_cast<uint8_t*>(data.data()), data.size()};
  void* copy = std::malloc(data.size());
  if (!copy) return {nullptr, 0};
  std::memcpy(copy, data.data(), data.size());
  return {copy, data.size()};
}

}  // namespace etdump
}  // namespace executorch
