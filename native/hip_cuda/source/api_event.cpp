// hipEvent*: the device's time, in milliseconds between two events.
#include "context.h"
#include "export.h"

namespace kp {
namespace {

// Blocking, without timing, interprocess: the same bits in both. HIP's others choose fences that CUDA has no names for.
constexpr unsigned cuda_event_flags = 7;

}  // namespace
}  // namespace kp

using namespace kp;

KP_EXPORT int hipEventCreateWithFlags(void** event, unsigned flags) {
    return event == nullptr ? kept(invalid_value) : forward(&Driver::event_create, event, flags & cuda_event_flags);
}
KP_EXPORT int hipEventCreate(void** event) { return hipEventCreateWithFlags(event, 0); }
KP_EXPORT int hipEventDestroy(void* event) { return forward(&Driver::event_destroy, event); }
KP_EXPORT int hipEventRecord(void* event, void* stream) { return forward(&Driver::event_record, event, stream); }
KP_EXPORT int hipEventRecordWithFlags(void* event, void* stream, unsigned flags) {
    return forward(&Driver::event_record_flags, event, stream, flags);
}
KP_EXPORT int hipEventQuery(void* event) { return forward(&Driver::event_query, event); }
KP_EXPORT int hipEventSynchronize(void* event) { return forward(&Driver::event_synchronise, event); }
KP_EXPORT int hipEventElapsedTime(float* ms, void* start, void* stop) {
    return ms == nullptr ? kept(invalid_value) : forward(&Driver::event_elapsed, ms, start, stop);
}
