#include "exec/method_loader.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/poison.h"
#include "exec/initial_state.h"
#include "exec/memory_limit.h"
#include "exec/relations.h"
#include "exec/shape_guards.h"
#include "exec/traced_allocator.h"
#include "platform/format.h"

namespace rushlight {
namespace {

// Records the sizes of the planned memories of a method in the event trace, and makes the method allocator record its
// allocations.
Error trace_memories(const PlanView& plan, EventTracer& tracer, MemoryManager* memory) {
  for (size_t i = 0; i < plan.num_planned_memories(); ++i) {
    char name[48];
    format_text(name, sizeof(name), "planned memory %zu", i + 1);
    tracer.track_allocation(tracer.track_allocator(name), plan.planned_memory_size(i));
  }
  void* storage = memory->method->allocate(sizeof(TracedAllocator), alignof(TracedAllocator));
  RL_REQUIRE(storage, MemoryAllocationFailed, "method '%.80s' does not fit the method allocator of %zu bytes",
             plan.name().data(), memory->method->size());
  memory->method = new (storage) TracedAllocator(memory->method, &tracer, "method");
  return Error::Ok;
}

}  // namespace

Result<Method> MethodLoader::load(const PlanView& plan, const MemoryManager& memory, const Environment& environment) {
  RL_REQUIRE(memory.method, InvalidArgument, "method '%.80s' needs a method allocator", plan.name().data());
  EventTracer* const tracer = enabled_tracer(environment.tracer);
  const EventTracerScope scope(tracer, {EventKind::Init}, plan.name());
  MemoryManager manager = memory;
  if (tracer) RL_TRY(report_memory_limit(memory.method, trace_memories(plan, *tracer, &manager)));
  void* storage = manager.method->allocate(sizeof(MethodState), alignof(MethodState));
  if (!storage) {
    return report_memory_limit(memory.method, fail(Error::MemoryAllocationFailed,
                                                   "method '%.80s' does not fit the method allocator of %zu bytes",
                                                   plan.name().data(), memory.method->size()));
  }
  // If a later step fails, the method destroys the parts that exist.
  Method method(new (storage) MethodState(plan, manager, environment));
  MethodLoader loader(*method.state_, environment);
  RL_TRY(report_memory_limit(manager.method, loader.run()));
  return Result<Method>(std::move(method));
}

Error MethodLoader::allocate_elements(size_t count, size_t size, size_t alignment, void** memory) const {
  if (count == 0) return Error::Ok;
  MemoryAllocator& allocator = *state_.memory.method;
  if (count <= SIZE_MAX / size) {
    *memory = allocator.allocate(count * size, std::max(alignment, kDefaultAlignment));
  }
  RL_REQUIRE(*memory, MemoryAllocationFailed,
             "method '%.80s' does not fit the method allocator: %zu of %zu bytes are used, %zu more are needed",
             method_name(), allocator.used(), allocator.size(), count * size);
  return Error::Ok;
}

Error MethodLoader::run() {
  RL_TRY(check_memories());
  RL_TRY(find_operators());
  RL_TRY(mark_references());
  RL_TRY(load_values());
  RL_TRY(load_inputs_outputs());
  RL_TRY(load_shape_guards(state_));
  RL_TRY(load_relations(state_));
  RL_TRY(init_delegates());
  RL_TRY(load_chains());
  if constexpr (kPoisons) RL_TRY(list_poisoned());
  return load_initial_values(state_, environment_.state);
}

Error MethodLoader::check_memories() {
  const size_t needed = plan_.num_planned_memories();
  const HierarchicalAllocator* planned = state_.memory.planned;
  const size_t given = planned ? planned->count() : 0;
  RL_REQUIRE(needed <= given, InvalidArgument, "method '%.80s' needs %zu planned memories, but %zu are given",
             method_name(), needed, given);
  for (size_t i = 0; i < needed; ++i) {
    RL_REQUIRE(plan_.planned_memory_size(i) <= planned->buffer_size(i), MemoryAllocationFailed,
               "method '%.80s' needs %zu bytes in planned memory %zu, but %zu are given", method_name(),
               plan_.planned_memory_size(i), i + 1, planned->buffer_size(i));
  }
  return Error::Ok;
}

}  // namespace rushlight
