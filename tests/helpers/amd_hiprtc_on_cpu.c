/* AMD's libhiprtc.so as the guard's rocm runtime calls it, made of the cpu runtime's: so that what is done on an AMD GPU
   can be done without one. It leaves out what is meant for AMD's compiler alone: headers that AMD has built in, the
   architecture, and ROCm's include folder. Linked with the cpu runtime's library, which answers all other calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

typedef int create(void**, const char*, const char*, int, const char* const*, const char* const*);
typedef int compile(void*, int, const char* const*);

const char* hiprtcGetErrorString(int result) { return result == 0 ? "HIPRTC_SUCCESS" : "HIPRTC_ERROR"; }

int hiprtcCreateProgram(void** program, const char* source, const char* name, int count, const char* const* texts,
                        const char* const* names) {
    const char *kept_texts[256], *kept_names[256];
    int kept = 0;
    for (int i = 0; i < count && kept < 256; ++i) {
        if (strstr(texts[i], "built into hiprtc") || strstr(texts[i], "HIP_VERSION_MAJOR >= 7")) continue;
        kept_texts[kept] = texts[i];
        kept_names[kept++] = names[i];
    }
    return ((create*)dlsym(RTLD_NEXT, "hiprtcCreateProgram"))(program, source, name, kept, kept_texts, kept_names);
}

int hiprtcCompileProgram(void* program, int count, const char* const* options) {
    const char* kept[256];
    int left = 0;
    for (int i = 0; i < count && left < 256; ++i)
        if (strncmp(options[i], "--gpu-architecture", 18) != 0) kept[left++] = options[i];
    return ((compile*)dlsym(RTLD_NEXT, "hiprtcCompileProgram"))(program, left, kept);
}
