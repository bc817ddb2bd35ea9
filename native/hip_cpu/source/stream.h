// Streams: ordered work, run by one thread each. Events, captures and graphs are made of the same operations.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "launch.h"
#include "recording.h"

namespace kp {

class Stream;
struct Capture;

// A moment in a stream: reached when the stream has completed `ticket` operations.
struct Record {
    std::shared_ptr<Stream> stream;
    std::uint64_t ticket = 0;
    std::int64_t ns = 0;  // written by the stream when it gets there
    std::shared_ptr<Capture> capture;  // recorded while capturing: a place in a graph, not in time
    bool done() const;
    void wait() const;
};

struct CopyOp {
    void* target;
    const void* source;
    std::size_t bytes;
};
struct Copy2DOp {
    unsigned char* target;
    std::size_t target_pitch;
    const unsigned char* source;
    std::size_t source_pitch, width, height;
};
struct FillOp {
    void* target;
    std::uint32_t value;
    unsigned element_bytes;
    std::size_t count;
};
struct RecordOp {
    std::shared_ptr<Record> record;
};
struct WaitOp {  // until another stream got there
    std::shared_ptr<Stream> stream;
    std::uint64_t ticket;
};
struct HostOp {
    void (*function)(void*);
    void* data;
};
struct EmptyOp {};
struct GraphOp;
struct GraphLaunch {
    GraphOp* graph;
    Launcher launcher;
};

using Op = std::variant<KernelCall, CopyOp, Copy2DOp, FillOp, RecordOp, WaitOp, HostOp, EmptyOp, GraphLaunch>;

// An instantiated graph: operations in an order that keeps their dependencies.
struct GraphOp {
    std::uint64_t number = 0;  // in order of instantiation, from 1
    std::vector<Op> ops;
    std::atomic<int> uses{1};  // the handle and each launch under way
    void release() {
        if (uses.fetch_sub(1) == 1) delete this;
    }
};

// What a capture has gathered, in the order it was issued, which keeps all dependencies.
struct Capture {
    std::shared_ptr<Stream> origin;
    std::thread::id thread;
    int mode = 0;
    bool invalid = false;
    std::vector<Op> ops;
    struct Fork {
        std::shared_ptr<Stream> stream;
        bool joined = false;
    };
    std::vector<Fork> forks;
};

class Stream : public std::enable_shared_from_this<Stream> {
public:
    Stream(unsigned flags, int priority, std::uint64_t number);

    void start();
    void retire();  // end its thread once all is done; nothing may be pushed any more
    std::uint64_t push(Op op);  // returns the operation's ticket
    void wait(std::uint64_t ticket);
    void finish() { wait(pushed()); }
    std::uint64_t pushed() const { return pushed_.load(std::memory_order_acquire); }
    std::uint64_t completed() const { return completed_.load(std::memory_order_seq_cst); }
    bool idle() const { return completed() >= pushed(); }

    const unsigned flags;
    const int priority;
    const std::uint64_t number;  // in order of creation, from 1; 0 is the null stream
    std::atomic<std::uint64_t> null_seen{0};       // the null stream's ticket this stream already waits for
    std::shared_ptr<Capture> capture;   // while capturing; guarded by the API lock in api_stream.cpp

private:
    void serve();
    void perform(Op& op);
    void replay(GraphLaunch& launch);

    std::mutex mutex_;
    std::condition_variable done_;
    std::vector<Op> incoming_;
    alignas(64) std::atomic<std::uint64_t> pushed_{0};
    std::atomic<std::uint32_t> bell_{0};
    std::atomic<bool> sleeping_{false};
    std::atomic<bool> stop_{false};
    alignas(64) std::atomic<std::uint64_t> completed_{0};
    std::atomic<int> waiters_{0};
};

// A handle as HIP's callers know it: null, legacy (1) and per-thread (2) mean the null stream.
std::shared_ptr<Stream> stream_of(void* handle);  // null if there is no such stream
std::shared_ptr<Stream> null_stream();
void* add_stream(std::shared_ptr<Stream> stream);
bool remove_stream(void* handle);

// Queue `op` on a stream, in the order the null stream's rules ask for, or put it into the capture under way.
// Returns a HIP error.
int submit(const std::shared_ptr<Stream>& stream, Op op);
std::uint64_t submit_now(const std::shared_ptr<Stream>& stream, Op op);  // not capturing: returns the ticket

// Wait until all streams are done, or all that the null stream waits for.
void finish_all();
void finish_blocking();
bool any_capture();  // whether some stream is capturing

}  // namespace kp
