// hipGraph*: what a capture recorded, instantiated and replayed.
#include "context.h"
#include "export.h"

using namespace kp;

KP_EXPORT int hipGraphCreate(void** graph, unsigned flags) { return forward(&Driver::graph_create, graph, flags); }
KP_EXPORT int hipGraphDestroy(void* graph) { return forward(&Driver::graph_destroy, graph); }
KP_EXPORT int hipGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
    if (executable == nullptr) return kept(invalid_value);
    *executable = nullptr;
    return forward(&Driver::graph_instantiate, executable, graph, flags);
}
KP_EXPORT int hipGraphInstantiate(void** executable, void* graph, void** error_node, char* log, std::size_t log_bytes) {
    if (error_node != nullptr) *error_node = nullptr;
    if (log != nullptr && log_bytes > 0) *log = '\0';
    return hipGraphInstantiateWithFlags(executable, graph, 0);
}
KP_EXPORT int hipGraphUpload(void* executable, void* stream) { return forward(&Driver::graph_upload, executable, stream); }
KP_EXPORT int hipGraphLaunch(void* executable, void* stream) { return forward(&Driver::graph_launch, executable, stream); }
KP_EXPORT int hipGraphExecDestroy(void* executable) { return forward(&Driver::graph_free, executable); }
KP_EXPORT int hipGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
    return forward(&Driver::graph_nodes, graph, nodes, count);
}
KP_EXPORT int hipGraphNodeGetType(void* node, int* type) { return forward(&Driver::node_type, node, type); }
