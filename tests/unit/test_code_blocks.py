"""Source code is cut into one unit per symbol, keeps every character's place, and never fails or slows down."""

import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.adapters.parsers import code_grammar, code_tree
from common.adapters.parsers.code import parse_code
from common.adapters.parsers.code_blocks import Unit, cover, paragraphs, signature
from common.adapters.parsers.code_languages import GRAMMARS
from common.adapters.parsers.hcl import parse_hcl
from common.adapters.parsers.shell import parse_shell
from common.adapters.parsers.yaml_documents import parse_yaml
from common.domain.languages import language_of

CORPUS = Path(__file__).parents[1] / "corpus" / "code"
PARSERS = {"hcl": parse_hcl, "yaml": parse_yaml, "shell": parse_shell}


def read(name):
    return (CORPUS / name).read_bytes().decode()


def units(document):
    return [(b.headings, document.text[b.start : b.end]) for b in document.blocks if b.kind == "symbol"]


def titles(document):
    return [headings[-1] if headings else "" for headings, _ in units(document)]


def assert_whole(document):
    """Blocks are in order and hold all that is visible: nothing of a file is lost, whatever its parser made of it."""
    position = 0
    for block in document.blocks:
        assert position <= block.start < block.end
        assert not document.text[position : block.start].strip()
        position = block.end
    assert not document.text[position:].strip()


@pytest.fixture
def small_classes(monkeypatch):
    monkeypatch.setattr(code_tree, "SMALL", 60)


def test_python_of_the_hard_case():
    document = parse_code("app/decorated.py", read("decorated.py"))
    assert document.title == "app/decorated.py"
    assert titles(document) == ["TEXTO", "consulta", "A"]
    (_, constant), (_, function), (_, whole_class) = units(document)
    assert constant.startswith("TEXTO")
    assert "def falso" in constant
    assert function.startswith("@decorador(")
    assert function.endswith('{os.sep}"')
    assert "PY-3" in function
    assert whole_class.startswith("class A")
    assert whole_class.endswith("return c")
    assert "PY-4" in whole_class
    assert all(block.alone and block.whole for block in document.blocks if block.kind == "symbol")


EXPECTED = {
    "py": ["f", "g", "A"],
    "go": ["Server", "A, B", "Server.Start", "main", "handlers"],
    "java": ["Foo", "I", "P", "Ann"],
    "js": [
        "foo",
        "export default class extends X",
        "bar",
        "module.exports",
        "exports.q",
        'app.get("/users", async (req, res)',
        "gen",
        "K",
    ],
    "ts": ["Foo", "I", "T", "E", "f", "g", "Q", "useX", "App", "df", "over", "over"],
    "rs": ["Foo", "impl fmt::Display for Foo", "impl Foo", "Tr", "t", "m", "E", "main"],
    "c": ["foo", "bar_t", "e", "f", "g", "h"],
    "cpp": ["Foo", "Foo::out", "free_fn", "cfn", "tf", "S", "En"],
    "cs": ["Foo", "I", "R", "S", "D"],
    "rb": ["B", "top", 'describe "x"'],
    "php": ["Foo", "f", "I", "T", "E"],
    "kt": ["Foo", "O", "I", "ext", "D", "E", "T"],
    "swift": ["Foo", "S", "Foo", "P", "E", "top", "Ac"],
    "scala": ["Foo", "Foo", "T", "P", "top", "E"],
}


@pytest.mark.parametrize("extension", EXPECTED)
def test_every_grammar_names_its_symbols(extension):
    document = parse_code(f"sample.{extension}", read(f"sample.{extension}"))
    assert titles(document) == EXPECTED[extension]
    assert_whole(document)


MEMBERS = {
    "py": ["A", "A.m", "A.Inner"],
    "java": ["Foo", "Foo.Foo", "Foo.go", "Foo.Color", "Foo.Inner"],
    "ts": ["Foo", "Foo.constructor", "Foo.go", "Foo.z"],
    "rs": ["impl fmt::Display for Foo", "Foo::fmt"],
    "cpp": ["Foo", "Foo::Foo", "Foo::go", "Foo::operator=="],
    "cs": ["Foo", "Foo.Foo", "Foo.Go", "Foo.Q"],
    "rb": ["B", "B.go", "B.k", "B.z"],
    "php": ["Foo", "Foo::go"],
    "kt": ["Foo", "Foo.go", "Foo.companion", "Foo.init"],
    "swift": ["Foo", "Foo.init", "Foo.go", "Foo.deinit"],
    "scala": ["Foo", "Foo.go"],
}


@pytest.mark.usefixtures("small_classes")
@pytest.mark.parametrize("extension", MEMBERS)
def test_a_big_class_is_its_head_and_its_members(extension):
    document = parse_code(f"sample.{extension}", read(f"sample.{extension}"))
    found = titles(document)
    first = found.index(MEMBERS[extension][0])
    assert found[first : first + len(MEMBERS[extension])] == MEMBERS[extension]
    assert_whole(document)


@pytest.mark.usefixtures("small_classes")
def test_members_keep_their_decorators_comments_and_indentation():
    python = {headings[-1]: text for headings, text in units(parse_code("a.py", read("sample.py")))}
    assert python["A.m"].startswith("    @property\n")
    java = {headings[-1]: text for headings, text in units(parse_code("a.java", read("sample.java")))}
    assert java["Foo.Foo"].startswith("    /** ctor */\n")
    assert java["Foo"].endswith("// tail")
    rust = {headings[-1]: text for headings, text in units(parse_code("a.rs", read("sample.rs")))}
    assert rust["Foo::fmt"].lstrip().startswith("/// f\n    #[inline]\n")
    typescript = {headings[-1]: text for headings, text in units(parse_code("a.ts", read("sample.ts")))}
    assert typescript["Foo.go"].lstrip().startswith('@HostListener("x")')


def test_closing_brackets_belong_to_the_last_member():
    text = "namespace A {\n\n  class B {\n    int x;\n  }\n\n}  // namespace A\n"
    document = parse_code("a.cpp", text)
    assert units(document) == [(("A", "B"), text.rstrip())]


def test_offsets_are_characters_not_bytes():
    text = '# ação 🚀\nX = "é"\n\n\ndef função():\n    return "ü"\n\n\ndef b(): pass\n' * 300
    document = parse_code("a.py", text)
    assert titles(document) == ["função", "b"] * 300
    assert all(part.endswith(('return "ü"', "b(): pass")) for _, part in units(document))
    assert_whole(document)


def test_carriage_returns_stay():
    text = "import os\r\n\r\n\r\ndef a():\r\n    pass\r\n\r\n\r\ndef b():\r\n    pass\r\n"
    document = parse_code("a.py", text)
    assert document.text == text
    assert units(document) == [(("a",), "def a():\r\n    pass"), (("b",), "def b():\r\n    pass")]


def test_without_its_grammar_a_language_is_read_by_its_braces(monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter_java", None)
    code_grammar._language.cache_clear()
    document = parse_code("a.java", read("sample.java"))
    code_grammar._language.cache_clear()
    assert titles(document) == ["Foo", "I", "P", "Ann"]


WITHOUT_GRAMMAR = {
    "sample.dart": ["A", "main"],
    "sample.proto": ["User", "S"],
    "sample.css": ["#id", ".a, .b"],
    "sample.pl": ["hi"],
    "sample.lua": ["M.hi", "lo"],
    "sample.sql": ["users", "f"],
    "sample.ex": ["A.B"],
    "Makefile": ["all", "build"],
    "sample.toml": ["tool.ruff", "b"],
    "Dockerfile": ["python:3.11", "scratch"],
    "sample.r": ["f <- function(x)"],
}


@pytest.mark.parametrize("name", WITHOUT_GRAMMAR)
def test_languages_without_a_grammar(name):
    document = parse_code(name, read(name))
    assert titles(document) == WITHOUT_GRAMMAR[name]
    assert_whole(document)


def test_broken_source_falls_back_to_plain_blocks():
    document = parse_code("a.py", "def (((\n\nisto não é código {{{\n\n%%%")
    assert document.blocks
    assert_whole(document)


def test_unknown_files_are_plain_blocks():
    long = "palavra " * 20
    document = parse_code("notes.xyz", f"{long}\n\n{long}\n")
    assert [block.kind for block in document.blocks] == ["code", "code"]
    assert not parse_code("a.py", " \n\t\n").blocks


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("// c\nfunction (a) {\n  x\n}", "function (a)"),
        ("@dec\nif x == 1:\n  y", "if x == 1"),
        ("describe('a', () => {", "describe('a', ()"),
        ("((((((", ""),
        ("", ""),
    ],
)
def test_signature(first, expected):
    assert signature(first) == expected


def test_cover_gives_closers_to_the_symbol_before_them():
    text = "a {x}\n}\n} // ns\nrest"
    (symbol, rest) = cover(text, 0, len(text), [Unit(0, 5, ("a",))], ())
    assert (text[symbol.start : symbol.end], rest.loose) == ("a {x}", True)
    (whole,) = cover(text[:-4], 0, len(text) - 4, [Unit(0, 5, ("a",))], ())
    assert text[whole.start : whole.end] == "a {x}\n}\n} // ns"


def test_paragraphs_keep_short_pieces_with_what_follows():
    long = "x" * 90
    text = f"a\n\nb\n\n{long}\n\n{long}"
    assert [text[s:e] for s, e in paragraphs(text, 0, len(text))] == [f"a\n\nb\n\n{long}", long]


HOSTILE = [
    *["(", "{", "a<b<\n", "class A { ", "/* ", "'", "`", "if a {\n"],
    *["<<A\n", "a: |\n b:\n", "$(", '"${', "---\n", "((((x\n"],
]


@pytest.mark.parametrize("name", ["a.py", "a.java", "a.ts", "a.cs", "a.dart", "a.lua", "a.tf", "a.yaml", "a.sh"])
def test_hostile_input_costs_bounded_time(name):
    for pattern in HOSTILE:
        text = pattern * (20_000 // len(pattern))
        parse = PARSERS.get(language_of(name), parse_code)
        started = time.thread_time()
        document = parse(name, text)
        assert time.thread_time() - started < 5, pattern
        assert_whole(document)


def test_type_arguments_nested_without_end_are_not_parsed():
    nested = "a<b<\n" * 300
    balanced = "Map<String, List<Integer>> x = f(a < b);\n" * 300
    assert code_grammar._tangled(nested)
    assert not code_grammar._tangled(balanced)
    assert code_grammar.parse_tree(nested, nested.encode(), GRAMMARS["java"]) is None
    assert code_grammar.parse_tree(balanced, balanced.encode(), GRAMMARS["java"]) is not None


WORDS = st.sampled_from(
    [
        *"{}()[];:='`#|\\\"é🚀 ",
        *["\n", "\n\n", "\r\n", "//", "/*", "*/", "${", "@a", "- ", "  ", "---\n", "<<EOT\n", "EOT\n"],
        *["def f", "class A", "fn x", "func y", "if", "fi", "done", "end", 'resource "a" "b" '],
        *["kind: A", "metadata:", "name: n"],
    ]
)
ANY_TEXT = st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=60).map("".join))


@settings(max_examples=60, deadline=None)
@given(
    ANY_TEXT, st.sampled_from(sorted([*GRAMMARS, "dart", "lua", "perl", "sql", "make", "ini", "hcl", "yaml", "shell"]))
)
def test_any_text_in_any_language_is_kept_whole(text, language):
    parse = PARSERS.get(language)
    document = parse("a", text) if parse else parse_code("a", text, language)
    assert document.text == text
    assert_whole(document)


def test_languages_by_name_and_by_first_line():
    names = ["a/b.PY", "Dockerfile", "x/Dockerfile.dev", ".bashrc", "LICENSE", "a.tfvars", "a.unknown"]
    assert [language_of(name) for name in names] == ["python", "dockerfile", "dockerfile", None, None, "hcl", None]
    assert language_of("run", "#!/usr/bin/env -S bash -e\n") == "shell"
    assert language_of("run", "#!/usr/bin/python3\n") == "python"
    assert language_of("a.h", "int x;") == "c"
    assert language_of("a.h", "namespace a {}") == "cpp"
