#include "group_use.h"

#include <algorithm>
#include <utility>

namespace kp {
namespace {

// Members of kp::Site (include/kernelperf_cpu/group.h).
constexpr std::string_view site_calls[] = {
    "__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or", "__builtin_amdgcn_s_barrier",
    "__shfl", "__shfl_xor", "__shfl_up", "__shfl_down", "__shfl_sync", "__shfl_xor_sync", "__shfl_up_sync", "__shfl_down_sync",
    "__ballot", "__any", "__all", "__activemask", "__ballot_sync", "__any_sync", "__all_sync", "__syncwarp",
    "__match_any", "__match_any_sync", "__match_all", "__match_all_sync", "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync",
    "__builtin_amdgcn_wave_barrier", "__builtin_amdgcn_ballot_w32", "__builtin_amdgcn_ballot_w64", "__builtin_amdgcn_ds_bpermute",
    "__builtin_amdgcn_ds_permute", "__builtin_amdgcn_ds_swizzle", "__builtin_amdgcn_mov_dpp", "__builtin_amdgcn_update_dpp",
    "__builtin_amdgcn_permlane16", "__builtin_amdgcn_permlanex16", "__builtin_amdgcn_readfirstlane", "__builtin_amdgcn_readlane"};
constexpr std::string_view other_words[] = {"__shared__", "kp_assert_failed"};

constexpr unsigned most_levels = 100, kernel_level = 127;

bool is_site_call(std::string_view word) {
    if (word.substr(0, 2) != "__") return false;
    return std::find(std::begin(site_calls), std::end(site_calls), word) != std::end(site_calls);
}

unsigned hash(std::string_view text) {
    unsigned value = 2166136261u;
    for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 16777619u;
    return value ^ value >> 16;
}

unsigned site_base(unsigned level, std::string_view name, std::string_view of_class) {
    return level << 24 | ((hash(name) ^ (of_class.empty() ? 0 : hash(of_class) * 31)) & 0xffff) << 8;
}

}  // namespace

bool GroupUse::waits(std::size_t i) const {
    return t_[i].is_name() && (is_site_call(t_[i].text) || std::find(std::begin(other_words), std::end(other_words), t_[i].text) != std::end(other_words));
}

// A wave operation, or a function with one.
bool GroupUse::exchanges(std::size_t i) const {
    if (!t_[i].is_name()) return false;
    const std::string_view word = t_[i].text;
    if (is_site_call(word)) return word.substr(0, 13) != "__syncthreads" && word != "__builtin_amdgcn_s_barrier";
    return exchanging_.count(word) != 0;
}

// Of the loop that begins at `i`: the { of its body; 0 if there is no loop, or no { .
std::size_t GroupUse::loop_body(std::size_t i) const {
    std::size_t open = i + 1;
    if (t_[i].is("for") || t_[i].is("while")) open = t_[i + 1].is("(") ? closing(t_, i + 1) + 1 : 0;
    else if (!t_[i].is("do")) return 0;
    return open != 0 && open < t_.size() && t_[open].is("{") ? open : 0;
}

// Whether some lanes may skip a wave operation in the loop's body that others do.
bool GroupUse::may_split(std::size_t open, std::size_t close) const {
    static constexpr std::string_view splitting[] = {"if", "for", "while", "do", "switch", "?", "&&", "||", "continue", "goto"};
    bool splits = false, found = false;
    for (std::size_t i = open; i < close; ++i) {
        splits = splits || std::find(std::begin(splitting), std::end(splitting), t_[i].text) != std::end(splitting);
        found = found || exchanges(i);
    }
    return splits && found;
}

void GroupUse::note(std::string_view name, std::string_view of_class, std::size_t begin, std::size_t end) {
    pieces_.push_back({name, of_class, begin, end, false});
}

void GroupUse::note_argument(std::string_view name) { everywhere_ = everywhere_ || levels_.count(name) != 0; }

bool GroupUse::note_shared(std::size_t begin, std::size_t end) {
    bool shared = false, dynamic = false;
    for (std::size_t i = begin; i < end; ++i) {
        shared = shared || t_[i].is("__shared__");
        dynamic = dynamic || t_[i].is("extern");
    }
    if (!shared) return false;
    const std::string_view name = t_[declared_name(begin, end)].text;
    if (dynamic) dynamic_.insert(name);
    pieces_.push_back({name, {}, begin, end, true});
    return true;
}

// Of a variable: the name before its dimensions, its value or its end.
std::size_t GroupUse::declared_name(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin + 1; i < end; ++i)
        if (t_[i].is("[") || t_[i].is("=")) return i - 1;
    return end - 1;
}

void GroupUse::spread() {
    bool grown = true;
    for (unsigned round = 0; grown && round < most_levels; ++round) {
        grown = false;
        for (Piece& piece : pieces_) {
            bool found = false;
            unsigned level = 0;
            for (std::size_t i = piece.begin; i < piece.end; ++i) {
                if (!t_[i].is_name()) continue;
                if (waits(i)) found = true;
                const auto called = levels_.find(t_[i].text);
                if (called == levels_.end() || t_[i].is(piece.name)) continue;
                found = true;
                level = std::max(level, called->second + 1);
            }
            if (!found) continue;
            if (piece.name.empty()) everywhere_ = true;
            if (level > piece.level) piece.level = std::min(level, most_levels), grown = true;
            for (std::size_t i = piece.begin; i < piece.end && exchanging_.count(piece.name) == 0; ++i)
                if (!t_[i].is(piece.name) && exchanges(i)) exchanging_.insert(piece.name), grown = true;
            const auto known = levels_.find(piece.name);
            if (known != levels_.end() && known->second >= level) continue;
            if (!piece.name.empty()) levels_[piece.name] = std::min(level, most_levels), grown = true;
        }
    }
}

bool GroupUse::in(std::size_t begin, std::size_t end) const {
    if (everywhere_) return true;
    for (std::size_t i = begin; i < end; ++i)
        if (t_[i].is_name() && (waits(i) || levels_.count(t_[i].text) != 0)) return true;
    return false;
}

// A declaration of a function of this name has a type before it.
bool GroupUse::is_call(std::size_t i) const {
    if (i == 0 || i + 1 >= t_.size() || !t_[i + 1].is("(")) return false;
    const Token& before = t_[i - 1];
    if (before.is("::") || before.is(".") || before.is("->")) return false;
    if (!before.is_name()) return true;
    return before.is("return") || before.is("else") || before.is("do") || before.is("case") || before.is("not") || before.is("and") || before.is("or");
}

// Whether the name at `i` is used, not declared anew or a member's.
bool GroupUse::uses(std::size_t i) const {
    const Token& before = t_[i - 1];
    if (before.is("::") || before.is(".") || before.is("->")) return false;
    return !before.is_name() || before.is("return") || before.is("else");
}

// A site's number: functions that are called come before those that call them, a function's own sites in their order. It
// does not change with what stands elsewhere in the source, so that neither does the kernel's code.
void GroupUse::edit_body(unsigned base, std::size_t open, std::size_t close, std::vector<Edit>& edits) const {
    unsigned number = 0;
    const auto site = [&] { return "::kp::Site{" + std::to_string(base | std::min(number++, 255u)) + "u}."; };
    std::vector<std::pair<std::size_t, std::size_t>> loops;  // { and } of those around the token that need a site
    for (std::size_t i = open; i < close; ++i) {
        for (; !loops.empty() && loops.back().second == i; loops.pop_back()) {
            const Token& begin = t_[loops.back().first];
            edits.push_back({begin.begin, begin.end, "{ " + site() + "loop();"});
        }
        if (!t_[i].is_name()) continue;
        if (const std::size_t body = loop_body(i); body != 0)
            if (const std::size_t end = closing(t_, body); end < close && may_split(body, end)) loops.emplace_back(body, end);
        if (t_[i].is("__shared__")) edit_shared(i, edits);
        if (dynamic_.count(t_[i].text) != 0 && uses(i)) edits.push_back({t_[i].begin, t_[i].end, "kp_shared_" + std::string(t_[i].text) + "()"});
        if (!is_site_call(t_[i].text) || !is_call(i)) continue;
        edits.push_back({t_[i].begin, t_[i].begin, site()});
    }
}

void GroupUse::edit_kernel(std::string_view name, std::size_t open, std::size_t close, std::vector<Edit>& edits) const {
    edit_body(site_base(kernel_level, name, {}), open, close, edits);
}

unsigned GroupUse::level_of(const Piece& piece) const {
    const auto known = levels_.find(piece.name);
    return known == levels_.end() ? piece.level : known->second;
}

void GroupUse::edit_noted(std::vector<Edit>& edits) const {
    for (const Piece& piece : pieces_)
        if (!piece.is_shared) edit_body(site_base(level_of(piece), piece.name, piece.of_class), piece.begin, piece.end, edits);
        else
            for (std::size_t i = piece.begin; i < piece.end; ++i)
                if (t_[i].is("__shared__")) edit_shared(i, edits);
}

// __shared__ float tile[8][8];      static thread_local ...: one OS thread runs a whole workgroup
// extern __shared__ float all[];    float (&all)[] = ... dynamic_shared() ...
void GroupUse::edit_shared(std::size_t at, std::vector<Edit>& edits) const {
    std::size_t begin = at, end = at;
    while (begin > 0 && !t_[begin - 1].is(";") && !t_[begin - 1].is("{") && !t_[begin - 1].is("}")) --begin;
    while (end < t_.size() && !t_[end].is(";")) ++end;
    if (end == t_.size()) return;
    bool dynamic = false;
    for (std::size_t i = begin; i < end; ++i) dynamic = dynamic || t_[i].is("extern");
    if (!dynamic && fences_ && !at_namespace_scope(begin) && edit_fenced(begin, end, edits)) return;
    if (!dynamic) {
        bool is_static = false;
        for (std::size_t i = begin; i < end; ++i) {
            is_static = is_static || t_[i].is("static");
            if (t_[i].is("=")) break;
            if (!t_[i].is("alignas") || i < at) continue;
            edits.push_back({t_[i].begin, t_[i].end, "__attribute__((aligned"});
            i = closing(t_, i + 1);
            edits.push_back({t_[i].end, t_[i].end, "))"});
        }
        edits.push_back({t_[at].begin, t_[at].end, std::string(is_static ? "" : "static ") + "thread_local __attribute__((tls_model(\"local-dynamic\")))"});
        return;
    }
    std::string type, dimensions;
    const std::size_t name = declared_name(begin, end);
    for (std::size_t i = begin; i < name; ++i) {
        if (t_[i].is("extern") || t_[i].is("__shared__") || t_[i].is("static")) continue;
        if ((t_[i].is("alignas") || t_[i].is("__attribute__")) && t_[i + 1].is("(")) {
            i = closing(t_, i + 1);
            continue;
        }
        type.append(t_[i].text).append(" ");
    }
    for (std::size_t i = name + 1; i < end; ++i) dimensions.append(t_[i].text);
    const std::string text(t_[name].text), memory = "*reinterpret_cast<" + type + "(*)" + dimensions + ">(::kp::dynamic_shared())";
    const bool outside = dynamic_.count(t_[name].text) != 0 && at_namespace_scope(begin);
    edits.push_back({t_[begin].begin, t_[end].begin,
                     outside ? "static inline __attribute__((always_inline, unused)) " + type + "(&kp_shared_" + text + "())" + dimensions + " { return " + memory + "; }"
                             : type + "(&" + text + ")" + dimensions + " = " + memory});
}

// __shared__ float tile[8][8];  ...  tile[1][2]      becomes
// static thread_local Fenced<float [8][8]> kp_fenced_tile; kp_fenced_tile.enter("tile");  ...  kp_fenced_tile.value[1][2]
// False, and nothing done, for what is not as simple: initialisers, several variables in one declaration, a name that is
// declared anew within its scope.
bool GroupUse::edit_fenced(std::size_t begin, std::size_t end, std::vector<Edit>& edits) const {
    const std::size_t name = declared_name(begin, end);
    std::string type, alignment;
    int angles = 0;
    for (std::size_t i = begin; i < end; ++i) {
        if (i == name || t_[i].is("static") || t_[i].is("__shared__")) continue;
        if ((t_[i].is("alignas") || t_[i].is("__attribute__")) && t_[i + 1].is("(")) {
            const std::size_t close = closing(t_, i + 1);
            for (; i < close; ++i) alignment.append(t_[i].text);
            alignment += ") ";
            continue;
        }
        if (t_[i].is("<")) ++angles;
        if (t_[i].is(">")) --angles;
        if (t_[i].is("=") || t_[i].is("{") || t_[i].is("(") || (t_[i].is(",") && angles == 0)) return false;
        type.append(t_[i].text).append(" ");
    }
    std::vector<std::size_t> used;
    int depth = 0;
    for (std::size_t i = end; i < t_.size(); ++i) {
        if (t_[i].is("{")) ++depth;
        if (t_[i].is("}") && --depth < 0) break;
        if (!t_[i].is_name() || !t_[i].is(t_[name].text)) continue;
        const Token& before = t_[i - 1];
        if (before.is(".") || before.is("->") || before.is("::")) continue;
        if (before.is_name() && !before.is("return") && !before.is("else") && !before.is("case") && !before.is("sizeof") && !before.is("do")) return false;
        used.push_back(i);
    }
    const std::string text(t_[name].text), fenced = "kp_fenced_" + text;
    edits.push_back({t_[begin].begin, t_[end].begin,
                     alignment + "static thread_local __attribute__((tls_model(\"local-dynamic\"))) ::kp::Fenced<" + type + "> " + fenced + "; " + fenced + ".enter(\"" + text + "\")"});
    for (const std::size_t i : used) edits.push_back({t_[i].begin, t_[i].end, fenced + ".value"});
    return true;
}

bool GroupUse::at_namespace_scope(std::size_t begin) const {
    for (const Piece& piece : pieces_)
        if (piece.begin == begin) return true;
    return false;
}

}  // namespace kp
