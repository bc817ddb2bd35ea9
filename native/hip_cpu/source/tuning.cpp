#include "tuning.h"

#include <algorithm>
#include <unordered_map>

namespace kp {
namespace {

// Candidates are tried this often, less often where a try is long: each for this long in all.
constexpr int most_tries = 4;
constexpr double try_ns = 2e6;
// A graph is cut into about so many slices, so that its first launch decides; a slice takes this long at least, or the
// cost of moving data to more cores would count too much.
constexpr std::size_t slices_of_graph = 32;
constexpr double slice_ns = 200e3;
// A round this long is not tried any other way than on all cores.
constexpr double long_ns = 100e6;
// More cores must save this much over one. With half the cores so much slower, fewer still are not tried.
constexpr double must_save = 0.97, much_slower = 1.1;
// All cores first: nothing is known yet, and it may be long. Then twice alone, which times each kernel.
constexpr std::size_t first_alone = 1, alone_again = 2;

}  // namespace

Tuning::Tuning(unsigned cores, std::size_t nodes) : alone_ns_(nodes), chosen_(cores) {
    for (unsigned n = cores; n > 1; n = (n + 1) / 2) candidates_.push_back(n);
    candidates_.push_back(1);
    best_ns_.assign(candidates_.size(), 1e300);
    if (cores == 1) decided_ = true;
}

unsigned Tuning::next() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (decided_) return chosen_;
    if (slices_ == 0) return candidates_.front();
    return slices_ <= alone_again ? 1 : candidates_[trying_];
}

std::size_t Tuning::slice(std::size_t rounds) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const double least = round_ns_ > 0 ? std::min(slice_ns / round_ns_, 1e6) : 0;
    return std::max<std::size_t>({1, rounds / slices_of_graph, static_cast<std::size_t>(least)});
}

void Tuning::learn(unsigned cores, double ns, std::size_t rounds) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (decided_) return;
    const std::size_t slice = slices_++;
    const double round_ns = ns / static_cast<double>(rounds);
    if (slice == 0) {
        decided_ = round_ns > long_ns;
        return;
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i)
        if (candidates_[i] == cores) best_ns_[i] = std::min(best_ns_[i], round_ns);
    if (cores == 1) round_ns_ = round_ns;
    if (slice == first_alone) tries_left_ = std::clamp(static_cast<int>(try_ns / ns), 1, most_tries);
    if (slice > alone_again) step();
}

// From all cores downwards, as long as fewer do not take much longer; then from the top again.
void Tuning::step() {
    const bool worse = trying_ > 0 && best_ns_[trying_] > much_slower * best_ns_[trying_ - 1];
    if (++trying_ < candidates_.size() && !worse) return;
    trying_ = 0;
    if (--tries_left_ <= 0) decide();
}

void Tuning::decide() {
    const auto best = static_cast<std::size_t>(std::min_element(best_ns_.begin(), best_ns_.end()) - best_ns_.begin());
    chosen_ = best_ns_[best] < must_save * best_ns_.back() ? candidates_[best] : 1;
    decided_ = true;
}

std::shared_ptr<Tuning> Tuning::of(const std::string& key, unsigned cores, std::size_t nodes) {
    static auto* all = new std::unordered_map<std::string, std::shared_ptr<Tuning>>;
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<Tuning>& found = (*all)[key];
    if (!found) found = std::make_shared<Tuning>(cores, nodes);
    return found;
}

}  // namespace kp
