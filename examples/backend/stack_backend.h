#pragma once

#include "rushlight/core/backend.h"

// The run-time part of StackBackend, for an application that links it.
rushlight::BackendTable stack_backends();
