// SPDX-License-Identifier: Apache-2.0
// A file server that hangs: preloaded, open(2) of a path that contains the text in the variable
// HANGING_OPEN never returns.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

mode_t mode_in(int flags, va_list arguments)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

void hang_at(char const* path)
{
    char const* const part = std::getenv("HANGING_OPEN");
    if (part == nullptr || std::strstr(path, part) == nullptr) return;
    std::fprintf(stderr, "open hangs: %s\n", path);
    for (;;) pause();
}

template <class Function>
Function next(char const* name)
{
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define CURTAIL_HANGING_OPEN(name)                                            \
    extern "C" int name(char const* path, int flags, ...)                     \
    {                                                                         \
        va_list arguments;                                                    \
        va_start(arguments, flags);                                           \
        mode_t const mode = mode_in(flags, arguments);                        \
        va_end(arguments);                                                    \
        hang_at(path);                                                        \
        static auto const real = next<int (*)(char const*, int, ...)>(#name); \
        return real(path, flags, mode);                                       \
    }
CURTAIL_HANGING_OPEN(open)
CURTAIL_HANGING_OPEN(open64)

#define CURTAIL_HANGING_OPENAT(name)                                               \
    extern "C" int name(int folder, char const* path, int flags, ...)              \
    {                                                                              \
        va_list arguments;                                                         \
        va_start(arguments, flags);                                                \
        mode_t const mode = mode_in(flags, arguments);                             \
        va_end(arguments);                                                         \
        hang_at(path);                                                             \
        static auto const real = next<int (*)(int, char const*, int, ...)>(#name); \
        return real(folder, path, flags, mode);                                    \
    }
CURTAIL_HANGING_OPENAT(openat)
CURTAIL_HANGING_OPENAT(openat64)
