// Allocations that cannot be had return null, as they do without sanitizers.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
