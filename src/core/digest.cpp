// SPDX-License-Identifier: Apache-2.0
#include "core/digest.hpp"

#include <openssl/evp.h>

#include <stdexcept>

#include "core/text.hpp"

namespace curtail {

struct Sha256::Context {
    struct Free {
        void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
    };
    std::unique_ptr<EVP_MD_CTX, Free> handle{EVP_MD_CTX_new()};
};

std::string Digest::hex() const { return curtail::hex(bytes); }

std::optional<Digest> Digest::from_hex(std::string_view text)
{
    Digest digest;
    if (text.size() != digest.bytes.size() * 2) return std::nullopt;
    auto const nibble = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
        int const high = nibble(text[2 * i]);
        int const low = nibble(text[2 * i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        digest.bytes[i] = static_cast<unsigned char>(high * 16 + low);
    }
    return digest;
}

Sha256::Sha256() : context_(std::make_unique<Context>())
{
    if (!context_->handle || EVP_DigestInit_ex(context_->handle.get(), EVP_sha256(), nullptr) != 1)
        throw std::runtime_error("OpenSSL has no SHA-256");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<std::byte const> bytes)
{
    if (EVP_DigestUpdate(context_->handle.get(), bytes.data(), bytes.size()) != 1)
        throw std::runtime_error("SHA-256 update after finish");
}

Digest Sha256::finish()
{
    Digest digest;
    if (EVP_DigestFinal_ex(context_->handle.get(), digest.bytes.data(), nullptr) != 1)
        throw std::runtime_error("SHA-256 finished twice");
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
