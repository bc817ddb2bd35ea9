#include "kernel_body.h"

#include "body_text.h"

namespace kp {

BodyFacts read_body(std::string_view text, const Tokens& tokens, const std::string& pragma, std::size_t parameters_open,
                    std::size_t parameters_close, std::size_t open, std::size_t close) {
    const BodyPlace place{text, tokens, pragma, parameters_open, parameters_close, open, close};
    BodyFacts facts = read_strided_loops(place);
    return facts.strided ? facts : read_index(place);
}

}  // namespace kp
