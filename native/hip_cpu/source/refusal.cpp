#include "refusal.h"

#include <set>
#include <string_view>

namespace kp {
namespace {

constexpr std::string_view only_clang = "kp_only_clang_has_";
constexpr std::string_view here = " by the cpu runtime";

struct Family {
    std::string_view begins, what;
};
// Names that begin so; `what` explains them.
constexpr Family families[] = {
    {"__builtin_amdgcn_wmma", "matrix instructions: declare the kernel's architecture, so that it is skipped here"},
    {"__builtin_amdgcn_swmmac", "matrix instructions: declare the kernel's architecture, so that it is skipped here"},
    {"__builtin_amdgcn_mfma", "matrix instructions: declare the kernel's architecture, so that it is skipped here"},
    {"__builtin_amdgcn_smfmac", "matrix instructions: declare the kernel's architecture, so that it is skipped here"},
    {"tex1D", "texture memory"}, {"tex2D", "texture memory"}, {"tex3D", "texture memory"}, {"texCubemap", "texture memory"},
    {"surf1D", "surface memory"}, {"surf2D", "surface memory"}, {"surf3D", "surface memory"},
    {"hipTextureObject_t", "texture memory"}, {"hipSurfaceObject_t", "surface memory"}, {"cudaTextureObject_t", "texture memory"},
    {"hipDeviceSynchronize", "a host call, which no kernel can make"}, {"cudaDeviceSynchronize", "a host call, which no kernel can make"},
};
// Names of the compiler and its libraries that only the device headers can give a meaning to.
constexpr std::string_view compilers_own[] = {"__builtin_amdgcn_", "__ockl_", "__ocml_", "__nvvm_", "__match_all"};

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

std::string refused_name(std::string_view name, const std::set<std::string_view>& known) {
    if (begins(name, only_clang))
        return std::string(name.substr(only_clang.size())).append(" is clang's own: have clang++ compile kernels (KERNELPERF_CXX names a compiler)");
    if (known.count(name) != 0) return "";
    for (const Family& family : families)
        if (begins(name, family.begins)) return std::string(name).append(" is not supported").append(here).append(" (").append(family.what).append(")");
    for (std::string_view prefix : compilers_own)
        if (begins(name, prefix)) return std::string(name).append(" is not supported").append(here);
    return "";
}

// asm("..."), with its words in between; an empty one orders memory only, which any compiler does.
bool is_assembly(const std::vector<Token>& t, std::size_t i) {
    if (!t[i].is("asm") && !t[i].is("__asm__") && !t[i].is("__asm")) return false;
    for (++i; i < t.size() && t[i].is_name(); ++i) {}
    return i + 1 < t.size() && t[i].is("(") && !t[i + 1].is("\"\"");
}

bool is_launch(const std::vector<Token>& t, std::size_t i) {
    return t[i].is("<<") && i + 1 < t.size() && t[i + 1].is("<") && t[i + 1].begin == t[i].end;
}

}  // namespace

std::size_t find_refused(const Tokens& tokens, const std::vector<bool>& ours, std::string& sentence) {
    const std::vector<Token>& t = tokens.list;
    std::set<std::string_view> known;
    for (const Token& token : t)
        if (token.is_name() && ours[static_cast<std::size_t>(token.file)]) known.insert(token.text);
    for (std::size_t i = 0; i < t.size(); ++i) {
        const auto file = static_cast<std::size_t>(t[i].file);
        if (ours[file] || tokens.system[file]) continue;
        if (is_launch(t, i)) sentence = std::string("<<<...>>> launches a kernel, which is host code; it is not supported").append(here).append(", nor are kernels that launch kernels");
        else if (is_assembly(t, i)) sentence = std::string("inline assembly is not supported").append(here).append(", which compiles for this host's processor");
        else if (t[i].is_name()) sentence = refused_name(t[i].text, known);
        if (!sentence.empty()) return i;
    }
    return t.size();
}

}  // namespace kp
