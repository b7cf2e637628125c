#pragma once

#include "rushlight/core/backend.h"

// The run-time part of StackBackend.
rushlight::Backend stack_backend();
