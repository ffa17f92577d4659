// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/digest.hpp"
#include "base/core/ids.hpp"
#include "base/core/result.hpp"
#include "base/core/units.hpp"
#include "storage/tensors/tensor_info.hpp"

// A site saves its snapshot in two slots in turn, so that one whole snapshot always remains. Each
// rank writes one file per slot (docs/formats-snapshot.md).
namespace curtail::snapshot {

/// A range of the elements of a float32 tensor, in row-major order.
struct ElementRange {
    std::string name;      ///< of the tensor
    tensors::Shape shape;  ///< of the whole tensor
    std::int64_t first{};  ///< index of the first element
    std::int64_t count{};  ///< number of elements
    friend bool operator==(ElementRange const&, ElementRange const&) = default;
};

/// The training that a snapshot belongs to, and how far it has come.
struct Metadata {
    RunId run;
    std::string training_id;         ///< which training (trainer/engine/training_id.hpp)
    Tokens tokens{};                 ///< number of tokens trained so far
    std::int64_t steps{};            ///< number of optimizer steps so far
    std::int64_t rate{};             ///< measured speed, in 10^-6 blocks/s
    std::int64_t optimizer_steps{};  ///< steps since the optimizer's state was last reset
    friend bool operator==(Metadata const&, Metadata const&) = default;
};

/// One rank's file in a snapshot.
struct Place {
    std::int64_t serial{1};  ///< number of the snapshot; later snapshots have greater numbers
    int rank{0};
    int ranks{1};
    friend bool operator==(Place const&, Place const&) = default;
};
/// Returns the name of the file: `snapshot-a.0of2.h5`. Snapshots with an odd serial use slot `a`,
/// the others use slot `b`.
[[nodiscard]] std::string file_name(Place const& place);
/// Returns true if `name` is a name that file_name() can return.
[[nodiscard]] bool is_file_name(std::string_view name);

/// A range in the file of one rank, and the SHA-256 of its elements.
struct StoredRange {
    ElementRange range;
    Digest sha256;
};
/// The header of one rank's file.
struct RankHeader {
    Metadata metadata;
    Place place{};
    std::vector<StoredRange> ranges{};
};
/// Name of the tensor of bytes that holds the header.
inline constexpr char const* header_tensor = "header";
/// Value of the files' attribute `format`.
inline constexpr char const* format = "curtail.snapshot/2";

/// Returns the text form: the digest of the rest in hexadecimal, a newline, and JSON.
[[nodiscard]] std::string encode(RankHeader const& header);
/// Reads the text form, which zero bytes may follow. Returns an empty optional if all bytes are
/// zero: the file never held a whole snapshot. Fails with `data` if the text is damaged.
[[nodiscard]] Result<std::optional<RankHeader>> decode(std::string_view bytes);
/// Returns a number of bytes in which the header of a file with these ranges fits, in whole blocks.
[[nodiscard]] std::int64_t header_bytes(std::vector<ElementRange> const& ranges);

}  // namespace curtail::snapshot
