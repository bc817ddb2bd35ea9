#include "error.h"

#include <string>

#include "driver.h"
#include "export.h"

namespace kp {
namespace {

thread_local int last = success;
thread_local int origin = 0;  // CUDA's code behind the thread's last failure
thread_local int origin_as_hip = success;
thread_local std::string words;

struct Named {
    int code;
    const char* name;
    const char* sentence;
};

// HIP's errors: the ones with CUDA counterparts of the same number, and those that we return ourselves.
constexpr Named names[] = {
    {0, "hipSuccess", "no error"},
    {1, "hipErrorInvalidValue", "invalid argument"},
    {2, "hipErrorOutOfMemory", "out of memory"},
    {3, "hipErrorNotInitialized", "the driver is not started"},
    {4, "hipErrorDeinitialized", "the driver is shutting down"},
    {5, "hipErrorProfilerDisabled", "the profiler is disabled"},
    {6, "hipErrorProfilerNotInitialized", "the profiler is not started"},
    {7, "hipErrorProfilerAlreadyStarted", "the profiler runs already"},
    {8, "hipErrorProfilerAlreadyStopped", "the profiler is stopped already"},
    {9, "hipErrorInvalidConfiguration", "invalid launch dimensions"},
    {12, "hipErrorInvalidPitchValue", "invalid pitch"},
    {13, "hipErrorInvalidSymbol", "invalid device symbol"},
    {17, "hipErrorInvalidDevicePointer", "invalid device address"},
    {21, "hipErrorInvalidMemcpyDirection", "invalid direction of a copy"},
    {35, "hipErrorInsufficientDriver", "the driver is too old"},
    {98, "hipErrorInvalidDeviceFunction", "invalid kernel"},
    {100, "hipErrorNoDevice", "no CUDA device is there"},
    {101, "hipErrorInvalidDevice", "no such device"},
    {200, "hipErrorInvalidImage", "invalid code object"},
    {201, "hipErrorInvalidContext", "invalid context"},
    {202, "hipErrorContextAlreadyCurrent", "the context is current already"},
    {205, "hipErrorMapFailed", "mapping failed"},
    {206, "hipErrorUnmapFailed", "unmapping failed"},
    {207, "hipErrorArrayIsMapped", "the array is mapped"},
    {208, "hipErrorAlreadyMapped", "it is mapped already"},
    {209, "hipErrorNoBinaryForGpu", "the code object holds nothing for this GPU"},
    {210, "hipErrorAlreadyAcquired", "it is acquired already"},
    {211, "hipErrorNotMapped", "it is not mapped"},
    {212, "hipErrorNotMappedAsArray", "it is not mapped as an array"},
    {213, "hipErrorNotMappedAsPointer", "it is not mapped as an address"},
    {214, "hipErrorECCNotCorrectable", "a memory error that could not be corrected"},
    {215, "hipErrorUnsupportedLimit", "the limit is not supported"},
    {216, "hipErrorContextAlreadyInUse", "the context is used by another thread"},
    {217, "hipErrorPeerAccessUnsupported", "access between these devices is not supported"},
    {218, "hipErrorInvalidKernelFile", "invalid intermediate code"},
    {219, "hipErrorInvalidGraphicsContext", "invalid graphics context"},
    {300, "hipErrorInvalidSource", "invalid source"},
    {301, "hipErrorFileNotFound", "file not found"},
    {302, "hipErrorSharedObjectSymbolNotFound", "a shared object's symbol was not found"},
    {303, "hipErrorSharedObjectInitFailed", "a shared object could not be started"},
    {304, "hipErrorOperatingSystem", "a call to the operating system failed"},
    {400, "hipErrorInvalidHandle", "invalid handle"},
    {401, "hipErrorIllegalState", "not possible in the present state"},
    {500, "hipErrorNotFound", "the name was not found"},
    {600, "hipErrorNotReady", "not done yet"},
    {700, "hipErrorIllegalAddress", "a kernel touched memory that is not its own"},
    {701, "hipErrorLaunchOutOfResources", "the launch needs more registers or shared memory than there are"},
    {702, "hipErrorLaunchTimeOut", "the kernel ran longer than the driver allows"},
    {704, "hipErrorPeerAccessAlreadyEnabled", "access between these devices is enabled already"},
    {705, "hipErrorPeerAccessNotEnabled", "access between these devices is not enabled"},
    {708, "hipErrorSetOnActiveProcess", "the device is in use already"},
    {709, "hipErrorContextIsDestroyed", "the context is destroyed"},
    {710, "hipErrorAssert", "an assertion in a kernel failed"},
    {712, "hipErrorHostMemoryAlreadyRegistered", "the host memory is registered already"},
    {713, "hipErrorHostMemoryNotRegistered", "the host memory is not registered"},
    {719, "hipErrorLaunchFailure", "the kernel failed while running"},
    {720, "hipErrorCooperativeLaunchTooLarge", "too many workgroups for a cooperative launch"},
    {801, "hipErrorNotSupported", "not supported"},
    {900, "hipErrorStreamCaptureUnsupported", "not allowed while a stream is captured"},
    {901, "hipErrorStreamCaptureInvalidated", "an earlier failure spoilt the capture"},
    {902, "hipErrorStreamCaptureMerge", "two captures would be merged"},
    {903, "hipErrorStreamCaptureUnmatched", "the capture began in another stream"},
    {904, "hipErrorStreamCaptureUnjoined", "the capture has a fork that was not joined"},
    {905, "hipErrorStreamCaptureIsolation", "captured work would wait for work outside the capture"},
    {906, "hipErrorStreamCaptureImplicit", "the null stream would wait for a capture"},
    {907, "hipErrorCapturedEvent", "the event was recorded in a capture"},
    {908, "hipErrorStreamCaptureWrongThread", "another thread began the capture"},
    {910, "hipErrorGraphExecUpdateFailure", "the graph cannot be updated so"},
    {999, "hipErrorUnknown", "unknown error"},
};

const Named* find(int code) {
    for (const Named& entry : names)
        if (entry.code == code) return &entry;
    return nullptr;
}

const char* sentence_of(int code) {
    const Named* found = find(code);
    const char* sentence = found != nullptr ? found->sentence : "unknown error";
    if (code == success || code != origin_as_hip || origin == code) return sentence;
    words = std::string(sentence) + " (" + cuda_error_name(origin) + ")";
    return words.c_str();
}

}  // namespace

int hip_error(int cuda) {
    switch (cuda) {
        case 34: case 36: case 222: case 803: case 804: return insufficient_driver;  // stub, too old, mismatched
        case 46: case 102: return invalid_device;  // unavailable, not licensed
        case 220: return 214;                      // NVLink error that could not be corrected
        case 221: case 223: return 218;            // intermediate code that cannot be compiled here
        case 703: case 714: case 715: case 716: case 717: case 718: case 721: return 719;  // a kernel's hardware exceptions
        case 800: case 224: case 225: return not_supported;  // not permitted, unsupported affinity or synchronisation
        case 909: return 702;
        case 911: return unknown_error;  // external device; HIP's 911 is something else
        case 912: return invalid_configuration;  // invalid cluster size; likewise
        default: return find(cuda) != nullptr ? cuda : unknown_error;
    }
}

const char* hip_error_name(int error) {
    const Named* found = find(error);
    return found != nullptr ? found->name : "hipErrorUnknown";
}

int kept(int error, int cuda) {
    if (error != success && error != not_ready) {
        last = error;
        origin = cuda != 0 ? cuda : error;
        origin_as_hip = error;
    }
    return error;
}

}  // namespace kp

using namespace kp;

KP_EXPORT const char* hipGetErrorName(int error) { return hip_error_name(error); }
KP_EXPORT const char* hipGetErrorString(int error) { return sentence_of(error); }
KP_EXPORT int hipDrvGetErrorName(int error, const char** name) {
    if (name == nullptr) return invalid_value;
    *name = hip_error_name(error);
    return success;
}
KP_EXPORT int hipDrvGetErrorString(int error, const char** sentence) {
    if (sentence == nullptr) return invalid_value;
    *sentence = sentence_of(error);
    return success;
}
KP_EXPORT int hipGetLastError() {
    const int error = last;
    last = success;
    return error;
}
KP_EXPORT int hipExtGetLastError() { return hipGetLastError(); }
KP_EXPORT int hipPeekAtLastError() { return last; }

// For tests: HIP's number for one of CUDA's.
KP_EXPORT int kernelperf_cuda_error(int cuda) { return hip_error(cuda); }
