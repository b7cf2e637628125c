// Text that an application shows, and its end: stdout and exit() on a host, semihosting on a device. A port to a board
// without a debugger replaces both when it is linked.
#pragma once

extern "C" {
// Shows a text.
void rushlight_write(const char* text);
// Ends the application with an exit code.
[[noreturn]] void rushlight_exit(int code);
}
