// What GCC's C++ library asks a later C library: whether the process has one thread. It is never sure of that here.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
