#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "process.h"

namespace kp {
namespace {

// Address space kept unmapped on both sides of a buffer. It costs no memory; a stray index of up to 262,144 floats is
// caught in it.
constexpr std::size_t guard_bytes = std::size_t{1} << 20;

struct Block {
    Allocation allocation;
    void* mapping;
    std::size_t mapped_bytes;
};

std::mutex mutex;
std::map<const void*, Block>& blocks() {
    static auto* all = new std::map<const void*, Block>;
    return *all;
}

std::size_t rounded(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

// The block that begins at or before `address`, if it holds it.
const Block* holder(const void* address) {
    auto& all = blocks();
    auto next = all.upper_bound(address);
    if (next == all.begin()) return nullptr;
    const Block& block = std::prev(next)->second;
    const auto* begin = static_cast<const char*>(block.allocation.address);
    return static_cast<const char*>(address) < begin + block.allocation.bytes ? &block : nullptr;
}

std::size_t meminfo(const std::string& name) {
    std::string text;
    read_file("/proc/meminfo", text);
    const std::size_t at = text.find(name + ":");
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + name.size() + 1, nullptr, 10) * 1024;
}

}  // namespace

void* allocate(std::size_t bytes, bool host, unsigned flags) {
    if (bytes > total_memory()) return nullptr;
    const std::size_t inside = rounded(bytes), whole = inside + 2 * guard_bytes;
    void* mapping = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return nullptr;
    void* address = static_cast<char*>(mapping) + guard_bytes;
    if (mprotect(address, inside, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapping, whole);
        return nullptr;
    }
    const std::lock_guard<std::mutex> lock(mutex);
    blocks()[address] = Block{{address, bytes, host, flags}, mapping, whole};
    return address;
}

bool release(void* address, bool host) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = blocks().find(address);
    if (found == blocks().end() || found->second.allocation.host != host) return false;
    munmap(found->second.mapping, found->second.mapped_bytes);
    blocks().erase(found);
    return true;
}

bool find_allocation(const void* address, Allocation& found) {
    const std::lock_guard<std::mutex> lock(mutex);
    const Block* block = holder(address);
    if (block != nullptr) found = block->allocation;
    return block != nullptr;
}

bool within_allocation(const void* address, std::size_t bytes) {
    Allocation found;
    if (!find_allocation(address, found)) return true;
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(address) - static_cast<const char*>(found.address));
    return bytes <= found.bytes - offset;
}

std::size_t total_memory() {
    static const std::size_t value = meminfo("MemTotal");
    return value;
}

std::size_t free_memory() { return meminfo("MemAvailable"); }

}  // namespace kp
