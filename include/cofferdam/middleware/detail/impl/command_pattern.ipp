// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/middleware/detail/command_pattern.hpp>

#include <boost/regex.hpp>

#include <cstddef>
#include <exception>
#include <iterator>
#include <locale>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

// The exception that a counted_iterator throws when a match exceeds its step limit.
class match_too_costly : public std::runtime_error {
 public:
  match_too_costly() : std::runtime_error("the match took too many steps") {}
};

// An iterator over a text that counts every read and every step against a shared limit, so that no pattern can run for
// a long time. The count does not depend on the speed of the machine: the same command and allowlist always have the
// same result.
class counted_iterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  counted_iterator() = default;
  counted_iterator(const char* at, std::size_t* steps) noexcept : at_(at), steps_(steps) {}

  reference operator*() const {
    pay();
    return *at_;
  }
  counted_iterator& operator++() {
    pay();
    ++at_;
    return *this;
  }
  counted_iterator operator++(int) {
    counted_iterator before = *this;
    ++*this;
    return before;
  }
  counted_iterator& operator--() {
    pay();
    --at_;
    return *this;
  }
  counted_iterator operator--(int) {
    counted_iterator before = *this;
    --*this;
    return before;
  }
  friend bool operator==(const counted_iterator& a, const counted_iterator& b) {
    if (a.steps_ != nullptr) a.pay();
    return a.at_ == b.at_;
  }

 private:
  void pay() const {
    if (*steps_ == 0) throw match_too_costly();
    --*steps_;
  }

  const char* at_ = nullptr;
  std::size_t* steps_ = nullptr;
};

class pattern_program {
 public:
  boost::regex expression;

  match_state match(std::string_view text, bool as_prefix, std::size_t& steps,
                    boost::regex_constants::match_flag_type how) const {
    namespace flags = boost::regex_constants;
    const counted_iterator begin(text.data(), &steps);
    const counted_iterator end(text.data() + text.size(), &steps);
    boost::match_results<counted_iterator> found;
    try {
      const bool matches = as_prefix ? boost::regex_search(begin, end, found, expression, how | flags::match_continuous)
                                     : boost::regex_match(begin, end, found, expression, how);
      if (!matches) return match_state::none;
      return found[0].matched ? match_state::complete : match_state::open;
    } catch (const std::runtime_error&) {  // the step limit, or a limit of Boost.Regex itself
      return match_state::too_costly;
    }
  }
};

// Returns the reason of a failed compilation in one line, from the message of Boost.Regex. The message repeats a part
// of the pattern, and marks the place of the error in it; only the text before this place is kept.
COFFERDAM_DECL std::string reason_of_pattern_error(std::string_view message) {
  constexpr std::string_view mark = ">>>HERE>>>";
  const std::string_view reason = message.substr(0, message.find("  The error occurred"));
  std::string line(reason.substr(0, reason.size() - (reason.ends_with('.') ? 1 : 0)));
  const std::size_t place = message.find(mark);
  const std::size_t quote = message.rfind('\'', place);
  if (place != std::string_view::npos && quote != std::string_view::npos)
    line += ", after \"" + one_line(message.substr(quote + 1, place - quote - 1)) + '"';
  return line;
}

// Returns true if the pattern calls itself or one of its groups: (?R), (?1), (?-1), (?+1), (?&name) or (?P>name).
// Such patterns are refused, because Boost.Regex copies all groups at each call, and the step limit does not count
// that work.
COFFERDAM_DECL bool is_recursive_pattern(std::string_view source) {
  bool in_set = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\\') {
      ++i;
    } else if (in_set) {
      in_set = source[i] != ']';
    } else if (source[i] == '[') {
      in_set = true;
      if (source.substr(i + 1).starts_with(']')) ++i;
      if (source.substr(i + 1).starts_with("^]")) i += 2;
    } else if (source.substr(i).starts_with("(?")) {
      std::string_view rest = source.substr(i + 2);
      if (rest.starts_with('R') || rest.starts_with('&') || rest.starts_with("P>")) return true;
      if (rest.starts_with('+') || rest.starts_with('-')) rest.remove_prefix(1);
      if (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') return true;
    }
  }
  return false;
}

COFFERDAM_DECL command_pattern::command_pattern(std::string source, std::string_view layer)
    : source_(std::move(source)) {
  if (is_recursive_pattern(source_))
    throw error(exec_errc::invalid_argument, std::string(layer) + ": the pattern \"" + one_line(source_) +
                                                 "\" calls itself or one of its groups, which takes too long to match");
  auto program = std::make_shared<pattern_program>();
  program->expression.imbue(std::locale::classic());
  try {
    program->expression.assign(source_, boost::regex_constants::perl);
  } catch (const std::exception& failure) {
    std::string why = reason_of_pattern_error(failure.what());
    if (source_.find("(?P<") != std::string::npos)
      why += ". Write a named group as (?<name>...), not as (?P<name>...) as in Python";
    throw error(exec_errc::invalid_argument,
                std::string(layer) + ": the pattern \"" + one_line(source_) + "\" is not a regular expression: " + why);
  }
  program_ = std::move(program);
}

COFFERDAM_DECL match_state command_pattern::match(std::string_view text, bool as_prefix, std::size_t& steps,
                                                  bool accept_open) const {
  namespace flags = boost::regex_constants;
  flags::match_flag_type how = flags::match_default | flags::match_single_line | flags::match_not_dot_newline;
  if (accept_open) how |= flags::match_partial;
  return program_->match(text, as_prefix, steps, how);
}

COFFERDAM_DECL match_state command_pattern::match_across_lines(std::string_view text, bool as_prefix,
                                                               std::size_t& steps) const {
  namespace flags = boost::regex_constants;
  return program_->match(text, as_prefix, steps, flags::match_default | flags::match_single_line);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
