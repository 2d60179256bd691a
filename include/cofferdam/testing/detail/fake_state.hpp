// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/environment_operations.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/kept_files.hpp>
#include <cofferdam/detail/core/output_collector.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/testing/fake_files.hpp>
#include <cofferdam/testing/fake_reply.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing::detail {

using fake_answer = std::function<reply(const command&, fake_files&)>;

/// One rule of the script: the commands that it matches, and the answers to them.
class fake_rule {
 public:
  enum class reach { everything, predicate, exact };

  reach rank;
  std::function<bool(const command&)> matches;
  std::vector<fake_answer> answers;
  std::size_t next = 0;
};

/// The script of a `fake_provider` and the record of its commands, shared by its copies and environments. The mutex is
/// recursive, because an answer may call functions of the provider.
class fake_script {
 public:
  std::recursive_mutex mutex;
  std::vector<fake_rule> rules;
  fake_files first_files;
  std::shared_ptr<fake_files> newest_files;
  std::vector<command> commands;
  std::vector<command> unscripted;
  std::size_t opened = 0;
  std::size_t closed = 0;

  /// Returns the reply to a command, from the matching rule with the highest rank; among rules of the same rank, from
  /// the newest.
  reply answer(const command& c, fake_files& files) {
    const std::lock_guard lock(mutex);
    fake_rule* found = nullptr;
    for (fake_rule& each : rules)
      if ((found == nullptr || each.rank >= found->rank) && each.matches(c)) found = &each;
    if (found == nullptr) {
      unscripted.push_back(c);
      throw unscripted_error(c);
    }
    // The answer is copied, because it may add rules and so move the stored answers in memory.
    const fake_answer chosen = found->answers[std::min(found->next++, found->answers.size() - 1)];
    return chosen(c, files);
  }

 private:
  static error unscripted_error(const command& c) {
    std::string pattern = "\"" + one_line(c.line()) + "\"";
    if (!c.is_shell()) {
      pattern = "argv(";
      for (const std::string& word : c.words())
        pattern += (pattern.back() == '(' ? "\"" : ", \"") + one_line(word) + "\"";
      pattern += ")";
    }
    return error(exec_errc::unsupported,
                 "fake_provider: no reply to the command " + pattern + "; add fake.on(" + pattern +
                     ", reply(\"...\")) for it, or fake.on(any_command, ...) for all other commands");
  }
};

class fake_process;

/// The state of an open fake environment. All members except the constructor are called on the environment's strand,
/// `home()`.
class fake_state {
 public:
  static constexpr const char* nothing_open =
      "fake_provider: not open (default-constructed or moved from); call open() on the provider first";

  fake_state(asio::any_io_executor executor, std::shared_ptr<fake_script> script)
      : home_(std::move(executor)), script_(std::move(script)) {
    const std::lock_guard lock(script_->mutex);
    files_ = std::make_shared<fake_files>(script_->first_files);
    script_->newest_files = files_;
    ++script_->opened;
  }

  const cofferdam::detail::home_strand& home() const noexcept { return home_; }
  cofferdam::detail::kept_files& kept() noexcept { return kept_; }
  fake_script& script() const noexcept { return *script_; }
  fake_files& files() const noexcept { return *files_; }
  bool is_closed() const noexcept { return closed_; }
  std::vector<fake_process*>& running() noexcept { return running_; }

  void require_open() const {
    if (closed_)
      throw error(exec_errc::environment_closed, "fake_provider: the environment is closed; open another one");
  }

  static awaitable<command_result> run(std::shared_ptr<fake_state> self, command c);
  static awaitable<process> start(std::shared_ptr<fake_state> self, command c);
  static awaitable<void> close(std::shared_ptr<fake_state> self) {
    self->abandon();
    co_return;
  }
  void abandon();

  template <class Operation>
  static auto with_files(std::shared_ptr<fake_state> self, Operation operation);

 private:
  cofferdam::detail::home_strand home_;
  cofferdam::detail::kept_files kept_;
  std::shared_ptr<fake_script> script_;
  std::shared_ptr<fake_files> files_;
  std::vector<fake_process*> running_;
  bool closed_ = false;
};

/// A running command of a fake environment. The scripted delays alone decide which pieces of output come before the
/// time limit, whatever the load of the machine is.
class fake_process final : public process::implementation {
 public:
  fake_process(std::shared_ptr<fake_state> state, command c, const reply& script, std::size_t number)
      : state_(std::move(state)),
        command_(std::move(c)),
        number_(number),
        result_(script.result()),
        failure_(script.failure()),
        out_(command_.kept_output().value_or(command::default_kept_output)),
        err_(command_.kept_output().value_or(command::default_kept_output)),
        timer_(state_->home().executor()) {
    constexpr std::size_t max_piece = std::size_t{64} * 1024;
    for (reply::piece whole : script.pieces()) {
      if (command_.terminal()) whole.stream = output_stream::out;
      bytes_view rest(whole.data);
      do {
        const bytes_view part = rest.first(std::min(rest.size(), max_piece));
        pieces_.push_back(reply::piece{whole.wait, whole.stream, bytes(part.begin(), part.end())});
        whole.wait = {};
        rest = rest.subspan(part.size());
      } while (!rest.empty());
    }
    state_->running().push_back(this);
  }
  ~fake_process() override { std::erase(state_->running(), this); }

  void wake() { timer_.cancel(); }

  awaitable<output_chunk> read() override {
    std::optional<output_chunk> piece;
    do {
      piece = co_await advance("read");
    } while (piece && piece->end());
    if (!piece) co_return output_chunk();
    co_return std::move(*piece);
  }

  awaitable<command_result> wait() override {
    std::optional<output_chunk> piece;
    do {
      piece = co_await advance("run");
    } while (piece);
    co_return result_;
  }

  /// Appends the data to the input of the recorded command.
  awaitable<void> write_input(bytes_view data) override {
    state_->require_open();
    if (!command_.has_open_input())
      throw error(exec_errc::unsupported,
                  "write_input: the command's input is closed; set open_input() on the command");
    if (over_ || input_closed_)
      throw error(exec_errc::io_error, "write_input: the command has ended, or its input was closed");
    const std::lock_guard lock(state_->script().mutex);
    command& recorded = state_->script().commands[number_];
    bytes input = recorded.take_input();
    input.insert(input.end(), data.begin(), data.end());
    recorded.input(std::move(input));
    co_return;
  }
  awaitable<void> close_input() override {
    input_closed_ = true;
    co_return;
  }
  awaitable<void> signal(int number) override {
    if (number < 1 || number > 64)
      throw error(exec_errc::invalid_argument,
                  "signal: " + std::to_string(number) + " is not a signal number; use 1 to 64");
    signal_ = number;
    wake();
    co_return;
  }
  awaitable<void> resize(std::uint16_t rows, std::uint16_t columns) override {
    if (!command_.terminal()) co_await process::implementation::resize(rows, columns);
  }

 private:
  /// Waits for the next piece of output, and adds it to the result. Returns no value at the end of the command.
  awaitable<std::optional<output_chunk>> advance(std::string doing) {
    if (over_) co_return std::nullopt;
    const bool has_more = at_ < pieces_.size();
    const std::chrono::milliseconds due = has_more ? clock_ + pieces_[at_].wait : clock_;
    const std::chrono::milliseconds limit = command_.timeout().value_or(no_timeout);
    co_await wait_until(start_ + std::min(due, limit), std::move(doing));
    if (signal_ == 0 && due < limit && has_more) {
      const reply::piece& piece = pieces_[at_++];
      clock_ = due;
      (piece.stream == output_stream::out ? out_ : err_).append(piece.data);
      co_return output_chunk(piece.stream, piece.data);
    }
    if (signal_ != 0) {
      result_.exit_code(-1).term_signal(signal_);
    } else if (due >= limit) {
      clock_ = limit;
      result_.exit_code(-1).term_signal(SIGTERM).kind(error_kind::timeout);
      result_.reason(timeout_reason(limit));
    } else if (failure_) {
      throw *failure_;
    }
    over_ = true;
    result_.out(out_.take()).err(err_.take()).duration(clock_);
    co_return std::nullopt;
  }

  /// Waits until a point in time, or until the command is sent a signal.
  awaitable<void> wait_until(std::chrono::steady_clock::time_point when, std::string doing) {
    bool waits = true;
    while (waits) {
      if (state_->is_closed())
        throw error(exec_errc::environment_closed, doing + ": the environment was closed; the command was ended")
            .with_partial(partial());
      if (signal_ != 0) co_return;
      std::error_code failure;
      timer_.expires_at(when);
      co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, failure));
      if (failure && !state_->is_closed() && signal_ == 0)
        throw error(exec_errc::cancelled, doing + ": cancelled; the command was ended", failure)
            .with_partial(partial());
      waits = failure || std::chrono::steady_clock::now() < when;
    }
  }

  std::shared_ptr<const command_result> partial() const {
    auto so_far = std::make_shared<command_result>();
    so_far->out(out_.snapshot()).err(err_.snapshot()).duration(clock_);
    return so_far;
  }

  std::shared_ptr<fake_state> state_;
  command command_;
  std::size_t number_;
  command_result result_;
  std::optional<error> failure_;
  std::vector<reply::piece> pieces_;
  std::size_t at_ = 0;
  cofferdam::detail::output_collector out_;
  cofferdam::detail::output_collector err_;
  asio::steady_timer timer_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds clock_{};
  int signal_ = 0;
  bool over_ = false;
  bool input_closed_ = false;
};

inline void fake_state::abandon() {
  if (std::exchange(closed_, true)) return;
  for (fake_process* each : running_) each->wake();
  const std::lock_guard lock(script_->mutex);
  ++script_->closed;
}

inline awaitable<process> fake_state::start(std::shared_ptr<fake_state> self, command c) {
  self->require_open();
  if (std::optional<command_result> refusal = refuse_invalid(c)) co_return process::finished(std::move(*refusal));
  std::size_t number = 0;
  {
    const std::lock_guard lock(self->script_->mutex);
    number = self->script_->commands.size();
    self->script_->commands.push_back(c);
  }
  const reply script = self->script_->answer(c, *self->files_);
  co_return process(std::make_unique<fake_process>(self, std::move(c), script, number));
}

inline awaitable<command_result> fake_state::run(std::shared_ptr<fake_state> self, command c) {
  if (c.has_open_input())
    throw error(exec_errc::invalid_argument,
                "run_command: open_input() needs start(); give the whole input with input()");
  process running = co_await start(std::move(self), std::move(c));
  command_result result = co_await std::move(running).wait();
  co_return result;
}

/// A source that returns copies of files, for `get_files`.
class fake_file_source final : public file_source {
 public:
  class item {
   public:
    file_header header;
    bytes content;
  };

  explicit fake_file_source(std::vector<item> items) : items_(std::move(items)) {}

  awaitable<std::optional<file_header>> next() override {
    sent_ = 0;
    if (next_ == items_.size()) co_return std::nullopt;
    co_return items_[next_++].header;
  }
  awaitable<bytes> read(std::size_t max_bytes) override {
    bytes_view rest = bytes_view(items_.at(next_ - 1).content).subspan(sent_);
    rest = rest.first(std::min({rest.size(), max_bytes, cofferdam::detail::file_piece}));
    sent_ += rest.size();
    co_return bytes(rest.begin(), rest.end());
  }

 private:
  std::vector<item> items_;
  std::size_t next_ = 0;
  std::size_t sent_ = 0;
};

/// The file operations of an open fake environment. Each locks the script's mutex, because tests may read the files on
/// another thread.
class fake_file_operations : public file_system_adaptor<fake_file_operations, cofferdam::detail::no_interface> {
 public:
  explicit fake_file_operations(std::shared_ptr<fake_state> state) : state_(std::move(state)) {}

  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    co_return locked([&](fake_files& files) { return files.read(path, max_bytes); });
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    locked([&](fake_files& files) { files.write(path, bytes(content.begin(), content.end())); });
    co_return;
  }
  /// Runs an operation on the files, whose functions return results and no awaitables.
  template <class Operation>
  awaitable<std::invoke_result_t<Operation&, fake_files&>> call(Operation operation) {
    co_return locked(operation);
  }
  /// Returns an empty watch: these files are watched by listings.
  awaitable<directory_watch> watch(std::string, watch_options) { co_return directory_watch(); }
  awaitable<transfer_result> put_files(file_source& source) {
    return cofferdam::detail::put_each(source,
                                       [this, &source](const file_header& header) { return put_file(source, header); });
  }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    std::vector<fake_file_source::item> items;
    for (const file_request& each : requests) {
      try {
        bytes content = locked([&](fake_files& files) { return files.read(each.path()); });
        const directory_entry found = locked([&](fake_files& files) { return files.stat(each.path()); });
        file_header header(each.path(), each.destination(), file_type::regular, content.size(), found.mode());
        items.push_back(fake_file_source::item{std::move(header), std::move(content)});
      } catch (const error& failure) {
        if (failure.code() == exec_errc::environment_closed) throw;
        items.push_back(fake_file_source::item{file_header(each.path(), failure), bytes()});
      }
    }
    std::unique_ptr<file_source> source = std::make_unique<fake_file_source>(std::move(items));
    co_return source;
  }

 private:
  template <class Operation>
  std::invoke_result_t<Operation&, fake_files&> locked(Operation operation) {
    state_->require_open();
    const std::lock_guard lock(state_->script().mutex);
    return operation(state_->files());
  }

  awaitable<transferred_file> put_file(file_source& source, const file_header& header) {
    bytes content;
    if (header.type() == file_type::directory) {
      locked([&](fake_files& files) { files.make_directory(header.destination()); });
      co_return transferred_file(header.source(), header.destination(), 0);
    }
    bytes piece = co_await source.read(cofferdam::detail::file_piece);
    while (!piece.empty()) {
      content.insert(content.end(), piece.begin(), piece.end());
      piece = co_await source.read(cofferdam::detail::file_piece);
    }
    const std::size_t size = content.size();
    locked([&](fake_files& files) { files.write(header.destination(), std::move(content), header.mode()); });
    co_return transferred_file(header.source(), workspace_path(header.destination()), size);
  }

  std::shared_ptr<fake_state> state_;
};

template <class Operation>
auto fake_state::with_files(std::shared_ptr<fake_state> self, Operation operation) {
  return cofferdam::detail::on_kept(fake_file_operations(std::move(self)), std::move(operation));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::testing::detail
