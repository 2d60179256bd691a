// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Runs the fuzz targets without libFuzzer: each on its corpus, and then on pseudo-random variations of it. The sequence
// of inputs is always the same, with each compiler. COFFERDAM_FUZZ_RUNS sets the number of inputs. Arguments are the
// names of the targets to run; without arguments, all run.

#include "fuzz/target.hpp"
#include "support/paths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view fragments[] = {"'",
                                          "\"",
                                          "\\",
                                          "$",
                                          "`",
                                          "$(",
                                          ")",
                                          "{",
                                          "}",
                                          ";",
                                          "&&",
                                          "||",
                                          "|",
                                          "<<EOF\n",
                                          ">",
                                          "#",
                                          "\n",
                                          "\r",
                                          "\t",
                                          " ",
                                          "~",
                                          "*",
                                          "?",
                                          "[a-z]",
                                          "!",
                                          "=",
                                          "a",
                                          "-rf",
                                          "it",
                                          "--",
                                          "$'x",
                                          "../",
                                          "/",
                                          "=1",
                                          "echo",
                                          "\x1b[31m",
                                          "\xf0\x9f\x98\x80",
                                          "\xed\xa0\x80",
                                          "\xc0\x80",
                                          "\xff"};

void mutate(std::string& text, std::mt19937& random) {
  const std::size_t at = text.empty() ? 0 : random() % (text.size() + 1);
  switch (random() % 6) {
    case 0: text.insert(at, fragments[random() % std::size(fragments)]); break;
    case 1: text.insert(at, 1, static_cast<char>(random() % 256)); break;
    case 2:
      if (at < text.size()) text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << (random() % 8)));
      break;
    case 3: text.erase(at, 1 + random() % 4); break;
    case 4: text += text.substr(at, random() % 64); break;
    default: text.resize(at); break;
  }
}

void feed(const cofferdam_test::fuzz_target& target, const std::string& text) {
  // Copies the input to a heap block of exactly its size, so that a sanitizer detects a read past its end.
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  target.run()(bytes.data(), bytes.size());
}

void replay(const cofferdam_test::fuzz_target& target, std::size_t runs) {
  // A target aborts the program when it finds a fault, so its name comes first.
  std::printf("%s: ", target.name());
  std::fflush(stdout);
  const std::filesystem::path folder = cofferdam_test::source_path(std::string("tests/fuzz/corpus/") + target.name());
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus{""};
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  for (const auto& text : corpus) feed(target, text);

  std::mt19937 random(20260101);  // a fixed seed, so that a failure can be reproduced
  std::string text;
  for (std::size_t i = 0; i < runs; ++i) {
    if (i % 64 == 0 || text.size() > 4096) text = corpus[random() % corpus.size()];
    mutate(text, random);
    feed(target, text);
  }
  std::printf("%zu inputs from a corpus of %zu\n", runs, corpus.size());
}

}  // namespace

int main(int count, char** words) {
  std::size_t runs = 20'000;
  if (const char* runs_text = std::getenv("COFFERDAM_FUZZ_RUNS")) runs = std::strtoull(runs_text, nullptr, 10);
  const std::set<std::string> wanted(words + 1, words + count);
  std::size_t passed = 0;
  for (const cofferdam_test::fuzz_target* each = cofferdam_test::fuzz_target::first(); each != nullptr;
       each = each->next()) {
    if (!wanted.empty() && !wanted.contains(each->name())) continue;
    replay(*each, runs);
    ++passed;
  }
  const bool ran_all = passed != 0 && (wanted.empty() || passed == wanted.size());
  if (!ran_all) std::printf("no such target\n");
  std::printf("%zu passed, %d failed, 0 skipped\n", passed, ran_all ? 0 : 1);
  return ran_all ? 0 : 1;
}
