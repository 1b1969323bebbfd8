"""Which language a source file is written in, told by its name and, where the name says nothing, by its first line."""

import re
from collections.abc import Mapping
from typing import Final

MARKDOWN: Final = frozenset({"md", "mdx", "markdown"})
"""Extensions whose text is Markdown; it is prose, not code."""

_BY_LANGUAGE: Final[Mapping[str, str]] = {
    "python": "py pyi pyw",
    "go": "go",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "rust": "rs",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hpp hh hxx ipp inl",
    "csharp": "cs csx",
    "ruby": "rb rake gemspec ru",
    "php": "php phtml",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc sbt",
    "hcl": "tf tfvars hcl",
    "yaml": "yaml yml",
    "shell": "sh bash zsh ksh bats",
    "awk": "awk",
    "bicep": "bicep",
    "clojure": "clj cljs cljc",
    "cmake": "cmake",
    "css": "css scss less",
    "cuda": "cu cuh",
    "cue": "cue",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "fsharp": "fs fsi fsx",
    "glsl": "glsl vert frag hlsl wgsl",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs",
    "ini": "toml ini cfg conf properties env",
    "jsonnet": "jsonnet libsonnet",
    "julia": "jl",
    "lua": "lua",
    "make": "mk mak",
    "nim": "nim",
    "nix": "nix",
    "objc": "m mm",
    "ocaml": "ml mli",
    "pascal": "pas",
    "perl": "pl pm",
    "powershell": "ps1 psm1",
    "protobuf": "proto",
    "r": "r",
    "solidity": "sol",
    "sql": "sql",
    "svelte": "svelte",
    "tcl": "tcl",
    "template": "tpl tmpl",
    "thrift": "thrift",
    "visualbasic": "vb bas",
    "vue": "vue",
    "zig": "zig",
}
_BY_EXTENSION: Final = {
    extension: language for language, extensions in _BY_LANGUAGE.items() for extension in extensions.split()
}
_BY_NAME: Final[Mapping[str, str]] = {
    "build": "python",
    "build.bazel": "python",
    "workspace": "python",
    "cmakelists.txt": "cmake",
    "containerfile": "dockerfile",
    "dockerfile": "dockerfile",
    "brewfile": "ruby",
    "fastfile": "ruby",
    "gemfile": "ruby",
    "podfile": "ruby",
    "rakefile": "ruby",
    "vagrantfile": "ruby",
    "gnumakefile": "make",
    "justfile": "make",
    "makefile": "make",
    "jenkinsfile": "groovy",
}
_SHEBANG: Final = re.compile(
    r"#![^\n]*?\b(?:(bash|dash|ksh|zsh|sh)|(python)|(ruby)|(node|deno|bun)|(perl)|(php)|(lua)|(Rscript))[\d.]*(?:\s|$)"
)
_SHEBANG_LANGUAGES: Final = ("shell", "python", "ruby", "javascript", "perl", "php", "lua", "r")
_CPP_HEADER: Final = re.compile(
    r"^[ \t]*(?:class|namespace|template|using|public:|private:|protected:)\b", re.MULTILINE
)


def extension(name: str) -> str:
    """The lower-cased extension without its dot, `""` where there is none (a leading dot starts none)."""
    last = name.rsplit("/", 1)[-1]
    stem, dot, suffix = last.rpartition(".")
    return suffix.lower() if dot and stem else ""


def is_markdown(name: str) -> bool:
    return extension(name) in MARKDOWN


def language_of(name: str, text: str = "") -> str | None:
    """The language of a source file, or None for what is none (prose, data, unknown)."""
    last = name.rsplit("/", 1)[-1].lower()
    found = _BY_NAME.get(last) or _BY_EXTENSION.get(extension(last))
    if found == "c" and last.endswith(".h") and _CPP_HEADER.search(text):
        return "cpp"
    if found is None and last.startswith(("dockerfile.", "makefile.", "jenkinsfile.")):
        return _BY_NAME[last.split(".", 1)[0]]
    if found is None and not extension(last):
        return _by_shebang(text)
    return found


def _by_shebang(text: str) -> str | None:
    match = _SHEBANG.match(text.removeprefix("\ufeff"))
    return _SHEBANG_LANGUAGES[(match.lastindex or 1) - 1] if match else None
