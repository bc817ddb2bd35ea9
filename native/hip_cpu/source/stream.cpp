#include "stream.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "hip_abi.h"
#include "wait.h"

namespace kp {
namespace {

// How long a stream's thread watches for work, and a waiting caller for the end of it, before they sleep.
constexpr std::int64_t stream_spin_ns = 20'000, caller_spin_ns = 20'000;

void fill(const FillOp& op) {
    if (op.element_bytes == 1) {
        std::memset(op.target, static_cast<int>(op.value), op.count);
    } else if (op.element_bytes == 2) {
        auto* at = static_cast<std::uint16_t*>(op.target);
        for (std::size_t i = 0; i < op.count; ++i) at[i] = static_cast<std::uint16_t>(op.value);
    } else {
        auto* at = static_cast<std::uint32_t*>(op.target);
        for (std::size_t i = 0; i < op.count; ++i) at[i] = op.value;
    }
}

}  // namespace

bool Record::done() const { return stream->completed() >= ticket; }
void Record::wait() const { stream->wait(ticket); }

Stream::Stream(unsigned flags_, int priority_, std::uint64_t number_) : flags(flags_), priority(priority_), number(number_) { incoming_.reserve(256); }

void Stream::start() {
    // The thread keeps its stream alive: records in its own queue may hold the last reference.
    std::thread thread([self = shared_from_this()] { self->serve(); });
    pthread_setname_np(thread.native_handle(), "kp-stream");
    thread.detach();
}

void Stream::retire() {
    stop_.store(true, std::memory_order_seq_cst);
    bell_.fetch_add(1, std::memory_order_seq_cst);
    futex_wake(bell_, 1);
}

std::uint64_t Stream::push(Op op) {
    std::uint64_t ticket;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        incoming_.push_back(std::move(op));
        ticket = pushed_.load(std::memory_order_relaxed) + 1;
        pushed_.store(ticket, std::memory_order_seq_cst);
    }
    if (sleeping_.load(std::memory_order_seq_cst)) {
        bell_.fetch_add(1, std::memory_order_seq_cst);
        futex_wake(bell_, 1);
    }
    return ticket;
}

void Stream::wait(std::uint64_t ticket) {
    if (spin(caller_spin_ns, [&] { return completed() >= ticket; })) return;
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    {
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [&] { return completed() >= ticket; });
    }
    waiters_.fetch_sub(1, std::memory_order_seq_cst);
}

void Stream::serve() {
    std::vector<Op> batch;
    batch.reserve(256);
    std::uint64_t taken = 0;
    for (;;) {
        auto news = [&] { return pushed_.load(std::memory_order_acquire) != taken || stop_.load(std::memory_order_relaxed); };
        while (!spin(stream_spin_ns, news)) {
            const std::uint32_t bell = bell_.load(std::memory_order_seq_cst);
            sleeping_.store(true, std::memory_order_seq_cst);
            if (pushed_.load(std::memory_order_seq_cst) == taken && !stop_.load(std::memory_order_seq_cst)) futex_wait(bell_, bell);
            sleeping_.store(false, std::memory_order_seq_cst);
        }
        if (pushed_.load(std::memory_order_acquire) == taken) return;  // told to stop
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            batch.swap(incoming_);
        }
        for (Op& op : batch) {
            perform(op);
            completed_.store(++taken, std::memory_order_seq_cst);
            if (waiters_.load(std::memory_order_seq_cst) != 0) {
                { const std::lock_guard<std::mutex> lock(mutex_); }
                done_.notify_all();
            }
        }
        batch.clear();
    }
}

void Stream::perform(Op& op) {
    if (auto* kernel = std::get_if<KernelCall>(&op)) {
        if (recording()) execute_recorded(*kernel, kernel->launcher, {number});
        else execute(*kernel);
    } else if (auto* copy = std::get_if<CopyOp>(&op)) {
        std::memmove(copy->target, copy->source, copy->bytes);
    } else if (auto* rows = std::get_if<Copy2DOp>(&op)) {
        for (std::size_t i = 0; i < rows->height; ++i)
            std::memmove(rows->target + i * rows->target_pitch, rows->source + i * rows->source_pitch, rows->width);
    } else if (auto* filling = std::get_if<FillOp>(&op)) {
        fill(*filling);
    } else if (auto* record = std::get_if<RecordOp>(&op)) {
        record->record->ns = now_ns();
    } else if (auto* waiting = std::get_if<WaitOp>(&op)) {
        waiting->stream->wait(waiting->ticket);
    } else if (auto* host = std::get_if<HostOp>(&op)) {
        host->function(host->data);
    } else if (auto* graph = std::get_if<GraphLaunch>(&op)) {
        replay(*graph);
        graph->graph->release();
    }
}

void Stream::replay(GraphLaunch& launch) {
    std::uint64_t node = 0;
    for (Op& op : launch.graph->ops) {
        ++node;
        auto* kernel = std::get_if<KernelCall>(&op);
        if (kernel != nullptr && recording()) execute_recorded(*kernel, launch.launcher, {number, launch.graph->number, node});
        else perform(op);
    }
}

// --- all streams -------------------------------------------------------------------------------

namespace {

struct Registry {
    std::mutex mutex;
    std::unordered_map<void*, std::shared_ptr<Stream>> streams;
    const std::shared_ptr<Stream> null = std::make_shared<Stream>(0, 0, 0);
    Registry() { null->start(); }
};

Registry& registry() {
    static Registry* all = new Registry;  // never destroyed: stream threads may be running when the process ends
    return *all;
}

}  // namespace

std::shared_ptr<Stream> null_stream() { return registry().null; }

std::shared_ptr<Stream> stream_of(void* handle) {
    if (reinterpret_cast<std::uintptr_t>(handle) <= 2) return null_stream();
    Registry& all = registry();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.streams.find(handle);
    return found == all.streams.end() ? nullptr : found->second;
}

void* add_stream(std::shared_ptr<Stream> stream) {
    Registry& all = registry();
    const std::lock_guard<std::mutex> lock(all.mutex);
    void* handle = stream.get();
    all.streams.emplace(handle, std::move(stream));
    return handle;
}

bool remove_stream(void* handle) {
    Registry& all = registry();
    const std::lock_guard<std::mutex> lock(all.mutex);
    return all.streams.erase(handle) == 1;
}

namespace {

// Streams that wait for the null stream and that it waits for.
std::vector<std::shared_ptr<Stream>> blocking_streams() {
    Registry& all = registry();
    const std::lock_guard<std::mutex> lock(all.mutex);
    std::vector<std::shared_ptr<Stream>> found;
    for (const auto& [handle, stream] : all.streams)
        if ((stream->flags & stream_non_blocking) == 0) found.push_back(stream);
    return found;
}

}  // namespace

std::uint64_t submit_now(const std::shared_ptr<Stream>& stream, Op op) {
    const std::shared_ptr<Stream>& null = registry().null;
    if (stream == null) {
        for (const auto& other : blocking_streams())
            if (!other->idle()) stream->push(WaitOp{other, other->pushed()});
    } else if ((stream->flags & stream_non_blocking) == 0 && !null->idle()) {
        const std::uint64_t ticket = null->pushed();
        if (ticket > stream->null_seen) {
            stream->null_seen = ticket;
            stream->push(WaitOp{null, ticket});
        }
    }
    return stream->push(std::move(op));
}

int submit(const std::shared_ptr<Stream>& stream, Op op) {
    if (stream->capture) {
        if (stream->capture->invalid) return capture_invalidated;
        for (Capture::Fork& fork : stream->capture->forks)
            if (fork.stream == stream) fork.joined = false;
        stream->capture->ops.push_back(std::move(op));
        return success;
    }
    submit_now(stream, std::move(op));
    return success;
}

void finish_all() {
    std::vector<std::shared_ptr<Stream>> found;
    {
        Registry& all = registry();
        const std::lock_guard<std::mutex> lock(all.mutex);
        for (const auto& [handle, stream] : all.streams) found.push_back(stream);
        found.push_back(all.null);
    }
    for (const auto& stream : found) stream->finish();
}

void finish_blocking() {
    for (const auto& stream : blocking_streams()) stream->finish();
    null_stream()->finish();
}

bool any_capture() {
    Registry& all = registry();
    const std::lock_guard<std::mutex> lock(all.mutex);
    for (const auto& [handle, stream] : all.streams)
        if (stream->capture) return true;
    return false;
}

}  // namespace kp
