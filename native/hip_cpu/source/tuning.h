// How many cores a graph's launches are shared among: tried out in its first rounds, then kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kp {

// What pays is a property of the graph as a whole: a kernel that runs quicker on two cores leaves its data in two caches
// for the next one. Graphs of the same code and shape share one tuning, so that two arms that run the same instructions
// run them alike.
class Tuning {
public:
    Tuning(unsigned cores, std::size_t nodes);

    // Cores to use for the next rounds; what two streams try at once is tried twice.
    unsigned next();
    // How many rounds of a graph of `rounds` to run so.
    std::size_t slice(std::size_t rounds);
    // How long the rounds took that `next` said `cores` for.
    void learn(unsigned cores, double ns, std::size_t rounds);
    bool decided() const { return decided_.load(std::memory_order_relaxed); }

    // Time on one core of a node of the round, ns; 0: not known yet.
    std::atomic<float>& alone_ns(std::size_t node) { return alone_ns_[node]; }

    // The tuning of all graphs with this key, which names code and shape of every launch of a round.
    static std::shared_ptr<Tuning> of(const std::string& key, unsigned cores, std::size_t nodes);

private:
    void step();
    void decide();

    std::mutex mutex_;
    std::vector<std::atomic<float>> alone_ns_;
    std::vector<unsigned> candidates_;  // all cores, half of them, ..., 1
    std::vector<double> best_ns_;
    std::size_t slices_ = 0;    // learned from
    std::size_t trying_ = 0;    // index of the candidate whose turn it is
    int tries_left_ = 1;
    double round_ns_ = 0;       // on one core, roughly; 0: not known
    std::atomic<bool> decided_{false};
    unsigned chosen_;
};

}  // namespace kp
