// Where a thread stands in its launch: what threadIdx, blockIdx, blockDim and gridDim read.
#pragma once

#include "vector.h"

namespace kp {

// How a loop "for (c = threadIdx.x; c < n; c += blockDim.x)" is run (see launch.h).
enum Stride : unsigned {
    stride_each,      // as written
    stride_leader,    // this thread runs the whole workgroup's iterations, one after the other
    stride_follower,  // another thread runs this one's iterations
};

struct Index {
    // blockIdx.x * blockDim.x + threadIdx.x.
    __attribute__((always_inline)) unsigned place() const { return first_place + thread.x; }

    uint3 thread{};
    uint3 block{};
    dim3 block_size{};
    dim3 grid_size{};
    unsigned first_place = 0;   // of the run of threads that `thread` counts in
    Stride stride = stride_each;
    bool within = false;        // this run of threads keeps to the kernel's own limit
    bool segmented = false;     // this run of threads has one and the same quotient (see launch.h)
    long long quotient = 0;
};

}  // namespace kp

// A kernel's hidden first parameter has this name and hides the variable below; device functions see the variable,
// which the launch code sets for each thread when a device function of the source uses it.
static thread_local kp::Index kp_index __attribute__((tls_model("local-dynamic"), unused));

#define threadIdx (kp_index.thread)
#define blockIdx (kp_index.block)
#define blockDim (kp_index.block_size)
#define gridDim (kp_index.grid_size)
#define hipThreadIdx_x (kp_index.thread.x)
#define hipThreadIdx_y (kp_index.thread.y)
#define hipThreadIdx_z (kp_index.thread.z)
#define hipBlockIdx_x (kp_index.block.x)
#define hipBlockIdx_y (kp_index.block.y)
#define hipBlockIdx_z (kp_index.block.z)
#define hipBlockDim_x (kp_index.block_size.x)
#define hipBlockDim_y (kp_index.block_size.y)
#define hipBlockDim_z (kp_index.block_size.z)
#define hipGridDim_x (kp_index.grid_size.x)
#define hipGridDim_y (kp_index.grid_size.y)
#define hipGridDim_z (kp_index.grid_size.z)
