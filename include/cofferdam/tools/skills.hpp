// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/described_tool.hpp>
#include <cofferdam/tools/tool.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// A file of a skill, in memory.
class skill_file {
 public:
  std::string path;      ///< relative to the folder of the skill
  unsigned mode = 0644;  ///< the permission bits
  bytes content;         ///< the whole file
};

/// A skill: instructions for one kind of work, with files that they use.
class skill {
 public:
  std::string name;               ///< lower-case letters, digits and hyphens
  std::string description;        ///< the work that the skill is for, and when to use it
  std::string instructions;       ///< the Markdown text of SKILL.md, without its front matter
  std::vector<skill_file> files;  ///< all files of the folder, with SKILL.md, sorted by their paths
};

/// The tool that `skills` makes: it reads a skill. Its argument is `name`. The files of the skill are copied to
/// `skills/NAME` in the workspace, and the answer has the instructions and the names of these files.
/// \par Lifetime  the environment outlives the tool and its calls, and stays at one address.
class open_skill : public detail::described_tool<open_skill> {
 public:
  /// Makes the tool for an environment, which the caller keeps open.
  open_skill(any_environment& environment, std::vector<std::shared_ptr<const skill>> all);

  awaitable<tool_result> work(checked_arguments arguments);

 private:
  any_environment* environment_;
  std::vector<std::shared_ptr<const skill>> skills_;
};

/// Skills for an agent, in the open format of agent skills: a folder for each skill, with a file `SKILL.md` that begins
/// with `name` and `description` in YAML between two lines `---`:
///
///     helper.environment_tools().tool(tools::skills("skills"));  // skills/pdf/SKILL.md, skills/pdf/fill.py
///
/// The model gets only the names and descriptions, in the description of the tool `open_skill`. If it calls this tool,
/// it gets the instructions, and the files of the skill in its workspace.
///
/// The files are read at once, and kept in memory. Folders without SKILL.md are not skills. Other members of the front
/// matter are ignored; `allowed-tools` gives no permissions.
/// \par Source  the format of agent skills, agentskills.io; Stirrup's skills, without their defects.
/// \par Example examples/cofferdam/agent.cpp
class skills {
 public:
  /// Reads the skills of a folder of the host, as `add` does.
  explicit skills(const std::filesystem::path& folder) { add(folder); }

  /// Reads more skills. The call blocks until all files are read.
  /// \param folder  has a folder for each skill, or is itself the folder of one skill.
  /// \throws error{exec_errc::not_found} if the folder does not exist or has no skill;
  ///     error{exec_errc::invalid_argument} if the front matter of a skill is missing or cannot be read, its name does
  ///     not match `[a-z0-9-]{1,64}` or is not that of its folder, or its description is missing or longer than 1024
  ///     characters; error{exec_errc::already_exists} if there is a skill of this name;
  ///     error{exec_errc::outside_workspace} if a link leads out of the folder of a skill;
  ///     error{exec_errc::not_a_file} for a FIFO, socket, device or a link to a folder; error{exec_errc::too_large} if
  ///     SKILL.md has more than 128 KiB, a file more than 4 MiB, or a skill more than 1000 files or 16 MiB. Nothing is
  ///     added then.
  skills& add(const std::filesystem::path& folder);

  /// Returns the skills, in the order of their folders' names.
  const std::vector<std::shared_ptr<const skill>>& list() const noexcept { return skills_; }

  /// Makes the tool for an environment. `agent` and `mcp::server` call it.
  open_skill operator()(any_environment& environment) const { return open_skill(environment, skills_); }

  /// Marks a class whose temporaries g++ 12 handles correctly.
  using safe_as_temporary = void;

 private:
  std::vector<std::shared_ptr<const skill>> skills_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/tools/impl/skills.ipp>
#endif
