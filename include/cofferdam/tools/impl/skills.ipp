// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/format_result.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/core/yaml.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/skills.hpp>
#include <cofferdam/tools/tool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

namespace detail {

/// Reads the folder of one skill.
class skill_reader {
 public:
  static constexpr std::size_t max_instructions = std::size_t{128} << 10U;
  static constexpr std::size_t max_file = std::size_t{4} << 20U;
  static constexpr std::uint64_t max_bytes = std::uint64_t{16} << 20U;
  static constexpr std::size_t max_files = 1000;

  /// \param folder  the folder of the skill.
  /// \param name    the name of the folder.
  skill_reader(const directory& folder, std::string name) : folder_(folder), name_(std::move(name)) {}

  std::shared_ptr<const skill> read() {
    const auto made = std::make_shared<skill>();
    const std::vector<directory_entry> entries = folder_.list(".", list_options().entries(max_files));
    std::uint64_t sum = 0;
    for (const directory_entry& each : entries) {
      if (each.is_directory()) continue;
      // A link is followed if its target is a file of this folder; otherwise this throws.
      const bool is_instructions = each.path() == "SKILL.md";
      skill_file file;
      file.path = each.path();
      file.mode = (each.type() == file_type::symlink ? folder_.open_file(each.path()).mode() : each.mode()) & 0777U;
      file.content = folder_.read_file(each.path(), is_instructions ? max_instructions : max_file);
      sum += file.content.size();
      if (sum > max_bytes)
        throw error(exec_errc::too_large,
                    "skills: the files of '" + name_ + "' have more than 16 MiB; keep large files elsewhere");
      made->files.push_back(std::move(file));
    }
    for (const skill_file& each : made->files)
      if (each.path == "SKILL.md") read_instructions(*made, as_text(each.content));
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw error(exec_errc::invalid_argument, "skills: " + one_line(name_, 200) + "/SKILL.md " + why);
  }

  void read_instructions(skill& made, std::string_view text) const {
    if (!cofferdam::detail::is_valid_utf8(text)) fail("is not UTF-8");
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    std::size_t at = 0;
    const auto next_line = [&] {
      const std::size_t end = text.find('\n', at);
      std::string_view line = text.substr(at, end == std::string_view::npos ? end : end - at);
      at = end == std::string_view::npos ? text.size() : end + 1;
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
      return line;
    };
    if (next_line() != "---") fail("must begin with a line '---', before its name and description");
    std::size_t end = 0;
    bool is_closed = false;
    while (!is_closed && at < text.size()) {
      end = at;
      is_closed = next_line() == "---";
    }
    if (!is_closed) fail("has no second line '---', after its name and description");
    const cofferdam::detail::yaml_node front =
        cofferdam::detail::read_yaml(text.substr(0, end), "skills: " + one_line(name_, 200) + "/SKILL.md");
    made.name = text_of(front, "name");
    made.description = text_of(front, "description");
    if (!is_name(made.name))
      fail("has the name \"" + one_line(made.name, 100) +
           "\"; a name has 1 to 64 lower-case letters, digits and single hyphens between them");
    if (made.name != name_) fail("has the name \"" + made.name + "\", which must be that of its folder");
    if (cofferdam::detail::count_code_points(made.description) > 1024)
      fail("has a description of more than 1024 characters");
    made.instructions = text.substr(std::min(text.find_first_not_of("\r\n", at), text.size()));
  }

  std::string text_of(const cofferdam::detail::yaml_node& front, const char* key) const {
    const cofferdam::detail::yaml_node* const found = front.find(key);
    const bool is_text = found != nullptr && found->type == cofferdam::detail::yaml_node::kind::scalar;
    if (!is_text || found->text.find_first_not_of(" \t\r\n") == std::string::npos)
      fail(std::string("has no ") + key + " in its front matter");
    std::string text = found->text;
    text.resize(text.find_last_not_of(" \t\r\n") + 1);
    return text;
  }

  static bool is_name(const std::string& name) {
    const bool has_good_letters = std::all_of(
        name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
    return has_good_letters && !name.empty() && name.size() <= 64 && name.front() != '-' && name.back() != '-' &&
           name.find("--") == std::string::npos;
  }

  const directory& folder_;
  std::string name_;
};

/// A source of the files of a skill.
class skill_source final : public file_source {
 public:
  /// \param from  outlives this object.
  explicit skill_source(const skill& from) : from_(from) {}

  awaitable<std::optional<file_header>> next() override {
    std::optional<file_header> header;
    if (next_ == from_.files.size()) co_return header;
    const skill_file& file = from_.files[next_++];
    read_ = 0;
    header.emplace(file.path, destination(from_, file), file_type::regular, file.content.size(), file.mode);
    co_return header;
  }
  awaitable<bytes> read(std::size_t most) override {
    const bytes& content = from_.files[next_ - 1].content;
    const std::size_t count = std::min(most, content.size() - read_);
    const auto begin = content.begin() + static_cast<std::ptrdiff_t>(std::exchange(read_, read_ + count));
    bytes piece(begin, begin + static_cast<std::ptrdiff_t>(count));
    co_return piece;
  }

  static std::string destination(const skill& of, const skill_file& file) {
    return "skills/" + of.name + "/" + file.path;
  }

 private:
  const skill& from_;
  std::size_t next_ = 0;
  std::size_t read_ = 0;
};

inline std::string skill_list(const std::vector<std::shared_ptr<const skill>>& all) {
  std::string text =
      "Read a skill: instructions for one kind of work, and files for it, which are copied to the workspace. Read a "
      "skill before you do work that its description fits. These skills are available:";
  for (const auto& each : all) text += "\n- " + each->name + ": " + one_line(each->description, 5000);
  return text;
}

inline argument_list skill_arguments(const std::vector<std::shared_ptr<const skill>>& all) {
  std::vector<std::string> names;
  for (const auto& each : all) names.push_back(each->name);
  return argument_list(argument("name", text, "The name of the skill.").one_of(std::move(names)));
}

inline awaitable<tool_result> give_skill(any_environment* environment, std::shared_ptr<const skill> wanted) {
  skill_source source(*wanted);
  const transfer_result copied = co_await put_files(*environment, source);
  copied.throw_if_failed("open_skill");
  std::string answer = "The files of the skill " + wanted->name + " are in the workspace:";
  constexpr std::size_t max_listed = 100;
  for (std::size_t i = 0; i < wanted->files.size() && i < max_listed; ++i)
    answer += "\n- " + one_line(skill_source::destination(*wanted, wanted->files[i]));
  if (wanted->files.size() > max_listed)
    answer += "\n- and " + std::to_string(wanted->files.size() - max_listed) + " others";
  answer += "\nPaths in its instructions are relative to skills/" + wanted->name + ". The instructions:\n\n" +
            wanted->instructions;
  co_return tool_result(std::move(answer), true);
}

}  // namespace detail

COFFERDAM_DECL open_skill::open_skill(any_environment& environment, std::vector<std::shared_ptr<const skill>> all)
    : described_tool("open_skill", detail::skill_list(all), detail::skill_arguments(all)),
      environment_(&environment),
      skills_(std::move(all)) {}

COFFERDAM_DECL awaitable<tool_result> open_skill::work(checked_arguments arguments) {
  const std::string name = arguments.text("name");
  for (const auto& each : skills_)
    if (each->name == name) return detail::give_skill(environment_, each);
  throw error(exec_errc::not_found, "there is no skill '" + one_line(name, 64) + "'");
}

COFFERDAM_DECL skills& skills::add(const std::filesystem::path& folder) {
  const directory root = directory::open(folder);
  const auto has_skill = [](const directory& inside, const std::string& path) {
    try {
      inside.stat(path);
      return true;
    } catch (const error& failure) {
      if (failure.code() == exec_errc::not_found || failure.code() == exec_errc::not_a_directory) return false;
      throw;
    }
  };
  std::vector<std::shared_ptr<const skill>> added;
  if (has_skill(root, "SKILL.md")) {
    std::filesystem::path named = std::filesystem::absolute(folder).lexically_normal();
    if (!named.has_filename()) named = named.parent_path();
    added.push_back(detail::skill_reader(root, named.filename().string()).read());
  } else {
    for (const directory_entry& each : root.list(".", list_options().depth(1))) {
      const bool may_be_folder = each.is_directory() || each.type() == file_type::symlink;
      if (!may_be_folder || each.path().starts_with('.') || !has_skill(root, each.path() + "/SKILL.md")) continue;
      const directory inside = root.subdirectory(each.path());
      added.push_back(detail::skill_reader(inside, each.path()).read());
    }
  }
  if (added.empty())
    throw error(exec_errc::not_found, "skills: there is no skill in \"" + one_line(folder.string(), 1000) +
                                          "\"; a skill is a folder with a file SKILL.md");
  for (const auto& each : added)
    for (const auto& known : skills_)
      if (known->name == each->name)
        throw error(exec_errc::already_exists, "skills: there are two skills named '" + each->name + "'; rename one");
  skills_.insert(skills_.end(), added.begin(), added.end());
  return *this;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
