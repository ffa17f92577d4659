// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/chain/run_objects.hpp"

// Reads payloads in the form that Curtail writes: a head, then the values of all tensors without
// gaps. So no library for tensor files is needed.
namespace curtail::chain {

/// The form of a payload.
struct PayloadForm {
    std::string beginning;     ///< the first bytes of the head; may be the whole head
    std::size_t head_bytes{};  ///< all bytes before the values
    std::size_t elements{};    ///< number of values

    /// The form of a payload with exactly this head.
    [[nodiscard]] static PayloadForm with_head(std::string head, std::size_t elements)
    {
        auto const size = head.size();
        return {std::move(head), size, elements};
    }
    [[nodiscard]] std::size_t bytes() const { return head_bytes + elements * sizeof(float); }
};

/// Decodes a payload while it arrives in pieces, without holding it: passes its values on in chunks
/// of a fixed size.
class ChunkDecoder {
  public:
    /// Receives the values from index `first` on.
    using Sink = std::function<void(std::size_t first, std::span<float const> values)>;
    ChunkDecoder(PayloadForm form, Sink sink);

    void begin();  ///< forgets all bytes, because they are read again from the start
    void add(std::span<std::byte const> piece);
    /// Returns whether the sink has received values since begin().
    [[nodiscard]] bool has_passed_any() const { return passed_ > 0; }
    /// Passes the last chunk on. Returns false if the bytes do not have the form. If already the
    /// head differs, the sink has received nothing. Call once, after the last piece.
    [[nodiscard]] bool finish();
    /// Returns the bytes before the values, as far as they have arrived.
    [[nodiscard]] std::string const& head() const { return head_; }

  private:
    [[nodiscard]] std::size_t take(std::span<std::byte const> piece);
    [[nodiscard]] std::span<float const> whole_chunk(std::span<std::byte const> piece) const;
    void pass(std::span<float const> values);

    PayloadForm form_;
    Sink sink_;
    std::vector<float> chunk_;
    std::string head_;
    std::size_t arrived_{0};  ///< in bytes
    std::size_t passed_{0};   ///< number of values that the sink has received
    bool differs_{false};
};

/// Passes `values` to `sink` in chunks as a ChunkDecoder does.
void pass_in_chunks(std::span<float const> values, ChunkDecoder::Sink const& sink);

/// Returns a sink that copies the values to `place`, which must have room for all of them.
[[nodiscard]] ChunkDecoder::Sink copy_to(std::span<float> place);

/// Who receives the values of a payload.
struct ValueReceiver {
    ChunkDecoder::Sink take;
    /// The values that were taken have no meaning. All values come again, from the first.
    std::function<void()> restart = [] {};
};

/// Reads and verifies the payload that `part` names, and passes its values on while they arrive.
/// Returns the payload's head. Returns an empty optional if the payload has another form. Then, and
/// if the call fails, the values that were passed on have no meaning.
[[nodiscard]] tl::expected<std::optional<std::string>, store::ReadFailure> read_values(
    RunObjects const& objects, protocol::PartRef const& part, PayloadForm const& form,
    ValueReceiver const& receiver, CallLimits const& call = {});

}  // namespace curtail::chain
