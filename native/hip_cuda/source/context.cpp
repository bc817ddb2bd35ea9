#include "context.h"

#include <map>
#include <mutex>

namespace kp {

thread_local bool entered = false;
const Driver* calls = nullptr;

namespace {

thread_local int device_of_thread = 0;

std::mutex mutex;
std::map<int, Handle>& contexts() {
    static auto* all = new std::map<int, Handle>;
    return *all;
}

// The primary context is retained once and never released: modules and buffers live in it until the process ends.
int context_of(int device, Handle& context) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = contexts().find(device);
    if (found != contexts().end()) {
        context = found->second;
        return cuda_success;
    }
    int cuda_device = 0;
    int error = calls->device_get(&cuda_device, device);
    if (error == cuda_success) error = calls->retain_context(&context, cuda_device);
    if (error == cuda_success) contexts().emplace(device, context);
    return error;
}

}  // namespace

int started() {
    const OpenedDriver& opened = driver();
    if (!opened.opened) return no_device;
    if (opened.start != cuda_success) return hip_error(opened.start);
    calls = &opened.calls;
    return opened.devices > 0 ? success : no_device;
}

int enter_slowly() {
    const int error = started();
    if (error != success) return error;
    Handle context = nullptr;
    int cuda = context_of(device_of_thread, context);
    if (cuda == cuda_success) cuda = calls->set_context(context);
    if (cuda != cuda_success) return hip_error(cuda);
    entered = true;
    return success;
}

int choose_device(int device) {
    const int error = started();
    if (error != success) return error;
    if (!exists(device)) return invalid_device;
    if (device != device_of_thread) entered = false;
    device_of_thread = device;
    return enter();
}

int chosen_device() { return device_of_thread; }

int wait_for_all() {
    std::map<int, Handle> all;
    {
        const std::lock_guard<std::mutex> lock(mutex);
        all = contexts();
    }
    int first = cuda_success;
    const auto note = [&first](int error) {
        if (first == cuda_success) first = error;
    };
    for (const auto& [device, context] : all) {
        const int error = calls->set_context(context);
        note(error);
        if (error == cuda_success) note(calls->context_synchronise());
    }
    entered = false;  // this thread's own device again, on its next call
    return first;
}

bool exists(int device) { return device >= 0 && device < driver().devices; }

}  // namespace kp
