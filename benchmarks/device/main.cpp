// Runs each embedded program once, and prints the instructions of each operator and of the whole run. With QEMU's
// `-icount shift=0`, each instruction takes one nanosecond, and the system timer of the processor counts them. A tick
// of the timer is 40 instructions on mps2-an386 and 31.25 instructions on mps3-an547.
#include <cstdarg>

#include "device/console.h"
#include "device/environment.h"
#include "device/programs.h"
#include "platform/format.h"
#include "rushlight/core/event_tracer.h"
#include "rushlight/core/memory.h"
#include "rushlight/exec/method.h"
#include "rushlight/program/buffer_loader.h"
#include "rushlight/program/program.h"

namespace {

using namespace rushlight;

alignas(16) uint8_t planned_memory[64 * 1024];
alignas(16) uint8_t method_memory[48 * 1024];
alignas(16) uint8_t temporary_memory[64 * 1024];

// Writes a line in printf format.
__attribute__((format(printf, 1, 2))) void show(const char* format, ...) {
  char line[160];
  va_list arguments;
  va_start(arguments, format);
  format_list(line, sizeof(line), format, arguments);
  va_end(arguments);
  rushlight_write(line);
}

// The system timer of Armv7-M and Armv8-M: it counts down from 2^24 - 1.
struct SystemTimer {
  volatile uint32_t control, reload, current, calibration;
};
constexpr uint32_t kMax = 0xffffff;
SystemTimer& timer() { return *reinterpret_cast<SystemTimer*>(0xe000e010); }

void start_timer() {
  timer().reload = kMax;
  timer().current = 0;
  timer().control = 5;  // on, at the clock of the processor, without interrupts
}

uint32_t ticks_since(uint32_t start) { return (start - timer().current) & kMax; }

// Prints the ticks of each operator when it ends.
class Counter final : public EventTracer {
 public:
  void create_event_block(std::string_view) override {}
  EventTracerEntry start_profiling(const EventId& id, std::string_view name) override {
    EventTracerEntry entry{id, name, 0, 0};
    if (id.kind == EventKind::Kernel || id.kind == EventKind::Method) entry.start_ns = timer().current;
    return entry;
  }
  void end_profiling(const EventTracerEntry& entry, Span<const uint8_t>) override {
    if (entry.id.kind != EventKind::Kernel) return;
    const uint32_t ticks = ticks_since(static_cast<uint32_t>(entry.start_ns));
    show("ticks %lu %.*s\n", static_cast<unsigned long>(ticks), static_cast<int>(entry.name.size()), entry.name.data());
  }
  void log_profiling_delegate(const EventId&, std::string_view, uint64_t, uint64_t, Span<const uint8_t>) override {}
  AllocatorId track_allocator(std::string_view) override { return 1; }
  void track_allocation(AllocatorId, size_t) override {}
  void log_evalue(const EventId&, std::string_view, const EValue&, LoggedEValueType) override {}
};

Error run_forward(const device::EmbeddedProgram& embedded) {
  BufferDataLoader loader(embedded.data, embedded.size);
  RL_ASSIGN(const Program program, Program::load(&loader));
  Span<uint8_t> planned[] = {{planned_memory, sizeof(planned_memory)}};
  HierarchicalAllocator activations(planned);
  BufferAllocator structures(method_memory, sizeof(method_memory));
  BufferAllocator scratch(temporary_memory, sizeof(temporary_memory));
  Counter counter;
  Environment environment = device::environment();
  for (EventTracer* tracer : {static_cast<EventTracer*>(&counter), static_cast<EventTracer*>(nullptr)}) {
    structures.reset();
    environment.tracer = tracer;
    RL_ASSIGN(Method method, Method::load(program, "forward", {&structures, &activations, &scratch}, environment));
    for (size_t i = 0; i < method.inputs_size(); ++i) {
      const Tensor input = method.get_input(i).to_tensor();
      auto* bytes = input.mutable_data_ptr<uint8_t>();
      for (size_t j = 0; j < input.nbytes(); ++j) bytes[j] = static_cast<uint8_t>(j % 4 == 3 ? 62 : 37 * j);
    }
    const uint32_t start = timer().current;
    RL_TRY(method.execute());
    const uint32_t ticks = ticks_since(start);
    if (!tracer) show("ticks %lu whole\n", static_cast<unsigned long>(ticks));
  }
  return Error::Ok;
}

}  // namespace

int main() {
  start_timer();
  for (const device::EmbeddedProgram& embedded : device::embedded_programs()) {
    show("program %s\n", embedded.name);
    const Error error = run_forward(embedded);
    if (error == Error::Ok) continue;
    show("%s: %s\n", to_string(error), last_error_message());
    return 1;
  }
  return 0;
}
