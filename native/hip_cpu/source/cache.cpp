#include "cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "process.h"
#include "sha256.h"

namespace kp {
namespace {

constexpr char magic[] = "KPCACHE1";

void put(std::string& out, const std::string& part) {
    const unsigned long long size = part.size();
    out.append(reinterpret_cast<const char*>(&size), sizeof size).append(part);
}

bool take(const std::string& in, std::size_t& at, std::string& part) {
    unsigned long long size;
    if (in.size() - at < sizeof size) return false;
    std::memcpy(&size, in.data() + at, sizeof size);
    at += sizeof size;
    if (in.size() - at < size) return false;
    part = in.substr(at, size);
    at += size;
    return true;
}

}  // namespace

std::string cache_folder() {
    const char* base = std::getenv("XDG_CACHE_HOME");
    if (base != nullptr && *base == '/') return std::string(base) + "/kernelperf/hip_cpu";
    const char* home = std::getenv("HOME");
    return home != nullptr && *home == '/' ? std::string(home) + "/.cache/kernelperf/hip_cpu" : "";
}

// A file: magic, SHA-256 of the rest, then length-prefixed parts. A damaged file reads as absent.
bool cache_read(const std::string& key, Compiled& compiled) {
    const std::string folder = cache_folder();
    std::string bytes;
    if (folder.empty() || !read_file(folder + "/" + key, bytes)) return false;
    const std::size_t head = sizeof magic - 1 + 64;
    if (bytes.size() < head || bytes.compare(0, sizeof magic - 1, magic) != 0) return false;
    if (bytes.compare(sizeof magic - 1, 64, sha256_hex(std::string_view(bytes).substr(head))) != 0) return false;
    std::size_t at = head;
    if (!take(bytes, at, compiled.object) || !take(bytes, at, compiled.log)) return false;
    for (std::string name; at < bytes.size() && take(bytes, at, name);) compiled.lowered.push_back(name);
    return true;
}

void cache_write(const std::string& key, const Compiled& compiled) {
    const std::string folder = cache_folder();
    if (folder.empty() || !make_folders(folder)) return;
    std::string rest;
    put(rest, compiled.object);
    put(rest, compiled.log);
    for (const std::string& name : compiled.lowered) put(rest, name);
    static std::atomic<unsigned> counter{0};
    const std::string temporary = folder + "/." + key + "." + std::to_string(getpid()) + "." + std::to_string(counter++);
    if (!write_file(temporary, magic + sha256_hex(rest) + rest) || std::rename(temporary.c_str(), (folder + "/" + key).c_str()) != 0)
        std::remove(temporary.c_str());
}

}  // namespace kp
