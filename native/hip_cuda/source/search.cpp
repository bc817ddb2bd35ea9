#include "search.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace kp {

const char* setting(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string parent(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool readable(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

std::vector<std::string> folders_of(const char* name) {
    std::vector<std::string> folders;
    const char* value = setting(name);
    const std::string text = value != nullptr ? value : "";
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(':', begin), text.size());
        if (end > begin) folders.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return folders;
}

std::vector<std::string> libraries_in(const std::string& folder, const std::string& stem) {
    const std::string start = stem + ".so";
    std::vector<std::pair<long, std::string>> found;
    if (DIR* entries = opendir(folder.c_str())) {
        while (const dirent* entry = readdir(entries)) {
            const std::string name = entry->d_name;
            if (name.compare(0, start.size(), start) != 0) continue;
            const std::string rest = name.substr(start.size());
            if (!rest.empty() && rest[0] != '.') continue;
            found.emplace_back(rest.empty() ? 0 : std::strtol(rest.c_str() + 1, nullptr, 10), folder + "/" + name);
        }
        closedir(entries);
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<std::string> paths;
    for (auto& [number, path] : found) paths.push_back(std::move(path));
    return paths;
}

std::vector<std::string> toolkits() {
    std::vector<std::string> roots;
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* value = setting(name)) roots.emplace_back(value);
    roots.emplace_back(default_toolkit);
    return roots;
}

}  // namespace kp
