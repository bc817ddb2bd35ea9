// C++ names of kernels: code objects hold mangled ones, plans are written with the source's.

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>

#include "loop.h"

// Writes the demangled form, cut off at `capacity` bytes with its final zero; returns 0, or -1 if it is no C++ name.
KERNELPERF_API int32_t kernelperf_demangle(const char* mangled, char* text, size_t capacity) {
    int status = 0;
    char* demangled = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    if (demangled == nullptr) return -1;
    std::strncpy(text, demangled, capacity - 1);
    text[capacity - 1] = '\0';
    std::free(demangled);
    return 0;
}
