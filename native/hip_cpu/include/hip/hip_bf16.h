// Not there yet, and said so.
#error "hip/hip_bf16.h (bfloat16 types) is not supported by the cpu runtime yet"
