// hipGraph*: what a capture recorded, instantiated and replayed.
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "error.h"
#include "export.h"
#include "graph.h"

namespace kp {
namespace {

struct Graph {
    std::vector<Op> ops;
};

std::mutex mutex;
std::unordered_map<void*, std::unique_ptr<Graph>>& graphs() {
    static auto* all = new std::unordered_map<void*, std::unique_ptr<Graph>>;
    return *all;
}
std::unordered_set<void*>& executables() {
    static auto* all = new std::unordered_set<void*>;
    return *all;
}

// Call with the mutex held.
Graph* graph_of(void* handle) {
    const auto found = graphs().find(handle);
    return found == graphs().end() ? nullptr : found->second.get();
}

// The pace of all graph nodes of the same code and shape: arms that run the same instructions run them alike.
Pace* pace_of(const KernelCall& call) {
    static auto* all = new std::unordered_map<std::string, std::unique_ptr<Pace>>;
    std::string key = call.kernel->identity;
    key.append(reinterpret_cast<const char*>(&call.launch), sizeof call.launch);
    std::unique_ptr<Pace>& found = (*all)[key];
    if (!found) found = std::make_unique<Pace>();
    return found.get();
}

int instantiate(void** executable, void* handle) {
    if (executable == nullptr) return invalid_value;
    *executable = nullptr;
    const std::lock_guard<std::mutex> lock(mutex);
    const Graph* graph = graph_of(handle);
    if (graph == nullptr) return invalid_value;
    static std::uint64_t instantiated = 0;
    auto* made = new GraphOp;
    made->number = ++instantiated;
    made->ops = graph->ops;
    for (Op& op : made->ops)
        if (auto* kernel = std::get_if<KernelCall>(&op)) kernel->pace = pace_of(*kernel);
    executables().insert(made);
    *executable = made;
    return success;
}

int launch(void* executable, void* stream_handle) {
    const auto stream = stream_of(stream_handle);
    if (!stream) return invalid_handle;
    GraphOp* graph = nullptr;
    {
        const std::lock_guard<std::mutex> lock(mutex);
        if (executables().count(executable) == 0) return invalid_value;
        graph = static_cast<GraphOp*>(executable);
        graph->uses.fetch_add(1);
    }
    if (stream->capture) {
        graph->release();
        return not_supported;
    }
    return submit(stream, GraphLaunch{graph, launcher()});
}

int node_type(const Op& op) {
    if (std::holds_alternative<KernelCall>(op)) return 0;
    if (std::holds_alternative<CopyOp>(op) || std::holds_alternative<Copy2DOp>(op)) return 1;
    if (std::holds_alternative<FillOp>(op)) return 2;
    if (std::holds_alternative<HostOp>(op)) return 3;
    return 5;
}

}  // namespace

void* add_graph(std::vector<Op> ops) {
    auto graph = std::make_unique<Graph>();
    graph->ops = std::move(ops);
    void* handle = graph.get();
    const std::lock_guard<std::mutex> lock(mutex);
    graphs().emplace(handle, std::move(graph));
    return handle;
}

}  // namespace kp

using namespace kp;

KP_EXPORT int hipGraphCreate(void** graph, unsigned flags) {
    if (graph == nullptr || flags != 0) return kept(invalid_value);
    *graph = add_graph({});
    return success;
}

KP_EXPORT int hipGraphDestroy(void* graph) {
    const std::lock_guard<std::mutex> lock(mutex);
    return kept(graphs().erase(graph) == 1 ? success : invalid_value);
}

KP_EXPORT int hipGraphInstantiate(void** executable, void* graph, void** error_node, char* log, std::size_t log_bytes) {
    if (error_node != nullptr) *error_node = nullptr;
    if (log != nullptr && log_bytes > 0) *log = '\0';
    return kept(instantiate(executable, graph));
}

KP_EXPORT int hipGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
    return kept(instantiate(executable, graph));
}

KP_EXPORT int hipGraphLaunch(void* executable, void* stream) { return kept(launch(executable, stream)); }

// Nothing to upload: a graph is ready once it is instantiated.
KP_EXPORT int hipGraphUpload(void* executable, void*) {
    const std::lock_guard<std::mutex> lock(mutex);
    return kept(executables().count(executable) != 0 ? success : invalid_value);
}

KP_EXPORT int hipGraphExecDestroy(void* executable) {
    {
        const std::lock_guard<std::mutex> lock(mutex);
        if (executables().erase(executable) != 1) return kept(invalid_value);
    }
    static_cast<GraphOp*>(executable)->release();
    return success;
}

// Node handles are places in their graph; they live as long as it does.
KP_EXPORT int hipGraphGetNodes(void* handle, void** nodes, std::size_t* count) {
    const std::lock_guard<std::mutex> lock(mutex);
    Graph* graph = graph_of(handle);
    if (graph == nullptr || count == nullptr) return kept(invalid_value);
    if (nodes != nullptr)
        for (std::size_t i = 0; i < *count; ++i) nodes[i] = i < graph->ops.size() ? &graph->ops[i] : nullptr;
    if (nodes == nullptr || *count > graph->ops.size()) *count = graph->ops.size();
    return success;
}

KP_EXPORT int hipGraphNodeGetType(void* node, int* type) {
    if (node == nullptr || type == nullptr) return kept(invalid_value);
    *type = node_type(*static_cast<const Op*>(node));
    return success;
}
