#pragma once

#include "executorch/runtime/kernel/thread_parallel_interface.h"
