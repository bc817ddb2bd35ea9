// Each thread's device, and the primary context behind it; the way from a HIP call to the driver's.
#pragma once

#include "driver.h"
#include "error.h"

namespace kp {

// Per thread, read before every call: its device's context is current. (initial-exec: one load, no function call.)
extern thread_local bool entered __attribute__((tls_model("initial-exec")));

// The driver's calls; only after `enter` or `started` succeeded.
extern const Driver* calls;

// Start the driver. Returns a HIP error.
int started();

// Make this thread's device current, its primary context made on first use. Returns a HIP error.
int enter_slowly();
inline int enter() { return __builtin_expect(entered, true) ? success : enter_slowly(); }

// Choose this thread's device.
int choose_device(int device);
int chosen_device();

// Wait until all that was given to any device is done. Returns CUDA's first error.
int wait_for_all();

// Whether there is such a device.
bool exists(int device);

// A driver's result as a HIP error, kept for hipGetLastError.
inline int answered(int cuda) { return cuda == cuda_success ? success : kept(hip_error(cuda), cuda); }

// Call a driver function of a context; HIP's error.
template <class... Parameters, class... Arguments>
int forward(int (*Driver::*function)(Parameters...), Arguments... arguments) {
    const int error = enter();
    if (error != success) return kept(error);
    if (calls->*function == nullptr) return kept(not_supported);
    return answered((calls->*function)(arguments...));
}

}  // namespace kp
