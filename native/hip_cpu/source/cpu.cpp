#include "cpu.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "process.h"

namespace kp {
namespace {

std::string first_line(const std::string& path) {
    std::string text;
    if (!read_file(path, text)) return "";
    return text.substr(0, text.find('\n'));
}

std::string field(const std::string& cpuinfo, const std::string& name) {
    const std::size_t at = cpuinfo.find(name);
    if (at == std::string::npos) return "";
    const std::size_t colon = cpuinfo.find(':', at);
    if (colon == std::string::npos) return "";
    const std::size_t end = cpuinfo.find('\n', colon);
    const std::size_t begin = cpuinfo.find_first_not_of(" \t", colon + 1);
    return begin < end ? cpuinfo.substr(begin, end - begin) : "";
}

long size_bytes(const std::string& text) {
    char* end = nullptr;
    long value = std::strtol(text.c_str(), &end, 10);
    if (end != nullptr && *end == 'K') value *= 1024;
    if (end != nullptr && *end == 'M') value *= 1024 * 1024;
    return value;
}

std::vector<int> allowed_processors() {
    std::vector<int> found;
    std::vector<cpu_set_t> mask(16);  // up to 16,384 processors
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0)
        for (int i = 0; i < static_cast<int>(bytes * 8); ++i)
            if (CPU_ISSET_S(static_cast<std::size_t>(i), bytes, mask.data())) found.push_back(i);
    if (found.empty()) found.push_back(0);
    return found;
}

Cpu read_cpu() {
    Cpu result;
    std::string info;
    read_file("/proc/cpuinfo", info);
    result.model = field(info, "model name");
    if (result.model.empty()) result.model = field(info, "Model");
    if (result.model.empty()) result.model = "CPU part " + field(info, "CPU part");
    result.flags = field(info, "\nflags");
    if (result.flags.empty()) result.flags = field(info, "\nFeatures");
    std::set<std::string> seen;
    for (int processor : allowed_processors()) {
        const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/";
        std::string siblings = first_line(folder + "topology/thread_siblings_list");
        if (siblings.empty()) siblings = std::to_string(processor);
        if (seen.insert(siblings).second) result.cores.push_back(processor);
    }
    const std::string first = "/sys/devices/system/cpu/cpu" + std::to_string(result.cores.front()) + "/";
    for (int i = 0; i < 8; ++i) {
        const std::string cache = first + "cache/index" + std::to_string(i) + "/";
        const std::string level = first_line(cache + "level");
        if (level.empty()) break;
        const long size = size_bytes(first_line(cache + "size"));
        if (level == "2") result.l2_bytes = static_cast<int>(size);
        if (first_line(cache + "type") != "Instruction" && size > 0) result.last_level_bytes = size;
    }
    result.khz = std::atoi(first_line(first + "cpufreq/cpuinfo_max_freq").c_str());
    if (result.khz == 0) result.khz = static_cast<int>(std::atof(field(info, "cpu MHz").c_str()) * 1000);
    return result;
}

}  // namespace

const Cpu& cpu() {
    static const Cpu value = read_cpu();
    return value;
}

}  // namespace kp
