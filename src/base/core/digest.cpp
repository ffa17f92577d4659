// SPDX-License-Identifier: Apache-2.0
#include "base/core/digest.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <stdexcept>

#include "base/core/text.hpp"

namespace curtail {

struct Sha256::Context {
    struct Free {
        void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
    };
    std::unique_ptr<EVP_MD_CTX, Free> handle{EVP_MD_CTX_new()};
};

namespace {

// A digest of no bytes so far. In OpenSSL 3, a copy of it takes less time than a new one, which
// looks the algorithm up by its name. It is never freed, because a thread that nobody waits for may
// still compute a digest while the process exits. Null: OpenSSL does not provide SHA-256.
EVP_MD_CTX const* begun()
{
    static EVP_MD_CTX const* const context = [] {
        auto* begun = EVP_MD_CTX_new();
        bool const good = begun != nullptr && EVP_DigestInit_ex(begun, EVP_sha256(), nullptr) == 1;
        return good ? begun : nullptr;
    }();
    return context;
}

}  // namespace

std::string Digest::hex() const { return curtail::hex(bytes); }

std::optional<Digest> Digest::from_hex(std::string_view text)
{
    static constexpr std::string_view digits = "0123456789abcdef";
    Digest digest;
    if (text.size() != digest.bytes.size() * 2) return std::nullopt;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const value = digits.find(text[i]);
        if (value == std::string_view::npos) return std::nullopt;
        auto& byte = digest.bytes[i / 2];
        byte = static_cast<unsigned char>(std::size_t{byte} << 4 | value);
    }
    return digest;
}

Sha256::Sha256() : context_(std::make_unique<Context>())
{
    if (!context_->handle || EVP_MD_CTX_copy_ex(context_->handle.get(), begun()) != 1)
        throw std::runtime_error("OpenSSL does not provide SHA-256");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

// The processor's own prefetch stops at the end of each page.
void Sha256::update(std::span<std::byte const> bytes)
{
    constexpr std::size_t block = std::size_t{16} << 10;
    constexpr std::size_t cache_line = 64;
    while (!bytes.empty()) {
        auto const part = bytes.first(std::min(block, bytes.size()));
        bytes = bytes.subspan(part.size());
        auto const next = bytes.first(std::min(block, bytes.size()));
        for (std::size_t i = 0; i < next.size(); i += cache_line) __builtin_prefetch(&next[i]);
        if (EVP_DigestUpdate(context_->handle.get(), part.data(), part.size()) != 1)
            throw std::runtime_error("Sha256::update called after finish");
    }
}

Digest Sha256::finish()
{
    Digest digest;
    if (EVP_DigestFinal_ex(context_->handle.get(), digest.bytes.data(), nullptr) != 1)
        throw std::runtime_error("Sha256::finish called twice");
    return digest;
}

Digest sha256(std::span<std::byte const> bytes)
{
    Sha256 hash;
    hash.update(bytes);
    return hash.finish();
}
Digest sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

}  // namespace curtail
