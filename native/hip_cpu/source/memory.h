// Device and pinned memory: whole pages, with unmapped pages behind (and before), so that far strays fault.
#pragma once

#include <cstddef>

namespace kp {

struct Allocation {
    void* address = nullptr;
    std::size_t bytes = 0;  // as asked for
    bool host = false;
    unsigned flags = 0;
};

// Null if there is no memory.
void* allocate(std::size_t bytes, bool host, unsigned flags);
// False if nothing was allocated at exactly this address.
bool release(void* address, bool host);
// The allocation that holds `address`; false if none does.
bool find_allocation(const void* address, Allocation& found);
// False if [address, address + bytes) begins in an allocation and runs over its end.
bool within_allocation(const void* address, std::size_t bytes);

std::size_t total_memory();
std::size_t free_memory();

}  // namespace kp
