// Graphs made by capture.
#pragma once

#include <vector>

#include "stream.h"

namespace kp {

void* add_graph(std::vector<Op> ops);

}  // namespace kp
