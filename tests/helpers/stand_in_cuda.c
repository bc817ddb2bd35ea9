/* A CUDA driver without a GPU, for tests of what HIP on CUDA hands on: memory is the host's, launches are printed to
 * $STAND_IN_LOG, and $STAND_IN_FAIL ("cuLaunchKernel=700") makes one call fail. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t address;
typedef void* handle;

static int answer(const char* call) {
    const char* fail = getenv("STAND_IN_FAIL");
    const size_t length = strlen(call);
    if (fail != NULL && strncmp(fail, call, length) == 0 && fail[length] == '=') return atoi(fail + length + 1);
    return 0;
}

static void say(const char* text) {
    const char* path = getenv("STAND_IN_LOG");
    FILE* log = path != NULL ? fopen(path, "a") : NULL;
    if (log == NULL) return;
    fprintf(log, "%s\n", text);
    fclose(log);
}

static handle thing(void) { return malloc(16); }

static int devices(void) {
    const char* count = getenv("STAND_IN_DEVICES");
    return count != NULL ? atoi(count) : 2;
}

#define DONE return answer(__func__)
#define GIVE(target, value)          \
    do {                             \
        *(target) = (value);         \
        return answer(__func__);     \
    } while (0)

int cuInit(unsigned flags) { (void)flags; DONE; }
/* NVRTC asks for the driver's private tables, and does without them. */
int cuGetExportTable(const void** table, const void* id) { (void)table, (void)id; return 500; }
int cuDriverGetVersion(int* version) {
    const char* said = getenv("STAND_IN_DRIVER");
    GIVE(version, said != NULL ? atoi(said) : 13000);
}
int cuGetErrorName(int code, const char** name) {
    if (code == 716) *name = "CUDA_ERROR_MISALIGNED_ADDRESS";
    else if (code == 999) *name = "CUDA_ERROR_UNKNOWN";
    else return 1;
    return 0;
}
int cuDeviceGetCount(int* count) { GIVE(count, devices()); }
int cuDeviceGet(int* device, int ordinal) { GIVE(device, ordinal); }
/* The value says which attribute of which device was asked for. */
int cuDeviceGetAttribute(int* value, int attribute, int device) {
    if (attribute == 75) GIVE(value, 9);
    if (attribute == 76) GIVE(value, 0);
    GIVE(value, attribute + 1000 * device);
}
int cuDeviceGetName(char* name, int length, int device) { snprintf(name, length, "Stand-in %d", device); DONE; }
int cuDeviceGetPCIBusId(char* name, int length, int device) { snprintf(name, length, "0000:c%d:00.0", device); DONE; }
int cuDeviceGetUuid(char* uuid, int device) { memset(uuid, device, 16); DONE; }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { (void)device; GIVE(bytes, (size_t)141 << 30); }
int cuDevicePrimaryCtxRetain(handle* context, int device) {
    char text[64];
    snprintf(text, sizeof text, "retain %d", device);
    say(text);
    GIVE(context, (handle)(uintptr_t)(100 + device));
}
int cuCtxSetCurrent(handle context) {
    char text[64];
    snprintf(text, sizeof text, "current %d", (int)(uintptr_t)context - 100);
    say(text);
    DONE;
}
int cuCtxGetDevice(int* device) { (void)device; return 201; }
int cuCtxSynchronize(void) { DONE; }
int cuCtxGetStreamPriorityRange(int* least, int* greatest) { *least = 0; GIVE(greatest, -5); }

int cuMemAlloc_v2(address* a, size_t bytes) { GIVE(a, (address)(uintptr_t)malloc(bytes)); }
int cuMemAllocManaged(address* a, size_t bytes, unsigned flags) { (void)flags; GIVE(a, (address)(uintptr_t)malloc(bytes)); }
int cuMemAllocAsync(address* a, size_t bytes, handle stream) { (void)stream; GIVE(a, (address)(uintptr_t)malloc(bytes)); }
int cuMemFree_v2(address a) { free((void*)(uintptr_t)a); DONE; }
int cuMemFreeAsync(address a, handle stream) { (void)stream; free((void*)(uintptr_t)a); DONE; }
int cuMemHostAlloc(void** a, size_t bytes, unsigned flags) {
    char text[64];
    snprintf(text, sizeof text, "host memory with flags %u", flags);
    say(text);
    GIVE(a, malloc(bytes));
}
int cuMemFreeHost(void* a) { free(a); DONE; }
int cuMemHostGetDevicePointer_v2(address* a, void* host, unsigned flags) { (void)flags; GIVE(a, (address)(uintptr_t)host); }
int cuMemHostGetFlags(unsigned* flags, void* host) { (void)host; GIVE(flags, 2); }
int cuMemHostRegister_v2(void* host, size_t bytes, unsigned flags) { (void)host, (void)bytes, (void)flags; DONE; }
int cuMemHostUnregister(void* host) { (void)host; DONE; }
int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) { *free_bytes = 7; GIVE(total, 8); }
int cuMemGetAddressRange_v2(address* base, size_t* bytes, address a) { *base = a; GIVE(bytes, 1); }
int cuPointerGetAttribute(void* value, int attribute, address a) { (void)value, (void)attribute, (void)a; return 1; }

static int move(const char* call, const void* target, const void* source, size_t bytes) {
    say(call);
    memmove((void*)target, source, bytes);
    return answer(call);
}
#define AT(a) ((void*)(uintptr_t)(a))
int cuMemcpy(address t, address s, size_t n) { return move("cuMemcpy", AT(t), AT(s), n); }
int cuMemcpyHtoD_v2(address t, const void* s, size_t n) { return move("cuMemcpyHtoD_v2", AT(t), s, n); }
int cuMemcpyDtoH_v2(void* t, address s, size_t n) { return move("cuMemcpyDtoH_v2", t, AT(s), n); }
int cuMemcpyDtoD_v2(address t, address s, size_t n) { return move("cuMemcpyDtoD_v2", AT(t), AT(s), n); }
int cuMemcpyAsync(address t, address s, size_t n, handle q) { (void)q; return move("cuMemcpyAsync", AT(t), AT(s), n); }
int cuMemcpyHtoDAsync_v2(address t, const void* s, size_t n, handle q) { (void)q; return move("cuMemcpyHtoDAsync_v2", AT(t), s, n); }
int cuMemcpyDtoHAsync_v2(void* t, address s, size_t n, handle q) { (void)q; return move("cuMemcpyDtoHAsync_v2", t, AT(s), n); }
int cuMemcpyDtoDAsync_v2(address t, address s, size_t n, handle q) { (void)q; return move("cuMemcpyDtoDAsync_v2", AT(t), AT(s), n); }
int cuMemsetD8_v2(address t, unsigned char v, size_t n) { memset(AT(t), v, n); DONE; }
int cuMemsetD16_v2(address t, unsigned short v, size_t n) { for (size_t i = 0; i < n; ++i) ((unsigned short*)AT(t))[i] = v; DONE; }
int cuMemsetD32_v2(address t, unsigned v, size_t n) { for (size_t i = 0; i < n; ++i) ((unsigned*)AT(t))[i] = v; DONE; }
int cuMemsetD8Async(address t, unsigned char v, size_t n, handle q) { (void)q; return cuMemsetD8_v2(t, v, n); }
int cuMemsetD16Async(address t, unsigned short v, size_t n, handle q) { (void)q; return cuMemsetD16_v2(t, v, n); }
int cuMemsetD32Async(address t, unsigned v, size_t n, handle q) { (void)q; return cuMemsetD32_v2(t, v, n); }

int cuStreamCreateWithPriority(handle* stream, unsigned flags, int priority) { (void)flags, (void)priority; GIVE(stream, thing()); }
int cuStreamDestroy_v2(handle stream) { free(stream); DONE; }
int cuStreamSynchronize(handle stream) { (void)stream; DONE; }
int cuStreamQuery(handle stream) { (void)stream; DONE; }
int cuStreamWaitEvent(handle stream, handle event, unsigned flags) { (void)stream, (void)event, (void)flags; DONE; }
int cuStreamGetFlags(handle stream, unsigned* flags) { (void)stream; GIVE(flags, 1); }
int cuStreamGetPriority(handle stream, int* priority) { (void)stream; GIVE(priority, 0); }
int cuLaunchHostFunc(handle stream, void (*function)(void*), void* data) { (void)stream; function(data); DONE; }
int cuStreamBeginCapture_v2(handle stream, int mode) { (void)stream, (void)mode; DONE; }
int cuStreamEndCapture(handle stream, handle* graph) { (void)stream; GIVE(graph, thing()); }
int cuStreamIsCapturing(handle stream, int* status) { (void)stream; GIVE(status, 0); }
int cuThreadExchangeStreamCaptureMode(int* mode) { (void)mode; DONE; }

int cuEventCreate(handle* event, unsigned flags) {
    char text[64];
    snprintf(text, sizeof text, "event with flags %u", flags);
    say(text);
    GIVE(event, thing());
}
int cuEventDestroy_v2(handle event) { free(event); DONE; }
int cuEventRecord(handle event, handle stream) { (void)event, (void)stream; DONE; }
int cuEventRecordWithFlags(handle event, handle stream, unsigned flags) { (void)event, (void)stream, (void)flags; DONE; }
int cuEventQuery(handle event) { (void)event; DONE; }
int cuEventSynchronize(handle event) { (void)event; DONE; }
int cuEventElapsedTime(float* ms, handle start, handle stop) { (void)start, (void)stop; GIVE(ms, 1.5f); }

int cuGraphCreate(handle* graph, unsigned flags) { (void)flags; GIVE(graph, thing()); }
int cuGraphDestroy(handle graph) { free(graph); DONE; }
int cuGraphInstantiateWithFlags(handle* executable, handle graph, unsigned long long flags) { (void)graph, (void)flags; GIVE(executable, thing()); }
int cuGraphLaunch(handle executable, handle stream) { (void)executable, (void)stream; DONE; }
int cuGraphUpload(handle executable, handle stream) { (void)executable, (void)stream; DONE; }
int cuGraphExecDestroy(handle executable) { free(executable); DONE; }
int cuGraphGetNodes(handle graph, handle* nodes, size_t* count) { (void)graph, (void)nodes; GIVE(count, 0); }
int cuGraphNodeGetType(handle node, int* type) { (void)node; GIVE(type, 0); }

int cuModuleLoadData(handle* module, const void* image) { (void)image; GIVE(module, thing()); }
int cuModuleUnload(handle module) { free(module); DONE; }
int cuModuleGetFunction(handle* function, handle module, const char* name) { (void)module, (void)name; GIVE(function, thing()); }
int cuModuleGetGlobal_v2(address* a, size_t* bytes, handle module, const char* name) { (void)module, (void)name; *bytes = 4; GIVE(a, 4096); }
int cuFuncGetAttribute(int* value, int attribute, handle function) { (void)function; GIVE(value, 10 + attribute); }
int cuFuncSetAttribute(handle function, int attribute, int value) {
    char text[64];
    (void)function;
    snprintf(text, sizeof text, "function attribute %d = %d", attribute, value);
    say(text);
    DONE;
}
int cuLaunchKernel(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   handle stream, void** parameters, void** extra) {
    char text[256];
    (void)function, (void)stream;
    int written = snprintf(text, sizeof text, "launch %u %u %u / %u %u %u shared %u", gx, gy, gz, bx, by, bz, shared);
    if (parameters != NULL) snprintf(text + written, sizeof text - written, " parameter %d", *(int*)parameters[0]);
    if (extra != NULL) {
        for (; *extra != NULL; extra += 2) {
            const int size = (uintptr_t)extra[0] == 2;
            written += snprintf(text + written, sizeof text - written, size ? " size %zu" : " first %zu",
                                size ? *(size_t*)extra[1] : (size_t)*(int*)extra[1]);
        }
    }
    say(text);
    DONE;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, handle function, int size, size_t shared, unsigned flags) {
    (void)function, (void)size, (void)shared, (void)flags;
    GIVE(blocks, 8);
}
int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, handle function, void* shared_of, size_t shared, int limit) {
    (void)function, (void)shared_of, (void)shared, (void)limit;
    *grid = 132;
    GIVE(block, 256);
}
