// Loaded code objects and their kernels.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "launch.h"

namespace kp {

struct Parameter {
    char kind, pointee_kind;
    std::uint16_t alignment;
    std::uint32_t size, pointee_size, zero;
};

struct Function {
    std::string name;
    const KnownKernel* known = nullptr;
    Thunk thunk = nullptr;
    std::vector<Parameter> parameters;
    std::vector<std::uint32_t> offsets;  // of each parameter in the packed buffer
    std::uint32_t argument_bytes = 0;
    unsigned max_threads = 0;  // of a workgroup
    std::size_t shared_bytes = 0;  // static
    Pace pace;
};

class Module {
public:
    // Null and a HIP error if `image` is no code object of ours that loads here.
    static std::unique_ptr<Module> load(const void* image, int& error);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    Function* function(const std::string& name);  // null if there is no such kernel
    bool global(const std::string& name, void** address, std::size_t* bytes) const;
    unsigned function_count() const { return count_; }

private:
    Module() = default;
    void* symbol(const std::string& name, std::size_t* bytes) const;

    std::string content_;  // hash of the loaded bytes
    int file_ = -1;
    void* library_ = nullptr;
    unsigned count_ = 0;
    std::map<std::string, std::size_t> static_shared_;
    std::mutex mutex_;
    std::map<std::string, std::unique_ptr<Function>> functions_;
};

// Handles given out and not yet taken back.
bool known_module(const void* handle);
bool known_function(const void* handle);
void know_module(const void* handle, bool known);
void know_function(const void* handle, bool known);

}  // namespace kp
