// hipStream*: creating, waiting, and capturing into graphs.
#include <algorithm>

#include "error.h"
#include "event.h"
#include "export.h"
#include "graph.h"
#include "problem.h"
#include "stream.h"

namespace kp {
namespace {

bool is_null(void* handle) { return reinterpret_cast<std::uintptr_t>(handle) <= 2; }

int create(void** handle, unsigned flags, int priority) {
    if (handle == nullptr || flags > stream_non_blocking) return invalid_value;
    static std::atomic<std::uint64_t> created{0};
    auto stream = std::make_shared<Stream>(flags, std::clamp(priority, -1, 1), created.fetch_add(1) + 1);
    stream->start();
    *handle = add_stream(std::move(stream));
    return success;
}

// A capturing stream cannot be waited for: the attempt spoils the capture.
bool spoils_capture(const std::shared_ptr<Stream>& stream) {
    if (!stream->capture) return false;
    stream->capture->invalid = true;
    return true;
}

int destroy(void* handle) {
    if (is_null(handle)) return invalid_handle;
    const auto stream = stream_of(handle);
    if (!stream) return invalid_handle;
    if (stream->capture) {
        stream->capture->invalid = true;
        stream->capture.reset();
    }
    stream->finish();
    remove_stream(handle);
    stream->retire();
    return success;
}

int wait_event(void* stream_handle, void* event_handle) {
    const auto stream = stream_of(stream_handle);
    const auto event = event_of(event_handle);
    if (!stream || !event) return invalid_handle;
    if (!event->record) return success;
    const Record& record = *event->record;
    if (record.capture) {
        // Work captured in another stream: this one joins the same capture, or joins that fork back in.
        if (stream->capture && stream->capture != record.capture) return capture_merge;
        for (Capture::Fork& fork : record.capture->forks)
            if (fork.stream == record.stream) fork.joined = true;
        if (!stream->capture) {
            stream->capture = record.capture;
            record.capture->forks.push_back({stream, false});
        }
        return success;
    }
    if (stream->capture) return capture_isolation;
    if (record.stream != stream) submit_now(stream, WaitOp{record.stream, record.ticket});
    return success;
}

int begin_capture(void* handle, int mode) {
    const auto stream = stream_of(handle);
    if (!stream) return invalid_handle;
    if (mode < 0 || mode > 2) return invalid_value;
    if (is_null(handle)) return capture_unsupported;
    if (stream->capture) return illegal_state;
    stream->capture = std::make_shared<Capture>();
    stream->capture->origin = stream;
    stream->capture->thread = std::this_thread::get_id();
    stream->capture->mode = mode;
    return success;
}

int end_capture(void* handle, void** graph) {
    if (graph == nullptr) return invalid_value;
    *graph = nullptr;
    const auto stream = stream_of(handle);
    if (!stream) return invalid_handle;
    if (!stream->capture) return illegal_state;
    const auto capture = stream->capture;
    if (capture->origin != stream) return capture_unmatched;
    if (capture->mode != 2 && capture->thread != std::this_thread::get_id()) return capture_wrong_thread;
    bool joined = true;
    for (Capture::Fork& fork : capture->forks) {
        joined = joined && fork.joined;
        fork.stream->capture.reset();
    }
    stream->capture.reset();
    capture->origin.reset();
    capture->forks.clear();
    if (capture->invalid) return capture_invalidated;
    if (!joined) return capture_unjoined;
    *graph = add_graph(std::move(capture->ops));
    return success;
}

int capture_status(const std::shared_ptr<Stream>& stream) {
    return !stream->capture ? 0 : stream->capture->invalid ? 2 : 1;
}

}  // namespace
}  // namespace kp

using namespace kp;

KP_EXPORT int hipStreamCreate(void** stream) { return kept(create(stream, 0, 0)); }
KP_EXPORT int hipStreamCreateWithFlags(void** stream, unsigned flags) { return kept(create(stream, flags, 0)); }
KP_EXPORT int hipStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
    return kept(create(stream, flags, priority));
}
KP_EXPORT int hipStreamDestroy(void* stream) { return kept(destroy(stream)); }
KP_EXPORT int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
    return kept(flags > 1 ? invalid_value : wait_event(stream, event));
}

KP_EXPORT int hipStreamSynchronize(void* handle) {
    const auto stream = stream_of(handle);
    if (!stream) return kept(invalid_handle);
    if (spoils_capture(stream)) return kept(capture_unsupported);
    if (is_null(handle)) finish_blocking();
    else stream->finish();
    return kept(after_waiting());
}

KP_EXPORT int hipStreamQuery(void* handle) {
    const auto stream = stream_of(handle);
    if (!stream) return kept(invalid_handle);
    if (spoils_capture(stream)) return kept(capture_unsupported);
    return stream->idle() ? success : not_ready;
}

KP_EXPORT int hipStreamGetFlags(void* handle, unsigned* flags) {
    const auto stream = stream_of(handle);
    if (!stream || flags == nullptr) return kept(stream ? invalid_value : invalid_handle);
    *flags = stream->flags;
    return success;
}

KP_EXPORT int hipStreamGetPriority(void* handle, int* priority) {
    const auto stream = stream_of(handle);
    if (!stream || priority == nullptr) return kept(stream ? invalid_value : invalid_handle);
    *priority = stream->priority;
    return success;
}

KP_EXPORT int hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = 1;
    if (greatest != nullptr) *greatest = -1;
    return success;
}

KP_EXPORT int hipLaunchHostFunc(void* handle, void (*function)(void*), void* data) {
    const auto stream = stream_of(handle);
    if (!stream) return kept(invalid_handle);
    if (function == nullptr) return kept(invalid_value);
    return kept(submit(stream, HostOp{function, data}));
}

KP_EXPORT int hipStreamBeginCapture(void* stream, int mode) { return kept(begin_capture(stream, mode)); }
KP_EXPORT int hipStreamEndCapture(void* stream, void** graph) { return kept(end_capture(stream, graph)); }

KP_EXPORT int hipStreamIsCapturing(void* handle, int* status) {
    const auto stream = stream_of(handle);
    if (!stream || status == nullptr) return kept(stream ? invalid_value : invalid_handle);
    *status = capture_status(stream);
    return success;
}

KP_EXPORT int hipStreamGetCaptureInfo(void* handle, int* status, unsigned long long* id) {
    const auto stream = stream_of(handle);
    if (!stream || status == nullptr) return kept(stream ? invalid_value : invalid_handle);
    *status = capture_status(stream);
    if (id != nullptr) *id = stream->capture ? reinterpret_cast<std::uintptr_t>(stream->capture.get()) : 0;
    return success;
}

KP_EXPORT int hipThreadExchangeStreamCaptureMode(int* mode) {
    static thread_local int current = 0;
    if (mode == nullptr || *mode < 0 || *mode > 2) return kept(invalid_value);
    std::swap(*mode, current);
    return success;
}
