"""Terraform is cut by block, whatever its strings, heredocs and comments hold."""

from pathlib import Path

from common.adapters.parsers.hcl import parse_hcl

CORPUS = Path(__file__).parents[1] / "corpus" / "code"


def units(text):
    document = parse_hcl("main.tf", text)
    assert document.text == text
    return [(b.headings[-1], text[b.start : b.end]) for b in document.blocks if b.kind == "symbol"]


def titles(text):
    return [title for title, _ in units(text)]


def test_the_hard_case_is_three_whole_blocks():
    text = (CORPUS / "heredoc.tf").read_text()
    (variable, resource, output) = units(text)
    assert (variable[0], resource[0], output[0]) == ("var.env", "aws_codebuild_project.ci", "output.arn")
    assert resource[1].startswith("resource ")
    assert resource[1].endswith("}")
    assert "HCL-1" in resource[1]
    assert 'resource "fake"' in resource[1]
    assert output[1].startswith("/* comentário")
    assert "HCL-2" in output[1]


def test_titles_are_addresses():
    text = """
terraform {}
provider "aws" { region = "x" }
data "aws_ami" "ubuntu" {}
module "vpc" { source = "./vpc" }
locals { a = 1 }
resource aws_eks_cluster main {}
job "web" {}
"""
    assert titles(text) == [
        "terraform",
        "provider.aws",
        "data.aws_ami.ubuntu",
        "module.vpc",
        "locals",
        "aws_eks_cluster.main",
        "job.web",
    ]


def test_braces_in_strings_and_interpolations_are_text():
    text = 'a "x" {\n  n = "${f("}{", { k = "}" }["k"])} $${ { "\n}\n\nb "y" {\n  t = "%{ if true }{%{ endif }"\n}\n'
    assert titles(text) == ["a.x", "b.y"]


def test_heredocs_end_at_their_own_tag():
    text = "a {\n  x = <<EOT\n}\nEOTX\n  EOT\n}\n\nb {\n  y = <<-E\n  }}}\n  E\n}\n"
    assert titles(text) == ["a", "b"]


def test_comments_above_belong_to_their_block():
    text = '# one\n\n# two\n// three\nresource "a" "b" {}\n'
    assert units(text) == [("a.b", '# two\n// three\nresource "a" "b" {}')]


def test_variable_files_have_their_long_values():
    text = 'region = "x"\ntags = {\n  a = 1\n  b = 2\n}\nzones = [\n  "a",\n  "b",\n]\nshort = { a = 1 }\n'
    assert units(text) == [("tags", "tags = {\n  a = 1\n  b = 2\n}"), ("zones", 'zones = [\n  "a",\n  "b",\n]')]


def test_an_open_end_is_plain_text_and_what_stood_before_stays():
    text = 'a "b" {\n  x = 1\n}\n\nc "d" {\n  y = "${ {"\n'
    document = parse_hcl("x.tf", text)
    assert titles(text) == ["a.b"]
    assert [block.kind for block in document.blocks] == ["symbol", "code"]


def test_an_unterminated_string_ends_with_its_line():
    assert titles('x = "open {\ny "z" {\n  a = 1\n}\n') == ["y.z"]


def test_several_blocks_on_one_line():
    assert titles("a {} b {} c {}") == ["a", "b", "c"]
