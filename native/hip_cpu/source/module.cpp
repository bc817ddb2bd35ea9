#include "module.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "container.h"
#include "device.h"
#include "footprint.h"
#include "hip_abi.h"

namespace kp {
namespace {

constexpr const char* thunk_prefix = "kernelperf_thunk_";
constexpr const char* parameters_prefix = "kernelperf_parameters_";
constexpr const char* bounds_prefix = "kernelperf_bounds_";

std::mutex handles_mutex;
std::unordered_set<const void*>& modules() {
    static auto* all = new std::unordered_set<const void*>;
    return *all;
}
std::unordered_set<const void*>& functions() {
    static auto* all = new std::unordered_set<const void*>;
    return *all;
}

bool known(const std::unordered_set<const void*>& set, const void* handle) {
    const std::lock_guard<std::mutex> lock(handles_mutex);
    return set.count(handle) != 0;
}

void know(std::unordered_set<const void*>& set, const void* handle, bool is_known) {
    const std::lock_guard<std::mutex> lock(handles_mutex);
    if (is_known) set.insert(handle);
    else set.erase(handle);
}

// A file without a name that can be loaded from; the descriptor stays open, since loaders know libraries by path.
int anonymous_file(const char* bytes, std::size_t size) {
    int fd = memfd_create("kernelperf-module", MFD_CLOEXEC);
    if (fd < 0) {
        char path[] = "/tmp/kernelperf-module-XXXXXX";
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0) unlink(path);
    }
    for (std::size_t done = 0; fd >= 0 && done < size;) {
        const ssize_t n = write(fd, bytes + done, size - done);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        done += static_cast<std::size_t>(n);
    }
    return fd;
}

unsigned count_thunks(const char* elf, std::size_t size) {
    if (size < sizeof(ElfW(Ehdr))) return 0;
    ElfW(Ehdr) head;
    std::memcpy(&head, elf, sizeof head);
    unsigned count = 0;
    for (unsigned i = 0; i < head.e_shnum; ++i) {
        ElfW(Shdr) section, strings;
        const std::size_t at = head.e_shoff + std::size_t{i} * sizeof section;
        if (at + sizeof section > size) return 0;
        std::memcpy(&section, elf + at, sizeof section);
        if (section.sh_type != SHT_DYNSYM || section.sh_link >= head.e_shnum) continue;
        const std::size_t strings_at = head.e_shoff + section.sh_link * sizeof strings;
        if (strings_at + sizeof strings > size || section.sh_offset + section.sh_size > size) return 0;
        std::memcpy(&strings, elf + strings_at, sizeof strings);
        if (strings.sh_offset + strings.sh_size > size) return 0;
        for (std::size_t s = 0; s + sizeof(ElfW(Sym)) <= section.sh_size; s += sizeof(ElfW(Sym))) {
            ElfW(Sym) symbol;
            std::memcpy(&symbol, elf + section.sh_offset + s, sizeof symbol);
            if (symbol.st_name < strings.sh_size &&
                std::strncmp(elf + strings.sh_offset + symbol.st_name, thunk_prefix, std::strlen(thunk_prefix)) == 0)
                ++count;
        }
    }
    return count;
}

}  // namespace

bool known_module(const void* handle) { return known(modules(), handle); }
bool known_function(const void* handle) { return known(functions(), handle); }
void know_module(const void* handle, bool is_known) { know(modules(), handle, is_known); }
void know_function(const void* handle, bool is_known) { know(functions(), handle, is_known); }

std::unique_ptr<Module> Module::load(const void* image, int& error) {
    ContainerHeader head;
    std::memcpy(&head, image, sizeof head.magic);
    error = invalid_image;
    if (std::memcmp(head.magic, container_magic, sizeof head.magic) != 0) return nullptr;
    std::memcpy(&head, image, sizeof head);
    if (head.version != container_version || head.shared_offset < sizeof head || head.total_bytes < head.shared_offset ||
        head.shared_bytes > head.total_bytes - head.shared_offset)
        return nullptr;
    const char* shared = static_cast<const char*>(image) + head.shared_offset;
    std::unique_ptr<Module> module(new Module);
    module->file_ = anonymous_file(shared, head.shared_bytes);
    if (module->file_ < 0) {
        error = out_of_memory;
        return nullptr;
    }
    const std::string path = "/proc/self/fd/" + std::to_string(module->file_);
    module->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module->library_ == nullptr) {
        error = shared_object_init_failed;
        return nullptr;
    }
    module->content_ = std::to_string(std::hash<std::string_view>()(std::string_view(shared, head.shared_bytes)));
    module->count_ = count_thunks(shared, head.shared_bytes);
    if (head.relocatable_offset <= head.total_bytes && head.relocatable_bytes <= head.total_bytes - head.relocatable_offset)
        module->static_shared_ = shared_bytes_of({static_cast<const char*>(image) + head.relocatable_offset, head.relocatable_bytes});
    error = success;
    return module;
}

Module::~Module() {
    for (const auto& [name, function] : functions_) know_function(function.get(), false);
    if (library_ != nullptr) dlclose(library_);
    if (file_ >= 0) close(file_);
}

void* Module::symbol(const std::string& name, std::size_t* bytes) const {
    void* address = dlsym(library_, name.c_str());
    if (address == nullptr || bytes == nullptr) return address;
    *bytes = 0;
    Dl_info info;
    const ElfW(Sym)* entry = nullptr;
    if (dladdr1(address, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&entry)), RTLD_DL_SYMENT) != 0 && entry != nullptr &&
        info.dli_sname != nullptr && name == info.dli_sname)
        *bytes = entry->st_size;
    return address;
}

Function* Module::function(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = functions_.find(name);
    if (found != functions_.end()) return found->second.get();
    void* thunk = symbol(thunk_prefix + name, nullptr);
    if (thunk == nullptr) return nullptr;
    auto made = std::make_unique<Function>();
    made->name = name;
    made->thunk = reinterpret_cast<Thunk>(thunk);
    std::size_t bytes = 0;
    if (const void* table = symbol(parameters_prefix + name, &bytes)) {
        made->parameters.resize(bytes / sizeof(Parameter));
        std::memcpy(static_cast<void*>(made->parameters.data()), table, made->parameters.size() * sizeof(Parameter));
    }
    made->max_threads = max_threads_per_block;
    if (const void* bounds = symbol(bounds_prefix + name, nullptr))
        if (const unsigned most = *static_cast<const unsigned*>(bounds); most != 0) made->max_threads = std::min(made->max_threads, most);
    if (const auto found_shared = static_shared_.find(name); found_shared != static_shared_.end()) made->shared_bytes = found_shared->second;
    made->known = know_kernel(content_ + "/" + name, name, made->shared_bytes);
    for (const Parameter& p : made->parameters) {
        const std::uint32_t alignment = p.alignment != 0 ? p.alignment : 1;
        made->argument_bytes = (made->argument_bytes + alignment - 1) / alignment * alignment;
        made->offsets.push_back(made->argument_bytes);
        made->argument_bytes += p.size;
    }
    Function* handle = made.get();
    know_function(handle, true);
    functions_.emplace(name, std::move(made));
    return handle;
}

bool Module::global(const std::string& name, void** address, std::size_t* bytes) const {
    std::size_t size = 0;
    void* found = symbol(name, &size);
    if (found == nullptr || name.compare(0, std::strlen(thunk_prefix), thunk_prefix) == 0) return false;
    if (address != nullptr) *address = found;
    if (bytes != nullptr) *bytes = size;
    return true;
}

}  // namespace kp
