// Impossible allocations return null, as without sanitizers.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
