// Events as their handles know them.
#pragma once

#include <memory>

#include "stream.h"

namespace kp {

struct Event {
    unsigned flags = 0;
    std::shared_ptr<Record> record;  // the latest; null before the first
};

std::shared_ptr<Event> event_of(void* handle);  // null if there is no such event

}  // namespace kp
