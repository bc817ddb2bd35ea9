// NVRTC, opened at run time: where it is looked for, and its calls.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kp {

// X(name after "nvrtc", result, parameters).
#define KP_NVRTC_CALLS(X)                                                                                              \
    X(Version, int, (int*, int*))                                                                                      \
    X(GetErrorString, const char*, (int))                                                                              \
    X(CreateProgram, int, (void**, const char*, const char*, int, const char* const*, const char* const*))             \
    X(DestroyProgram, int, (void**))                                                                                   \
    X(CompileProgram, int, (void*, int, const char* const*))                                                           \
    X(AddNameExpression, int, (void*, const char*))                                                                    \
    X(GetLoweredName, int, (void*, const char*, const char**))                                                         \
    X(GetProgramLogSize, int, (void*, std::size_t*))                                                                   \
    X(GetProgramLog, int, (void*, char*))                                                                              \
    X(GetCUBINSize, int, (void*, std::size_t*))                                                                        \
    X(GetCUBIN, int, (void*, char*))

struct Nvrtc {
#define KP_MEMBER(name, result, parameters) result(*name) parameters;
    KP_NVRTC_CALLS(KP_MEMBER)
#undef KP_MEMBER
};

struct OpenedNvrtc {
    Nvrtc calls{};
    bool opened = false;
    std::string file;                  // the library's path
    int major = 0, minor = 0;          // its version
    std::vector<std::string> headers;  // CUDA's include folder that goes with it (cuda_fp16.h), or none
    std::string problem;               // one sentence when there is none to use
};

// NVRTC, opened once: $KERNELPERF_NVRTC (a file, or a folder) alone if it is set; else the CUDA toolkit ($CUDA_HOME,
// $CUDA_PATH, /usr/local/cuda), the folders in $KERNELPERF_NVRTC_WHEELS (colons between them), and the loader's own
// places. One newer than the driver is passed over, as the driver may not load its machine code. Never throws.
const OpenedNvrtc& nvrtc();

}  // namespace kp
