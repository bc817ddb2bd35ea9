// hipEvent*: times are taken by the stream when it gets there.
#include <mutex>
#include <unordered_map>

#include "error.h"
#include "event.h"
#include "export.h"
#include "problem.h"

namespace kp {
namespace {

std::mutex mutex;
std::unordered_map<void*, std::shared_ptr<Event>>& events() {
    static auto* all = new std::unordered_map<void*, std::shared_ptr<Event>>;
    return *all;
}

int record(void* handle, void* stream_handle, unsigned flags) {
    const auto event = event_of(handle);
    const auto stream = stream_of(stream_handle);
    if (!event || !stream) return invalid_handle;
    if (flags > record_external) return invalid_value;
    auto made = std::make_shared<Record>();
    made->stream = stream;
    if (stream->capture) {
        if (flags == record_external) return not_supported;
        made->capture = stream->capture;
    } else {
        // Only this stream's thread reads the record before the ticket is known here, and it writes the time only.
        made->ticket = submit_now(stream, RecordOp{made});
    }
    event->record = std::move(made);
    return success;
}

int elapsed(float* ms, void* start_handle, void* stop_handle) {
    if (ms == nullptr) return invalid_value;
    const auto start = event_of(start_handle), stop = event_of(stop_handle);
    if (!start || !stop || !start->record || !stop->record) return invalid_handle;
    if (((start->flags | stop->flags) & event_disable_timing) != 0) return invalid_handle;
    if (start->record->capture || stop->record->capture) return captured_event;
    if (!start->record->done() || !stop->record->done()) return not_ready;
    *ms = static_cast<float>(static_cast<double>(stop->record->ns - start->record->ns) / 1e6);
    return success;
}

int create(void** handle, unsigned flags) {
    if (handle == nullptr || (flags & ~0xe0000007u) != 0) return invalid_value;
    auto event = std::make_shared<Event>();
    event->flags = flags;
    *handle = event.get();
    const std::lock_guard<std::mutex> lock(mutex);
    events().emplace(*handle, std::move(event));
    return success;
}

}  // namespace

std::shared_ptr<Event> event_of(void* handle) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = events().find(handle);
    return found == events().end() ? nullptr : found->second;
}

}  // namespace kp

using namespace kp;

KP_EXPORT int hipEventCreate(void** event) { return kept(create(event, 0)); }
KP_EXPORT int hipEventCreateWithFlags(void** event, unsigned flags) { return kept(create(event, flags)); }
KP_EXPORT int hipEventRecord(void* event, void* stream) { return kept(record(event, stream, 0)); }
KP_EXPORT int hipEventRecordWithFlags(void* event, void* stream, unsigned flags) { return kept(record(event, stream, flags)); }
KP_EXPORT int hipEventElapsedTime(float* ms, void* start, void* stop) { return kept(elapsed(ms, start, stop)); }

KP_EXPORT int hipEventDestroy(void* event) {
    const std::lock_guard<std::mutex> lock(mutex);
    return kept(events().erase(event) == 1 ? success : invalid_handle);
}

KP_EXPORT int hipEventSynchronize(void* handle) {
    const auto event = event_of(handle);
    if (!event) return kept(invalid_handle);
    if (!event->record) return success;
    if (event->record->capture) return kept(captured_event);
    event->record->wait();
    return kept(after_waiting());
}

KP_EXPORT int hipEventQuery(void* handle) {
    const auto event = event_of(handle);
    if (!event) return kept(invalid_handle);
    if (!event->record) return success;
    if (event->record->capture) return kept(captured_event);
    return event->record->done() ? success : not_ready;
}
