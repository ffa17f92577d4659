// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <tl/expected.hpp>

namespace curtail {

/// Exit codes of every program, after sysexits.h.
enum class ExitCode : int {
    ok = 0,
    usage = 64,          ///< the command line is wrong
    data = 65,           ///< an input file is damaged or not what it should be
    no_input = 66,       ///< an input does not exist or cannot be read
    unavailable = 69,    ///< a service or program that is needed is not there
    software = 70,       ///< a defect of Curtail itself
    os_error = 71,       ///< the operating system refused something that should work
    cannot_create = 73,  ///< an output cannot be made
    io = 74,             ///< reading or writing failed half way
    temporary = 75,      ///< later the same command may succeed
    protocol = 76,       ///< a record was refused: broken chain, wrong run, a store that lies
    permission = 77,     ///< a key, credential or file mode
    config = 78,         ///< a configuration is wrong
    interrupted = 130    ///< stopped by a person
};

/// A failure that belongs to normal life. Reads "what: why; remedy".
struct Error {
    ExitCode code{ExitCode::software};
    std::string what;    ///< what failed: "cannot read shard data/00012.h5"
    std::string why;     ///< why: "digest differs (expected 3f.., found 91..)"
    std::string remedy;  ///< what to do: "run `curtail-data verify`"; may be empty

    [[nodiscard]] std::string message() const;
    /// The same failure seen from one level up: `outer` takes the place of `what`, which moves into
    /// `why`.
    [[nodiscard]] Error within(std::string outer) const;
    friend bool operator==(Error const&, Error const&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

/// Failure as a return value: `return fail(ExitCode::data, "cannot read trace x.csv", "line 3 has
/// no time zone", "write ...Z");`
[[nodiscard]] tl::unexpected<Error> fail(ExitCode code, std::string what, std::string why,
                                         std::string remedy = {});
/// What errno says, in words.
[[nodiscard]] std::string errno_text(int error_number);

}  // namespace curtail
