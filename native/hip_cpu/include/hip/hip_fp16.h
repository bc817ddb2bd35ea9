// Not there yet, and said so.
#error "hip/hip_fp16.h (half precision types) is not supported by the cpu runtime yet"
