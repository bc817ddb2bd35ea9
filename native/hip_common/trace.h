/* Recording of kernel launches as our own runtimes offer it: which of libamdhip64.so's functions start and stop it, and the
 * record that one dispatch leaves. C, so that tools may use it too; pytest_kernelperf/runtime/recorder.py restates it.
 *
 * All functions may be called in any order and from any thread. Nothing is recorded, and nothing costs anything, before
 * Start. Dispatches are kept in memory, up to a limit; what goes beyond it is counted.
 *
 *     kernelperfTraceStart(0);
 *     ... launches, and a wait for them ...
 *     kernelperfTraceStop();
 *     while ((count = kernelperfTraceTake(records, 1000)) != 0) ...
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One dispatch: a kernel that ran once. Launches in a graph are dispatches of their own, one for each node and replay. */
struct kernelperf_dispatch {
    uint64_t start_ns;             /* when its first workgroup could begin: ns of CLOCK_BOOTTIME where it can be had,     */
    uint64_t end_ns;               /*   else of one other clock for the whole process; when its last workgroup had ended  */
    uint64_t kernel;               /* which kernel, for kernelperfTraceKernelName; from 1                                 */
    uint64_t stream;               /* its number, never given twice: cpu 0 the null stream, else in order of creation; cuda CUPTI's  */
    uint64_t queue;                /* what it waited in: dispatches of one queue do not overlap where queues are in order */
    uint64_t correlation;          /* number of the call that launched it (a graph's dispatches share one); 0: not known  */
    uint64_t thread;               /* the operating system's number of the thread that called; 0: not known               */
    uint64_t graph_exec;           /* number of the instantiated graph that launched it, from 1 (cuda: CUPTI's); 0: no graph did     */
    uint64_t graph_node;           /* its node's number, from 1 (cuda: CUPTI's, unique in the process); 0: no graph, or not known    */
    uint32_t workgroups[3];        /* the grid: x, y, z, in workgroups                                                    */
    uint32_t block[3];             /* threads of a workgroup: x, y, z                                                     */
    uint32_t static_shared_bytes;  /* of a workgroup, as the kernel declares                                              */
    uint32_t dynamic_shared_bytes; /* of a workgroup, as the launch asks                                                  */
    uint32_t registers;            /* of a thread; 0 where there are none to count                                        */
    uint32_t scratch_bytes;        /* of a thread's private memory; 0 likewise                                            */
};

#ifdef __cplusplus
static_assert(sizeof(struct kernelperf_dispatch) == 112, "kernelperf_dispatch is 112 bytes");
static_assert(offsetof(struct kernelperf_dispatch, workgroups) == 72, "nine 64 bit fields come first");
#else
_Static_assert(sizeof(struct kernelperf_dispatch) == 112, "kernelperf_dispatch is 112 bytes");
_Static_assert(offsetof(struct kernelperf_dispatch, workgroups) == 72, "nine 64 bit fields come first");
#endif

/* The most dispatches that are kept where Start is given 0. */
#define KERNELPERF_TRACE_CAPACITY ((size_t)1 << 21)

/* Begin to record launches, at most `capacity` of them (0: the number above). What an earlier recording left is forgotten.
 * 0, or non-zero with kernelperfTraceProblem() saying why: it is recording already, or cannot record here. */
int kernelperfTraceStart(size_t capacity);

/* End it. Launches that have not ended are not kept, and count as lost: wait for them first.
 * 0, or non-zero with kernelperfTraceProblem() saying why: it is not recording, or could not get all there was. */
int kernelperfTraceStop(void);

/* Why this thread's last Start, Stop or Take did not do what was asked: one sentence; "" where it did. Valid until this
 * thread's next call. */
const char *kernelperfTraceProblem(void);

/* Copy out up to `capacity` dispatches, in no particular order, and forget them; returns how many. 0: none are left, or it
 * is still recording. */
size_t kernelperfTraceTake(struct kernelperf_dispatch *out, size_t capacity);

/* How many dispatches since Start could not be kept. */
uint64_t kernelperfTraceLost(void);

/* The symbol of a record's kernel, as its code object has it; a null pointer for a number that was never given. The same
 * kernel of the same code has the same number, and keeps it; the text stays where it is until the process ends. */
const char *kernelperfTraceKernelName(uint64_t kernel);

#ifdef __cplusplus
}
#endif
