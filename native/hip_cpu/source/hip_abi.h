// The part of HIP's C interface that we answer to: numbers and layouts as in HIP 7's headers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "property.h"

namespace kp {

enum Error : int {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    invalid_configuration = 9,
    invalid_symbol = 13,
    invalid_device_pointer = 17,
    invalid_memcpy_direction = 21,
    invalid_device_function = 98,
    no_device = 100,
    invalid_device = 101,
    invalid_image = 200,
    invalid_context = 201,
    no_binary_for_gpu = 209,
    file_not_found = 301,
    shared_object_init_failed = 303,
    invalid_handle = 400,
    illegal_state = 401,
    not_found = 500,
    not_ready = 600,
    illegal_address = 700,
    assertion_failed = 710,
    launch_failure = 719,
    not_supported = 801,
    capture_unsupported = 900,
    capture_invalidated = 901,
    capture_merge = 902,
    capture_unmatched = 903,
    capture_unjoined = 904,
    capture_isolation = 905,
    capture_implicit = 906,
    captured_event = 907,
    capture_wrong_thread = 908,
    unknown_error = 999,
};

enum MemcpyKind : int { host_to_host = 0, host_to_device = 1, device_to_host = 2, device_to_device = 3, default_kind = 4 };

constexpr unsigned stream_non_blocking = 1;
constexpr unsigned event_blocking_sync = 1, event_disable_timing = 2;
constexpr unsigned record_external = 1;

struct Dim3 {
    unsigned x, y, z;
};

}  // namespace kp
