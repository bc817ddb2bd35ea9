#include "error.h"

#include "export.h"
#include "problem.h"

namespace kp {
namespace {

thread_local int last = success;

struct Named {
    int code;
    const char* name;
    const char* sentence;
};

constexpr Named names[] = {
    {success, "hipSuccess", "no error"},
    {invalid_value, "hipErrorInvalidValue", "invalid argument"},
    {out_of_memory, "hipErrorOutOfMemory", "out of memory"},
    {not_initialized, "hipErrorNotInitialized", "initialization error"},
    {invalid_configuration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {invalid_symbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {invalid_device_pointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {invalid_memcpy_direction, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {invalid_device_function, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {no_device, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {invalid_device, "hipErrorInvalidDevice", "invalid device ordinal"},
    {invalid_image, "hipErrorInvalidImage", "device kernel image is invalid"},
    {invalid_context, "hipErrorInvalidContext", "invalid device context"},
    {no_binary_for_gpu, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {file_not_found, "hipErrorFileNotFound", "file not found"},
    {shared_object_init_failed, "hipErrorSharedObjectInitFailed", "shared object initialization failed"},
    {invalid_handle, "hipErrorInvalidHandle", "invalid resource handle"},
    {illegal_state, "hipErrorIllegalState", "the operation cannot be performed in the present state"},
    {not_found, "hipErrorNotFound", "named symbol not found"},
    {not_ready, "hipErrorNotReady", "device not ready"},
    {illegal_address, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {assertion_failed, "hipErrorAssert", "device-side assert triggered"},
    {launch_failure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {not_supported, "hipErrorNotSupported", "operation not supported"},
    {capture_unsupported, "hipErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {capture_invalidated, "hipErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
    {capture_merge, "hipErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"},
    {capture_unmatched, "hipErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
    {capture_unjoined, "hipErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {capture_isolation, "hipErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
    {capture_implicit, "hipErrorStreamCaptureImplicit", "operation would make the legacy stream depend on a capturing blocking stream"},
    {captured_event, "hipErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"},
    {capture_wrong_thread, "hipErrorStreamCaptureWrongThread", "attempt to terminate a thread-local capture sequence from another thread"},
    {unknown_error, "hipErrorUnknown", "unknown error"},
};

const Named& named(int code) {
    for (const Named& entry : names)
        if (entry.code == code) return entry;
    return named(unknown_error);
}

}  // namespace

int kept(int error) {
    if (error != success && error != not_ready && error != illegal_address && error != assertion_failed && error != launch_failure) forget_sentence();
    if (error != success && error != not_ready) last = error;
    return error;
}

}  // namespace kp

KP_EXPORT const char* hipGetErrorName(int error) { return kp::named(error).name; }
KP_EXPORT const char* hipGetErrorString(int error) { return kp::named(error).sentence; }
KP_EXPORT int hipDrvGetErrorName(int error, const char** name) {
    if (name == nullptr) return kp::invalid_value;
    *name = kp::named(error).name;
    return kp::success;
}
KP_EXPORT int hipDrvGetErrorString(int error, const char** sentence) {
    if (sentence == nullptr) return kp::invalid_value;
    *sentence = kp::named(error).sentence;
    return kp::success;
}
KP_EXPORT int hipGetLastError() {
    const int error = kp::last;
    kp::last = kp::success;
    return error;
}
KP_EXPORT int hipExtGetLastError() { return hipGetLastError(); }
KP_EXPORT int hipPeekAtLastError() { return kp::last; }
