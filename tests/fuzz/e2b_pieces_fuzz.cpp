// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the parsers of the E2B backend get any bytes. The first byte selects the parser. For parsers of streams
// the second byte sets the size of the pieces, which must not change the result.

#include <cofferdam/backends/e2b/code_interpreter.hpp>
#include <cofferdam/backends/e2b/detail/api_error.hpp>
#include <cofferdam/backends/e2b/detail/envd_version.hpp>
#include <cofferdam/backends/e2b/folder_watch.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/backends/e2b/endpoint.hpp>

#include "fuzz/target.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using cofferdam::e2b::detail::endpoint;
using cofferdam::e2b::detail::envd_version;
using cofferdam::e2b::detail::refused_error;
using cofferdam::e2b::detail::said_message;
using namespace cofferdam::e2b;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string read_run(std::string_view text, std::size_t size) {
  execution_reader reader(execution_limits(64, 256));
  std::string end = "whole";
  try {
    for (std::size_t at = 0; at < text.size(); at += size) reader.feed(text.substr(at, size));
  } catch (const error& failure) {
    require(failure.code() == exec_errc::io_error || failure.code() == exec_errc::too_large);
    end = "refused";
  }
  const execution done = reader.take(std::chrono::nanoseconds(1));
  require(done.out().head().size() + done.out().tail().size() <= 64);
  return end + done.out().text() + "|" + done.err().text() + "|" + std::to_string(done.results().size()) +
         std::string(done.value());
}

void read_event(std::string_view text) {
  try {
    const process_event event = process_event::parse(text);
    require(event.end.exit_code >= -1 && event.end.exit_code <= 255);
    require(event.end.signal >= -1 && event.end.signal <= 64);
    folder_watch::parse(text);
  } catch (const error& failure) {
    require(failure.code() == exec_errc::io_error);
  }
}

void read_url(std::string_view text) {
  try {
    const endpoint address = endpoint::parse(text, "x");
    require(endpoint::parse(address.text(), "x").text() == address.text());
    require(address.port() != 0 && !address.host().empty());
  } catch (const error& failure) {
    require(failure.code() == exec_errc::invalid_argument);
  }
}

void read_words(std::string_view text) {
  redactor clean;
  const std::string word(text.substr(0, text.size() / 2));
  clean.hide(secret_string(word));
  if (word.size() >= 4 && std::string_view("[redacted]").find(word) == std::string_view::npos) {
    const std::string safe = clean.clean(std::string(text) + word);
    // The text contains the word, so at least one occurrence is replaced. The word itself may still occur in the
    // result, if it arises where two parts meet at a replacement.
    require(safe.find("[redacted]") != std::string::npos);
  }
  static_cast<void>(refused_error("x", 400, said_message(text)));
  const std::optional<envd_version> version = envd_version::parse(text);
  if (version) require(envd_version::parse(version->text()) == version);
}

}  // namespace

COFFERDAM_FUZZ_TARGET(e2b_pieces)(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[0] % 4) {
    case 0: require(read_run(text, data[1] % 16U + 1U) == read_run(text, text.size() + 1)); break;
    case 1: read_event(text); break;
    case 2: read_url(text); break;
    default: read_words(text); break;
  }
  return 0;
}
