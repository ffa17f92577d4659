// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/splitter.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdexcept>
#include <string>

namespace curtail::data {
namespace {

// Unicode's White_Space, the meaning of \s in Rust, for which the pattern was written. PCRE2's own
// \s also contains U+180E.
constexpr std::string_view white_space =
    R"(\x{9}-\x{d} \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// The split pattern in PCRE2's syntax, with \s and \S spelled out.
std::string native_pattern()
{
    std::string native;
    bool in_class = false;
    for (std::size_t i = 0; i < split_pattern.size(); ++i) {
        auto const two = split_pattern.substr(i, 2);
        if (two == R"(\s)" || two == R"(\S)") {
            // PCRE2 writes it bare inside a class, and otherwise as a class of its own.
            auto const* const opening = two == R"(\S)" ? "[^" : "[";
            native +=
                in_class ? std::string(white_space) : opening + std::string(white_space) + "]";
            ++i;
            continue;
        }
        if (two[0] == '[') in_class = true;
        if (two[0] == ']') in_class = false;
        native += two[0];
        if (two[0] == '\\') native += split_pattern[++i];
    }
    return native;
}

}  // namespace

struct Splitter::Code {
    struct Free {
        void operator()(pcre2_code* p) const { pcre2_code_free(p); }
        void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
        void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
    };
    std::unique_ptr<pcre2_code, Free> code;
    std::unique_ptr<pcre2_match_context, Free> context;
    std::unique_ptr<pcre2_match_data, Free> match;
};

Splitter::Splitter() : code_(std::make_unique<Code>())
{
    auto const pattern = native_pattern();
    int error = 0;
    PCRE2_SIZE at = 0;
    code_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                    PCRE2_UTF | PCRE2_ANCHORED, &error, &at, nullptr));
    if (!code_->code)
        throw std::logic_error("split pattern does not compile at offset " + std::to_string(at));
    // Where JIT is unavailable (some processors, hardened kernels), the slower interpreter gives
    // the same pieces.
    pcre2_jit_compile(code_->code.get(), PCRE2_JIT_COMPLETE);
    code_->context.reset(pcre2_match_context_create(nullptr));
    code_->match.reset(pcre2_match_data_create_from_pattern(code_->code.get(), nullptr));
    if (!code_->context || !code_->match) throw std::bad_alloc();
    // Backtracking is linear in the length of a run of white space, and runs may be long.
    pcre2_set_match_limit(code_->context.get(), UINT32_MAX);
}

Splitter::~Splitter() = default;
Splitter::Splitter(Splitter&&) noexcept = default;
Splitter& Splitter::operator=(Splitter&&) noexcept = default;

std::string_view Splitter::first_piece(std::string_view text) const
{
    int const groups =
        pcre2_match(code_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
                    PCRE2_NO_UTF_CHECK, code_->match.get(), code_->context.get());
    if (groups < 1)
        throw std::runtime_error("the split pattern failed with PCRE2 error " +
                                 std::to_string(groups));
    return text.substr(0, pcre2_get_ovector_pointer(code_->match.get())[1]);
}

}  // namespace curtail::data
