// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/over_bootstrap.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/warden/image.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The wishes for a warden that is brought to a place.
class delivery_order {
 public:
  std::string speaker;           ///< begins each error message, such as "over"
  std::string folder;            ///< the folder for the warden's temporary folder; empty to look for one
  std::string workspace;         ///< made if it is missing; empty for a new one in the temporary folder
  std::string folder_advice;     ///< ends the error for a place without a folder
  std::string workspace_advice;  ///< ends the error for a workspace that cannot be made
};

/// Brings a warden to a place and starts it there, by the script `over_script`, which already runs in the place.
/// \tparam Wire  the standard input and output of the script: has the coroutines `read_some(span)` and `write(bytes)`.
///               `read_some` throws at the end of the output.
template <class Wire>
class warden_delivery {
 public:
  /// \param wire  the caller keeps it until `run` completes.
  warden_delivery(Wire& wire, delivery_order order) : wire_(wire), order_(std::move(order)), reader_(order_.speaker) {}

  /// Brings the warden. The caller keeps this object until the awaitable completes.
  /// \param reached  set to true as soon as the script is known to run in the place; the caller keeps it, too.
  /// \return  the bytes that have arrived after the last answer of the script: the warden's first ones.
  /// \throws error{exec_errc::unsupported} for a terminal, an unknown architecture, or a place without a folder that
  ///     allows both writing and executing; error{exec_errc::provider_failed} if the script ends or answers badly.
  awaitable<std::string> run(bool& reached) {
    bootstrap_answer answer = co_await next();
    expect(answer, "ready");
    const warden_image image = warden_image_for(answer.value);
    if (image.program().empty())
      throw failed(exec_errc::unsupported, "the place has a machine of the kind \"" + one_line(answer.value, 40) +
                                               "\", but wardens exist only for x86_64 and aarch64");
    reached = true;
    const std::string key = random_digits();
    const std::string order =
        key + "\n" + std::to_string(image.program().size()) + "\n" + order_.folder + "\n" + order_.workspace + "\n";
    co_await send(as_bytes(std::string_view(order)));
    answer = co_await next();
    if (answer.before.find(key) != std::string::npos) throw reader_.terminal();  // it echoes its input
    expect(answer, "place");
    constexpr std::size_t most_variables = std::size_t{4} * 1024 * 1024;
    reader_.longest(most_variables);
    answer = co_await next();
    expect(answer, "send");
    place_.emplace(answer.before, order_.speaker);
    reader_.longest(bootstrap_reader::max_skipped);
    const auto* const data = reinterpret_cast<const std::byte*>(image.program().data());
    co_await send(bytes_view(data, image.program().size()));
    answer = co_await next();
    expect(answer, "start");
    co_return reader_.take_rest();
  }

  /// Returns the description of the place, once `run` has succeeded.
  const place_report& place() const { return *place_; }

 private:
  error failed(exec_errc code, const std::string& text) const { return error(code, order_.speaker + ": " + text); }

  awaitable<void> send(bytes_view data) {
    std::optional<error> failure;
    try {
      co_await wire_.write(data);
    } catch (const error& reason) {
      failure = reason;
    }
    if (failure) throw unanswered(*failure);
  }

  /// Returns the next answer of the script.
  awaitable<bootstrap_answer> next() {
    std::array<std::byte, 4096> piece;
    for (;;) {
      std::optional<bootstrap_answer> answer = reader_.next();
      if (answer) co_return std::move(*answer);
      std::size_t got = 0;
      std::optional<error> failure;
      try {
        got = co_await wire_.read_some(std::span<std::byte>(piece));
      } catch (const error& reason) {
        failure = reason;
      }
      if (failure) throw unanswered(*failure);
      reader_.arrived(bytes_view(piece.data(), got));
    }
  }

  /// Returns the error for a script that has ended, or whose time is over, before the next answer.
  error unanswered(const error& reason) const {
    if (reason.code() == exec_errc::cancelled) return reason;
    std::string text = reason.what();
    const std::string printed = reader_.shown();
    if (!printed.empty()) text += "; the program has printed \"" + printed + "\"";
    return error(exec_errc::provider_failed, std::move(text), reason.cause());
  }

  /// Returns the parts of a list once each. The script may try a folder twice, as /tmp if TMPDIR names it, too.
  static std::string each_once(std::string_view list) {
    std::string result;
    while (!list.empty()) {
      const std::size_t size = std::min(list.find(", "), list.size());
      const std::string part(list.substr(0, size));
      list.remove_prefix(std::min(size + 2, list.size()));
      if ((", " + result + ", ").find(", " + part + ", ") != std::string::npos) continue;
      result += (result.empty() ? "" : ", ") + part;
    }
    return result;
  }

  /// Throws the error for an answer that reports a failure.
  void expect(const bootstrap_answer& answer, std::string_view kind) const {
    if (answer.kind == kind) return;
    if (answer.kind == "terminal") throw reader_.terminal();
    if (answer.kind == "folder") {
      throw failed(exec_errc::unsupported, "the place has no folder that allows both writing and executing: " +
                                               one_line(each_once(answer.value), 400) + order_.folder_advice);
    }
    if (answer.kind == "workspace")
      throw failed(exec_errc::provider_failed, "the workspace \"" + one_line(order_.workspace) +
                                                   "\" does not exist in the place, and cannot be made" +
                                                   order_.workspace_advice);
    if (answer.kind == "short")
      throw failed(exec_errc::provider_failed,
                   "the warden did not arrive whole in the place; its folder may be full" + order_.folder_advice);
    throw failed(exec_errc::provider_failed,
                 "the place answered \"" + one_line(answer.kind, 40) + "\" in place of \"" + std::string(kind) + "\"");
  }

  Wire& wire_;
  delivery_order order_;
  bootstrap_reader reader_;
  std::optional<place_report> place_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
