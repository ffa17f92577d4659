// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <tl/expected.hpp>

namespace curtail {

/// The kinds of failure. "Fails with `data`" in a comment means: returns an Error with the code
/// ExitCode::data. These are the exit codes of every program. The codes 64 to 78 are those of
/// sysexits.h.
enum class ExitCode : int {
    ok = 0,
    usage = 64,          ///< usage error: invalid command line
    data = 65,           ///< data error: an input is damaged or not what it should be
    no_input = 66,       ///< input missing or unreadable
    unavailable = 69,    ///< service unavailable, or a required program missing
    software = 70,       ///< internal error: a defect in Curtail
    os_error = 71,       ///< operating-system error, such as a failure to create a process
    cannot_create = 73,  ///< cannot create output
    io = 74,             ///< I/O error while reading or writing
    temporary = 75,      ///< temporary failure: retry the same command later
    protocol = 76,       ///< protocol error: broken chain, wrong run, inconsistent store
    permission = 77,     ///< permission denied, or a file mode, credential or certificate rejected
    config = 78,         ///< configuration error: a setting is invalid or contradicts other inputs
    interrupted = 130    ///< stopped by the user
};

/// A failure, which a function returns. If the caller breaks the function's contract, the function
/// throws an exception instead. message() returns "what: why; remedy".
struct Error {
    ExitCode code{ExitCode::software};
    std::string what;    ///< what failed: "cannot read shard data/00012.h5"
    std::string why;     ///< why it failed: "digest differs (expected 3f.., found 91..)"
    std::string remedy;  ///< what to do: "run `curtail-data verify`"; may be empty

    [[nodiscard]] std::string message() const;
    /// Returns the same failure with more context. `outer` becomes `what`; the previous `what` and
    /// `why` together become `why`.
    [[nodiscard]] Error with_context(std::string outer) const;
    friend bool operator==(Error const&, Error const&) = default;
};

/// A value, or the Error that prevented it.
template <class T>
using Result = tl::expected<T, Error>;

/// Makes an error for a function to return:
/// `return fail(ExitCode::data, "cannot read trace x.csv", "line 3 has no time zone",
///              "end each time with Z");`
[[nodiscard]] tl::unexpected<Error> fail(ExitCode code, std::string what, std::string why,
                                         std::string remedy = {});
/// Returns the text of an errno value, such as "No such file or directory".
[[nodiscard]] std::string errno_text(int error_number);

}  // namespace curtail
