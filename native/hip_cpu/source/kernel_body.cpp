#include "kernel_body.h"

namespace kp {

BodyFacts read_body(std::string_view, const Tokens&, std::size_t, std::size_t, std::size_t, std::size_t) { return {}; }

}  // namespace kp
