// Device and pinned memory: between unmapped pages, so that far strays fault, and with a pattern in the bytes that are left
// on both sides, so that near ones are noticed.
#pragma once

#include <cstddef>
#include <string>

namespace kp {

struct Allocation {
    void* address = nullptr;
    std::size_t bytes = 0;  // as asked for
    bool host = false;
    unsigned flags = 0;
};

// Where an address lies that is in the unmapped pages round a buffer: "4 bytes past the end of a buffer of 256 bytes"; else "".
std::string beside_allocation(const void* address);

// Null if there is no memory.
void* allocate(std::size_t bytes, bool host, unsigned flags);
// Report (problem.h) what was written just outside of buffers.
void examine_all();
// False if nothing was allocated at exactly this address.
bool release(void* address, bool host);
// The allocation that holds `address`; false if none does.
bool find_allocation(const void* address, Allocation& found);
// False if [address, address + bytes) begins in an allocation and runs over its end.
bool within_allocation(const void* address, std::size_t bytes);

std::size_t total_memory();
std::size_t free_memory();

}  // namespace kp
