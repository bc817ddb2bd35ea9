// hipStream*: creating, waiting, and capturing. Stream 0 is CUDA's null stream, 1 and 2 mean the same in both.
#include "context.h"
#include "export.h"

using namespace kp;

KP_EXPORT int hipStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
    return stream == nullptr ? kept(invalid_value) : forward(&Driver::stream_create, stream, flags, priority);
}
KP_EXPORT int hipStreamCreateWithFlags(void** stream, unsigned flags) { return hipStreamCreateWithPriority(stream, flags, 0); }
KP_EXPORT int hipStreamCreate(void** stream) { return hipStreamCreateWithPriority(stream, 0, 0); }
KP_EXPORT int hipStreamDestroy(void* stream) { return forward(&Driver::stream_destroy, stream); }
KP_EXPORT int hipStreamSynchronize(void* stream) { return forward(&Driver::stream_synchronise, stream); }
KP_EXPORT int hipStreamQuery(void* stream) { return forward(&Driver::stream_query, stream); }
KP_EXPORT int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
    return forward(&Driver::stream_wait, stream, event, flags);
}
KP_EXPORT int hipStreamGetFlags(void* stream, unsigned* flags) { return forward(&Driver::stream_flags, stream, flags); }
KP_EXPORT int hipStreamGetPriority(void* stream, int* priority) { return forward(&Driver::stream_priority, stream, priority); }
KP_EXPORT int hipLaunchHostFunc(void* stream, HostFunction function, void* data) {
    return function == nullptr ? kept(invalid_value) : forward(&Driver::host_function, stream, function, data);
}

KP_EXPORT int hipStreamBeginCapture(void* stream, int mode) { return forward(&Driver::begin_capture, stream, mode); }
KP_EXPORT int hipStreamEndCapture(void* stream, void** graph) {
    if (graph == nullptr) return kept(invalid_value);
    *graph = nullptr;
    return forward(&Driver::end_capture, stream, graph);
}
KP_EXPORT int hipStreamIsCapturing(void* stream, int* status) { return forward(&Driver::is_capturing, stream, status); }
KP_EXPORT int hipThreadExchangeStreamCaptureMode(int* mode) { return forward(&Driver::exchange_capture_mode, mode); }
