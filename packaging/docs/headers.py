# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Reads the public headers, and writes the copy of them that Doxygen reads.

The copy differs from the headers as follows:

- The inline namespace of the two modes is left out, so that names are `cofferdam::command`. So are private classes, and
  declarations that are no names of their own, such as friends and classes that are only declared.
- Functions without a comment are left out if they are defaulted, deleted, move or copy operations, or name a `detail`
  class (`explicit environment(std::shared_ptr<detail::sandbox>)`): users do not call the last kind.
- Overloads without a comment share the comment of the documented overload directly above them.
- If a setter or getter has no comment and its partner of the same name has one, it gets a sentence that names the partner.
- Members that a concept requires (`run_command`, `close`, `attach`, ...) get the sentence in REQUIRED, if they have no
  comment.

Everything else without a comment stays as it is, and Doxygen reports it.
"""
import re
from collections import namedtuple

# The functions that concepts require, described once: the name, a pattern of the parameters, and the sentence. RETURNS has the
# return types of names that other functions have too.
REQUIRED = [
    ("run_command", "command", "Runs a command to its end and returns the result, as `code_exec_environment` describes."),
    ("start", "command", "Starts a command and returns it while it runs, as `streaming_environment` describes."),
    ("read_file", "string path, .*size_t", "Reads a file of the environment, as `code_exec_environment` describes."),
    ("write_file", "string path, bytes_view", "Writes a file of the environment, as `code_exec_environment` describes."),
    ("write_file", "string path, Bytes", "Writes a file from temporary bytes, which the awaitable owns."),
    ("files", "", "Returns the operations on files of the environment, as `file_environment` describes."),
    ("pause", "", "Pauses the environment, as `pausable_environment` describes."),
    ("resume", "", "Resumes the environment, as `pausable_environment` describes."),
    ("snapshot", "", "Saves the state of the environment, as `snapshot_environment` describes."),
    ("open", "", "Opens the environment or the runner that this recipe describes."),
    ("close", "", "Ends everything that this object owns. A second call does nothing."),
    ("run_code", "code_request", "Runs code and returns the result, as `code_runner` describes."),
    ("contexts", "", "Returns the names of the contexts that hold variables now."),
    ("end_context", "string", "Removes a context with its variables. Returns false if the context does not exist."),
    ("admit", "command", "The hook of `layer`: may change the command, or refuses it by returning a result."),
    ("admit", "code_request", "The hook of `code_layer`: may change the request, or refuses it by returning a result."),
    ("attach", "Inner", "Returns the layer around `inner`. `provider | recipe` calls it when an environment opens."),
    ("stat", "string path", "Returns the entry at `path`, as `file_system` describes."),
    ("list", "string path", "Lists the entries beneath `path`, as `file_system` describes."),
    ("make_directory", "string path", "Creates a directory, as `file_system` describes."),
    ("remove", "string path", "Removes the entry at `path`, as `file_system` describes."),
    ("rename", "string from", "Renames an entry, as `file_system` describes."),
    ("put_files", "file_source", "Writes a sequence of files, as `file_system` describes."),
    ("get_files", "file_request", "Reads files, as `file_system` describes."),
    ("watch", "watch_options", "Watches a directory, as `file_system` describes."),
    ("chat", "chat_request", "Sends a request to the model and returns the answer, as `chat_model` describes."),
    ("name", "", "Returns the name, as the concept `tool` describes."),
    ("description", "", "Returns the description, as the concept `tool` describes."),
    ("parameters", "", "Returns the JSON schema of the arguments, as the concept `tool` describes."),
    ("call", "boost::json::value arguments", "Calls the tool, as the concept `tool` describes."),
    ("work", "checked_arguments", "Carries out a call whose arguments have been checked."),
    ("reads_only", "", "Returns true if a call of this tool changes nothing."),
    ("ends_work", "", "Returns true if a successful call of this tool ends the task."),
    ("policy", "", "Returns the policy that decides about code."),
    ("judge", "code_analysis", "Returns a refusal, or no value if the policy admits the code."),
]

RETURNS = {"files": "file_system", "name": "std::string_view", "description": "std::string_view",
           "contexts": "awaitable<std::vector<std::string>>"}

# The same for constants.
REQUIRED_CONSTANTS = {"name": "The name of the guard, for messages."}
# Members of a class with one of these names implement the functions of the same name of the class around it.
INTERFACES = ("::implementation", "::basic_implementation")

SPACE = re.compile(r"\s+")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|'
                   r"(?<![0-9A-Za-z_])'(?:[^'\\\n]|\\.)+'", re.S)
SCOPE = re.compile(r"(?:inline\s+)?(class|struct|union|enum|namespace)\b")
ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]|\bCOFFERDAM_DECL\b|\b(?:inline|constexpr|explicit|static|virtual|friend)\b")
FUNCTION = re.compile(r"(?<!\w)(operator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+|[\w: ]+?)|~?(?!decltype\b)\w+)\s*\(")

# The macros of the two modes, which only the headers use.
OWN_MACRO = re.compile(r"#define COFFERDAM_(ABI|DECL|INSTANTIATE)\b")

Declaration = namedtuple("Declaration", "begin end head kind owner public comment trailing")


def is_public(path):
    """Returns True for a header that users may include, given its path relative to include/cofferdam."""
    return path.suffix == ".hpp" and not {"detail", "impl", "program"} & set(path.parts)


def blanked(text):
    """Returns the text with comments and literals replaced by spaces, so that positions stay the same."""
    def spaces(match):
        return re.sub(r"[^\n]", " ", match[0]) if match[0].startswith("/") else \
            '"' + re.sub(r"[^\n]", " ", match[0][1:-1]) + '"'
    code = TOKEN.sub(spaces, text)
    # A preprocessor line, with its continuations.
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), code, flags=re.M)


def matching(code, at, end):
    """Returns the position after the bracket that closes the one at `at`."""
    depth = 0
    for here in range(at, end):
        if code[here] in "({[":
            depth += 1
        elif code[here] in ")}]":
            depth -= 1
            if depth == 0:
                return here + 1
    return end


def requirement_before(head):
    """Returns True if a brace after `head` opens a requires-expression."""
    return re.search(r"\brequires\s*(\((?:[^()]|\([^()]*\))*\))?\s*$", head) is not None


def without_template(head):
    """Returns a declaration without `template <...>` and the requires clause after it."""
    match = re.match(r"\s*template\s*<", head)
    if not match:
        return head.lstrip()
    depth, at = 1, match.end()
    while at < len(head) and depth:
        depth += {"<": 1, ">": -1}.get(head[at], 0)
        if head[at] in "([{":
            at = matching(head, at, len(head)) - 1
        at += 1
    words = head[at:].lstrip()
    if not words.startswith("requires"):
        return words
    # A clause ends where no `&&` or `||` joins it to the next part. Each part is in parentheses or is a concept.
    at = len("requires")
    while True:
        at += len(words[at:]) - len(words[at:].lstrip(" \n!"))
        name = re.compile(r"[\w:]+").match(words, at)
        if name:
            at = name.end()
        if at < len(words) and words[at] == "<":
            depth = 0
            while at < len(words):
                depth += {"<": 1, ">": -1}.get(words[at], 0)
                at += 1
                if depth == 0:
                    break
        elif at < len(words) and words[at] == "(":
            at = matching(words, at, len(words))
        rest = words[at:].lstrip()
        if not rest.startswith(("&&", "||")):
            return rest
        at = len(words) - len(rest) + 2


def without_arguments(words):
    """Returns a declaration without the arguments of its templates: `std::function<void()> x` becomes `std::function x`."""
    before = None
    while words != before:
        before, words = words, re.sub(r"<[^<>]*>", "", words)
    return words


def declarations(text, code=None, begin=0, end=None, owner="", reachable=True, public=True):
    """Yields the declarations of a header, those of nested classes after their class."""
    code = blanked(text) if code is None else code
    end = len(code) if end is None else end
    at = begin
    while at < end:
        if code[at] in " \t\r\n;}":
            at += 1
            continue
        access = re.compile(r"(public|protected|private)\s*:(?!:)").match(code, at, end)
        if access:
            public, at = access[1] != "private", access.end()
            continue
        first, here, body = at, at, None
        while here < end and code[here] != ";":
            if code[here] in "([":
                here = matching(code, here, end)
            elif code[here] == "{":
                after = matching(code, here, end)
                if requirement_before(code[first:here]):
                    here = after
                    continue
                body, here = (here, after), after
                break
            else:
                here += 1
        head = code[first:body[0] if body else here]
        plain = without_template(head)
        scope = SCOPE.match(plain)
        if scope and (body or "(" not in head):
            kind = scope[1]
        elif re.match(r"concept\b", plain):
            kind = "concept"
        elif re.match(r"using\b|typedef\b", plain):
            kind = "using"
        elif "operator" in plain or re.search(r"\w\s*\(", without_arguments(re.sub(r"=.*", "", plain, flags=re.S))):
            kind = "function"
        else:
            kind = "variable"
        last = here
        if body and kind in ("class", "struct", "union", "enum", "variable"):
            while last < end and code[last] != ";":
                last += 1
        if last < end and code[last] == ";":
            last += 1
        line = text.rfind("\n", 0, first) + 1
        above, comment = line, []
        while above > 0:
            previous = text.rfind("\n", 0, above - 1) + 1
            words = text[previous:above].strip()
            if not words.startswith("///") or words.startswith("///<"):
                break
            comment.insert(0, words)
            above = previous
        rest = text[last:text.find("\n", last) if "\n" in text[last:] else len(text)]
        name = re.search(r"(?:class|struct|namespace|enum class|enum)\s+([\w:]+)", ATTRIBUTE.sub(" ", plain))
        yield Declaration(first, last, head, kind, owner, reachable and public, comment, "///<" in rest)
        if body and kind in ("class", "struct", "namespace"):
            if not (kind == "namespace" and "detail" in head):
                inside = owner if kind == "namespace" else (owner + "::" if owner else "") + (name[1] if name else "")
                yield from declarations(text, code, body[0] + 1, body[1] - 1, inside, reachable and public,
                                        kind != "class")
        at = last


def function_of(head):
    """Returns name, parameters and return type of a function, or None."""
    words = ATTRIBUTE.sub(" ", without_template(head))
    visible = words if "operator" in words else re.sub(
        r"<(?:[^<>]|<[^<>]*>)*>(?=[^()]*\w\s*\()", lambda part: " " * len(part[0]), words)
    match = FUNCTION.search(visible)
    if not match:
        return None
    close = matching(words, match.end() - 1, len(words))
    return (SPACE.sub("", match[1]), SPACE.sub(" ", words[match.end():close - 1]).strip(),
            SPACE.sub("", words[:match.start()]).strip("&"), words[close:])


def is_special(declaration, name):
    """Returns True for a defaulted or deleted function, a destructor, and what moves or copies an object."""
    if re.search(r"=\s*(default|delete)\s*$", declaration.head) or name.startswith("~"):
        return True
    own = declaration.owner.split("::")[-1]
    parts = function_of(declaration.head)
    is_same_type = re.fullmatch(rf"(const )?{own}(<\w+>)?\s*&&?\s*\w*", parts[1]) if parts else None
    return name in (own, "operator=") and is_same_type is not None


def generated_comments(found):
    """Yields (declaration, comment lines or None to leave it out) for functions without a comment."""
    members = {}
    for each in found:
        if each.kind == "variable" and each.public and not each.comment and not each.trailing:
            name = re.search(r"static constexpr std::string_view (\w+)", each.head)
            if name and name[1] in REQUIRED_CONSTANTS:
                yield each, [f"/// {REQUIRED_CONSTANTS[name[1]]}"]
        if each.kind == "function" and each.public:
            parts = function_of(each.head)
            if parts:
                members.setdefault((each.owner, parts[0]), []).append((each, parts))
    for (owner, name), overloads in members.items():
        shared = {}
        last = None
        for each, parts in overloads:
            if each.comment or each.trailing:
                shared[id(each)] = each.comment
                last = (each, parts, each.comment)
                continue
            if is_special(each, name):
                yield each, None
                shared[id(each)] = []
                continue
            if last and last[1][1] == parts[1]:
                yield each, last[2]
                shared[id(each)] = last[2]
            elif parts[2].endswith("::"):  # the definition of a member, outside of its class
                yield each, None
                shared[id(each)] = []
            elif last and last[1][2] == parts[2] and parts[1] and last[1][1] and not any(
                    re.match(r"/// \\t?param", line) for line in last[2]):
                yield each, last[2]
                shared[id(each)] = last[2]
        documented = [parts for each, parts in overloads if shared.get(id(each)) or each.trailing]
        for each, parts in overloads:
            if id(each) in shared:
                continue
            if "detail::" in parts[1]:
                yield each, None
                continue
            if owner.endswith(INTERFACES):
                outer = owner.split("::")[-2]
                yield each, [f"/// Implements `{outer}::{name}`."]
                continue
            for required, pattern, sentence in REQUIRED:
                if required == name and (re.search(pattern, parts[1]) if pattern else not parts[1]) and \
                        RETURNS.get(name, parts[2]) == parts[2]:
                    yield each, [f"/// {sentence}"]
                    break
            else:
                if name == owner.split("::")[-1]:
                    continue
                if owner and not parts[1] and "const" in parts[3] and any(other[1] for other in documented):
                    yield each, [f"/// Returns the value that `{name}` with an argument sets."]
                elif owner and parts[1] and any(not other[1] for other in documented):
                    yield each, [f"/// Sets the value that `{name}()` returns."]


def is_no_entity(declaration, text):
    """Returns True for what is no name of its own: a class that is defined elsewhere, a friend, an inherited constructor,
    the enumerators of another enumeration, a deduction guide, and a trait of `std`."""
    words = text[declaration.begin:declaration.end]
    if declaration.kind in ("class", "struct", "enum") and "{" not in words:
        return True
    if declaration.kind == "function" and re.search(r"\) -> \w+(<.*>)?$", declaration.head):
        return True
    if declaration.head.startswith("friend ") and "{" not in words:
        return True
    return re.match(r"using (enum|[\w:<> ]+::)\s*\w+;|template <>\s*struct std::", words) is not None


def comment_begin(text, begin):
    """Returns the begin of the comment above a declaration, or of the declaration's line if it has none."""
    line = text.rfind("\n", 0, begin) + 1
    above = line
    while above > 0:
        previous = text.rfind("\n", 0, above - 1) + 1
        if not text[previous:above].strip().startswith("///"):
            break
        above = previous
    return above if above < line else begin


def is_friend_with_body(declaration, text):
    """Returns True for a function that is defined in a class as its friend."""
    return without_template(declaration.head).startswith("friend ") and text[declaration.end - 1] == "}"


def reference_text(text):
    """Returns the copy of a header, and for each of its lines the number of the line in the header."""
    found = list(declarations(text))
    inserted, removed, friends = {}, [], []
    for each, comment in generated_comments(found):
        line = text.count("\n", 0, each.begin)
        if comment is None:
            removed.append((each.begin, each.end))
        else:
            inserted[line] = comment
    for each in found:
        is_private_class = not each.public and each.kind in ("class", "struct", "enum")
        is_detail = each.kind == "namespace" and "detail" in each.head
        if is_friend_with_body(each, text) and each.comment:
            friends.append(each)
            removed.append((each.begin, each.end))
        if is_private_class or is_detail or not each.comment and is_no_entity(each, text):
            removed.append((each.begin, each.end))
    characters = list(text)
    for begin, end in removed:
        begin = comment_begin(text, begin)
        for at in range(begin, end):
            if characters[at] != "\n":
                characters[at] = " "
    lines, numbers = [], []
    for number, line in enumerate("".join(characters).split("\n")):
        for words in inserted.get(number, []):
            lines.append(words)
            numbers.append(number + 1)
        line = "" if OWN_MACRO.match(line) else line.replace("cofferdam::inline COFFERDAM_ABI", "cofferdam")
        if line.lstrip().startswith("///"):
            line = line.replace("*/", "*\u200d/")  # Doxygen would end the comment here: `logs/**/*.txt`
        lines.append(line)
        numbers.append(number + 1)
    # Doxygen links to a friend's documentation, but does not write it. So friends become functions of their namespace.
    for each in friends:
        number = text.count("\n", 0, each.begin) + 1
        place = re.findall(r"^namespace (cofferdam::inline \S+) \{", text[:each.begin], re.M)[-1]
        place = re.sub(r"::inline COFFERDAM_ABI", "", place)
        head = re.sub(r"\bfriend\s+", "", each.head).strip()
        for words in [f"namespace {place} {{", *each.comment, *f"{head};".split("\n"), "}"]:
            lines.append(words)
            numbers.append(number)
    return "\n".join(lines), numbers
