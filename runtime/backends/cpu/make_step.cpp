// A selective build has a version of this function with only the operations of its programs.
#include "backends/cpu/step.h"

namespace rushlight::cpu {

Result<Step*> make_step(const schema::Step& step, Binder& binder) {
  switch (step.operation_type()) {
#define RUSHLIGHT_MAKE_STEP(Name) \
  case schema::Operation::Name:   \
    return make_step(step.operation_as_##Name(), binder);
    RUSHLIGHT_OPERATION_MEMBERS(RUSHLIGHT_MAKE_STEP)
#undef RUSHLIGHT_MAKE_STEP
    case schema::Operation::NONE:
      break;
  }
  return fail(Error::InvalidProgram, "the plan contains an operation of unknown type %u",
              static_cast<unsigned>(step.operation_type()));
}

}  // namespace rushlight::cpu
