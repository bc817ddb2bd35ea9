#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "hip_abi.h"
#include "problem.h"
#include "process.h"

namespace kp {
namespace {

// Address space kept unmapped on both sides of a buffer. It costs no memory; a stray index of up to 262,144 floats is
// caught in it.
constexpr std::size_t guard_bytes = std::size_t{1} << 20;

// Buffers are aligned like HIP's, and end as close to the unmapped pages as that allows. What is left on both sides holds a
// pattern, which is looked at whenever somebody waits.
constexpr std::size_t buffer_alignment = 256;
constexpr std::size_t looked_at_bytes = 256;  // before a buffer; behind it, all

struct Block {
    Allocation allocation;
    void* mapping;
    std::size_t mapped_bytes;

    unsigned char* begin() const { return static_cast<unsigned char*>(allocation.address); }
    unsigned char* end() const { return begin() + allocation.bytes; }
    unsigned char* first_page() const { return static_cast<unsigned char*>(mapping) + guard_bytes; }
    unsigned char* behind_pages() const { return static_cast<unsigned char*>(mapping) + mapped_bytes - guard_bytes; }
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

unsigned char pattern(const unsigned char* address) {
    return static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(address) * 37 + 0xb1);
}

void draw(unsigned char* begin, unsigned char* end) {
    for (; begin < end; ++begin) *begin = pattern(begin);
}

// The first byte in [begin, end) that is not as it was drawn, or null.
unsigned char* damage(unsigned char* begin, unsigned char* end) {
    for (; begin < end; ++begin)
        if (*begin != pattern(begin)) return begin;
    return nullptr;
}

// Report a write outside of a buffer, once.
void examine(const Block& block) {
    const std::string size = std::to_string(block.allocation.bytes);
    if (const unsigned char* at = damage(block.end(), block.behind_pages())) {
        report(illegal_address, "something was written " + counted_bytes(static_cast<std::size_t>(at - block.end() + 1)) + " past the end of a buffer of " + size + " bytes");
        draw(block.end(), block.behind_pages());
    }
    unsigned char* before = std::max(block.first_page(), block.begin() - looked_at_bytes);
    if (damage(before, block.begin()) != nullptr) {
        report(illegal_address, "something was written before the beginning of a buffer of " + size + " bytes");
        draw(before, block.begin());
    }
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
    auto* begin = static_cast<unsigned char*>(address) + inside - (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
    const Block block{{begin, bytes, host, flags}, mapping, whole};
    draw(std::max(block.first_page(), begin - looked_at_bytes), begin);
    draw(block.end(), block.behind_pages());
    const std::lock_guard<std::mutex> lock(mutex);
    blocks()[begin] = block;
    return begin;
}

bool release(void* address, bool host) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = blocks().find(address);
    if (found == blocks().end() || found->second.allocation.host != host) return false;
    examine(found->second);
    munmap(found->second.mapping, found->second.mapped_bytes);
    blocks().erase(found);
    return true;
}

void examine_all() {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& [address, block] : blocks()) examine(block);
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

std::string beside_allocation(const void* address) {
    const auto* at = static_cast<const unsigned char*>(address);
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& [begin, block] : blocks()) {
        const auto* mapping = static_cast<const unsigned char*>(block.mapping);
        if (at < mapping || at >= mapping + block.mapped_bytes) continue;
        const std::string buffer = " of a buffer of " + std::to_string(block.allocation.bytes) + " bytes";
        if (at >= block.end()) return counted_bytes(static_cast<std::size_t>(at - block.end() + 1)) + " past the end" + buffer;
        if (at < block.begin()) return counted_bytes(static_cast<std::size_t>(block.begin() - at)) + " before the beginning" + buffer;
    }
    return "";
}

std::size_t total_memory() {
    static const std::size_t value = meminfo("MemTotal");
    return value;
}

std::size_t free_memory() { return meminfo("MemAvailable"); }

}  // namespace kp
