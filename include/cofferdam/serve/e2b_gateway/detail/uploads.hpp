// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/detail/net/gzip_decoder.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/multipart_reader.hpp>
#include <cofferdam/serve/e2b_gateway/detail/paths.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The files in the body of a request, as a source for an environment. The body is streamed. If the client sends
/// invalid data, the source ends, and the failure is kept for the reply.
class upload_source : public file_source {
 public:
  const std::exception_ptr& failure() const noexcept { return failure_; }

  /// Declares that the body is compressed with gzip.
  /// \param max_bytes  the maximum size of the decompressed body, in bytes.
  void decode_gzip(std::uint64_t max_bytes) { gzip_.emplace(max_bytes); }

 protected:
  explicit upload_source(http_call& call) noexcept : call_(call) {}

  /// Returns the next piece of the decompressed body; an empty text at its end.
  awaitable<std::string_view> more() {
    for (;;) {
      if (gzip_) {
        const bytes_view piece = decoded();
        if (!piece.empty()) co_return as_text(piece);
      }
      std::size_t count = 0;
      try {
        count = co_await call_.read_some(room_);
      } catch (...) {
        failure_ = std::current_exception();
        throw;
      }
      const bytes_view piece = bytes_view(room_).first(count);
      if (!gzip_) co_return as_text(piece);
      if (count == 0) {
        if (!gzip_->is_complete()) refuse_gzip("gzip: the body ends in the middle");
        co_return std::string_view();
      }
      gzip_->feed(piece);
    }
  }
  void fail(std::exception_ptr why) { failure_ = std::move(why); }
  http_call& call() const noexcept { return call_; }
  bool is_gzip() const noexcept { return gzip_.has_value(); }

 private:
  bytes_view decoded() {
    try {
      if (gzip_->next() == cofferdam::detail::gzip_decoder::event::output) return gzip_->output();
    } catch (const error& wrong) {
      if (wrong.code() != exec_errc::too_large) refuse_gzip(wrong.what());
      failure_ = std::make_exception_ptr(http_refusal(413, wrong.what()));
      throw;
    }
    return {};
  }
  [[noreturn]] void refuse_gzip(const char* why) {
    failure_ = std::make_exception_ptr(http_refusal(400, why));
    throw error(exec_errc::io_error, why, net_errc::malformed);
  }

  http_call& call_;
  std::optional<cofferdam::detail::gzip_decoder> gzip_;
  std::array<std::byte, std::size_t{64} * 1024> room_;
  std::exception_ptr failure_;
};

/// An upload whose body is one file.
class raw_upload final : public upload_source {
 public:
  raw_upload(http_call& call, std::string destination) : upload_source(call), destination_(std::move(destination)) {}

  awaitable<std::optional<file_header>> next() override {
    if (std::exchange(is_given_, true)) co_return std::nullopt;
    std::uint64_t size = 0;
    const auto length = call().field("Content-Length");
    if (length && !is_gzip()) size = number_from<std::uint64_t>(*length).value_or(0);
    co_return file_header(destination_, destination_, file_type::regular, size, 0644);
  }
  awaitable<bytes> read(std::size_t max_bytes) override {
    if (rest_.empty() && !is_over_) {
      rest_ = co_await more();
      is_over_ = rest_.empty();
    }
    const std::string_view piece = rest_.substr(0, max_bytes);
    rest_.remove_prefix(piece.size());
    co_return to_bytes(piece);
  }

 private:
  std::string destination_;
  std::string_view rest_;
  bool is_given_ = false;
  bool is_over_ = false;
};

/// The parts of a form that have the name `file`. Each part is one file.
class form_upload final : public upload_source {
 public:
  /// \param destination  the path for the only file of the form. Without it, each part must name its own file.
  form_upload(http_call& call, std::string boundary, std::optional<std::string> destination, const guest_paths& paths)
      : upload_source(call), reader_(std::move(boundary)), destination_(std::move(destination)), paths_(paths) {}

  awaitable<std::optional<file_header>> next() override {
    if (failure()) co_return std::nullopt;
    std::optional<file_header> header;
    for (bool is_open = true; is_open && !header;) {
      const event what = co_await step();
      if (what == event::end) is_open = false;
      if (what == event::part && reader_.name() == "file") {
        try {
          header = head();
        } catch (...) {
          fail(std::current_exception());
          is_open = false;
        }
      }
    }
    in_file_ = header.has_value();
    co_return header;
  }

  awaitable<bytes> read(std::size_t max_bytes) override {
    while (rest_.empty() && in_file_) {
      const event what = co_await step();
      if (what == event::content) rest_ = reader_.content();
      if (what == event::part_end || what == event::end) in_file_ = false;
    }
    const std::string_view piece = rest_.substr(0, max_bytes);
    rest_.remove_prefix(piece.size());
    co_return to_bytes(piece);
  }

 private:
  using event = multipart_reader::event;

  awaitable<event> step() {
    rest_ = std::string_view();
    for (;;) {
      event what = event::more;
      try {
        what = reader_.next();
      } catch (...) {
        fail(std::current_exception());
        throw;
      }
      if (what != event::more) co_return what;
      const std::string_view piece = co_await more();
      if (piece.empty()) {
        fail(std::make_exception_ptr(http_refusal(400, "multipart: NextPart: EOF")));
        throw error(exec_errc::io_error, "multipart/form-data: the body ends before its last boundary",
                    net_errc::truncated);
      }
      reader_.feed(piece);
    }
  }

  file_header head() {
    std::string target;
    if (destination_) {
      target = *destination_;
    } else {
      if (!reader_.file_name() || reader_.file_name()->empty())
        throw http_refusal(400, "a part of the form has no file name, and the request has no path");
      target = paths_.locate(*reader_.file_name());
    }
    if (!seen_.insert(target).second)
      throw http_refusal(400, "you cannot upload multiple files to the same path '" + paths_.outside(target) +
                                  "' in one upload request");
    constexpr std::size_t max_files = 10'000;
    if (seen_.size() > max_files) throw http_refusal(400, "one form can contain at most 10000 files");
    return {target, target, file_type::regular, 0, 0644};
  }

  multipart_reader reader_;
  std::optional<std::string> destination_;
  const guest_paths& paths_;
  std::string_view rest_;
  std::set<std::string> seen_;
  bool in_file_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
