#pragma once

#include "rushlight/core/backend.h"

// The run-time part of StackBackend, for a program that links it.
rushlight::BackendTable stack_backends();
