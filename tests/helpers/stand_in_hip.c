/* A stand-in for libamdhip64.so and libhiprtc.so: answers who it is, and has WHO_DEVICES devices. For tests that
   must not mistake one library for another. */
#include <stddef.h>

const char* hipGetErrorName(int error) { return error == 0 ? "hipSuccess" : "hipErrorOf" WHO; }
const char* hipGetErrorString(int error) { return error == 0 ? "no error" : "error of " WHO; }
const char* hiprtcGetErrorString(int result) { return result == 0 ? "HIPRTC_SUCCESS" : WHO; }
int hipGetDeviceCount(int* count) {
    *count = WHO_DEVICES;
    return WHO_DEVICES > 0 ? 0 : 100;
}
int hipSetDevice(int device) { return device < WHO_DEVICES ? 0 : 101; }
int hipModuleLaunchKernel(void) { return 1; }
int hipMalloc(void** pointer, size_t bytes) {
    (void)bytes;
    *pointer = NULL;
    return 2;
}
