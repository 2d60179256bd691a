// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

// Functions of the two servers, `mcp` and `serve`.

namespace program {

/// The longest time between a signal and the end of a server.
inline constexpr std::chrono::seconds longest_end{9};

/// Returns a random text of hexadecimal digits, from the system's source of random numbers.
std::string random_text(std::size_t digits);

/// Reads a file of API keys or tokens, one in each line. Blanks around them, empty lines, the line ends of Windows and
/// a byte order mark are ignored.
/// \param what  the name of one of them, for messages: "token".
/// \param add   gets each of them, and throws an error if it is invalid.
/// \throws usage_error if the file cannot be read, has none, or has an invalid one; the message names file and line.
void add_secrets(const std::string& path, const std::string& what, const std::function<void(std::string)>& add);

/// Keeps other programs of the same user from reading this program's memory (PR_SET_DUMPABLE 0).
void become_undumpable();

/// Ends the program at once, with status 125. The kernel closes all connections, so clients see that their streams have
/// ended.
[[noreturn]] void give_up(const char* why);

}  // namespace program
