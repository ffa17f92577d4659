// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace curtail {

/// A SHA-256 digest (FIPS 180-4).
struct Digest {
    std::array<unsigned char, 32> bytes{};
    [[nodiscard]] std::string hex() const;  ///< 64 lower-case hex digits
    /// Parses 64 lower-case hex digits. Returns an empty optional for any other text.
    [[nodiscard]] static std::optional<Digest> from_hex(std::string_view text);
    friend auto operator<=>(Digest const&, Digest const&) = default;
};

/// A SHA-256 computation over data that arrives in pieces.
class Sha256 {
  public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    void update(std::span<std::byte const> bytes);
    void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
    [[nodiscard]] Digest finish();  ///< call once, after the last update()

  private:
    struct Context;
    std::unique_ptr<Context> context_;
};

[[nodiscard]] Digest sha256(std::span<std::byte const> bytes);
[[nodiscard]] Digest sha256(std::string_view text);

}  // namespace curtail
