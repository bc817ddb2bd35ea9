/* CUPTI's activity interface without a GPU, for tests of what HIP on CUDA makes of its records. It hands out what
 * $STAND_IN_CUPTI_RECORDS says when it is flushed: records apart by ';', buffers by '|', fields by ',' as below.
 * $STAND_IN_CUPTI_VERSION, _BYTES (of a record), _DROPPED (records), _CUT (records of each buffer before the iteration
 * fails), _CUT_RESULT (as what) and _REPEAT (how often all is handed out) change that; $STAND_IN_CUPTI_FAIL
 * ("cuptiActivityEnable=39") lets a call fail. Calls are written to $STAND_IN_LOG. Offsets are those that NVIDIA's
 * headers of CUDA 12.0 to 13.5 give. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*request)(uint8_t**, size_t*, size_t*);
typedef void (*complete)(void*, uint32_t, uint8_t*, size_t, size_t);

enum { CONCURRENT_KERNEL = 10 };

static request ask_for_buffer;
static complete hand_out;
static uint64_t (*now)(void);
static int enabled;
static long dropped_here;

static long number(const char* name, long otherwise) {
    const char* value = getenv(name);
    return value != NULL ? atol(value) : otherwise;
}

static void say(const char* text) {
    const char* path = getenv("STAND_IN_LOG");
    FILE* log = path != NULL ? fopen(path, "a") : NULL;
    if (log == NULL) return;
    fprintf(log, "%s\n", text);
    fclose(log);
}

static int answer(const char* call) {
    const char* fail = getenv("STAND_IN_CUPTI_FAIL");
    const size_t length = strlen(call);
    if (fail != NULL && strncmp(fail, call, length) == 0 && fail[length] == '=') return atoi(fail + length + 1);
    return 0;
}

static size_t record_bytes(void) { return (size_t)number("STAND_IN_CUPTI_BYTES", 216); }

int cuptiGetVersion(uint32_t* version) {
    *version = (uint32_t)number("STAND_IN_CUPTI_VERSION", 130001);
    return answer(__func__);
}
int cuptiGetResultString(int result, const char** text) {
    if (result == 39) *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
    else if (result == 999) *text = "CUPTI_ERROR_UNKNOWN";
    else return 1;
    return 0;
}
int cuptiActivityRegisterCallbacks(request wanted, complete done) {
    say(__func__);
    ask_for_buffer = wanted;
    hand_out = done;
    return answer(__func__);
}
int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void)) {
    say(enabled ? "clock registered too late" : __func__);
    now = clock;
    return answer(__func__);
}
int cuptiActivityEnable(uint32_t kind) {
    char text[64];
    snprintf(text, sizeof text, "enable %u", kind);
    say(text);
    enabled = kind == CONCURRENT_KERNEL;
    return answer(__func__);
}
int cuptiActivityDisable(uint32_t kind) {
    char text[64];
    snprintf(text, sizeof text, "disable %u", kind);
    say(text);
    enabled = 0;
    return answer(__func__);
}

static void put(uint8_t* record, size_t offset, size_t bytes, uint64_t value) { memcpy(record + offset, &value, bytes); }

/* kind, name, start, end, stream, channel, correlation, graph, node, grid x y z, block x y z, static and dynamic shared
 * bytes, registers, local bytes per thread. A start of "now" is the registered clock's, with an end 1,000 ns later. */
static void fill(uint8_t* record, char* text) {
    static const struct { size_t offset, bytes; } places[] = {
        {48, 4}, {168, 4}, {92, 4}, {156, 4}, {144, 8}, {52, 4}, {56, 4}, {60, 4}, {64, 4}, {68, 4}, {72, 4}, {76, 4}, {80, 4}, {6, 2}, {84, 4},
    };
    char* rest = NULL;
    memset(record, 0xA5, record_bytes()); /* what is not read must not matter */
    put(record, 0, 4, strtoull(strtok_r(text, ",", &rest), NULL, 10));
    const char* name = strtok_r(NULL, ",", &rest);
    put(record, 104, 8, strcmp(name, "-") == 0 ? 0 : (uint64_t)(uintptr_t)strdup(name));
    const char* start = strtok_r(NULL, ",", &rest);
    const char* end = strtok_r(NULL, ",", &rest);
    const uint64_t at = strcmp(start, "now") == 0 ? now() : 0;
    put(record, 16, 8, at ? at : strtoull(start, NULL, 10));
    put(record, 24, 8, at ? at + 1000 : strtoull(end, NULL, 10));
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i)
        put(record, places[i].offset, places[i].bytes, strtoull(strtok_r(NULL, ",", &rest), NULL, 10));
}

static void hand_out_buffer(char* text) {
    uint8_t* buffer = NULL;
    size_t bytes = 0, most = 0, used = 0;
    char* rest = NULL;
    ask_for_buffer(&buffer, &bytes, &most);
    for (char* record = strtok_r(text, ";", &rest); record != NULL; record = strtok_r(NULL, ";", &rest)) {
        if (buffer == NULL || used + record_bytes() > bytes) {
            dropped_here += 1;
        } else {
            fill(buffer + used, record);
            used += record_bytes();
        }
    }
    if (buffer != NULL) hand_out(NULL, 0, buffer, bytes, used);
}

int cuptiActivityFlushAll(uint32_t flag) {
    char text[64];
    snprintf(text, sizeof text, "flush %u%s", flag, enabled ? " while enabled" : "");
    say(text);
    const char* records = getenv("STAND_IN_CUPTI_RECORDS");
    for (long round = number("STAND_IN_CUPTI_REPEAT", 1); records != NULL && round > 0; --round) {
        char* all = strdup(records);
        char* rest = NULL;
        for (char* buffer = strtok_r(all, "|", &rest); buffer != NULL; buffer = strtok_r(NULL, "|", &rest)) hand_out_buffer(buffer);
        free(all);
    }
    return answer(__func__);
}
int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, void** record) {
    const int refused = answer(__func__);
    const size_t index = *record == NULL ? 0 : (size_t)((uint8_t*)*record - buffer) / record_bytes() + 1;
    if (refused != 0) return refused;
    if (index == (size_t)number("STAND_IN_CUPTI_CUT", -1)) return (int)number("STAND_IN_CUPTI_CUT_RESULT", 21);
    if ((index + 1) * record_bytes() > valid) return 12;
    *record = buffer + index * record_bytes();
    return 0;
}
int cuptiActivityGetNumDroppedRecords(void* context, uint32_t stream, size_t* dropped) {
    static int told = 0;
    (void)context, (void)stream;
    *dropped = (size_t)dropped_here + (told++ ? 0 : (size_t)number("STAND_IN_CUPTI_DROPPED", 0));
    dropped_here = 0;
    return answer(__func__);
}
