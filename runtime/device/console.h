// Functions that print text and end an application. They use stdout and exit() on a host, and semihosting on a device.
// A port to a board without a debugger replaces both functions at link time.
#pragma once

extern "C" {
// Prints a text.
void rushlight_write(const char* text);
// Ends the application with an exit code.
[[noreturn]] void rushlight_exit(int code);
}
