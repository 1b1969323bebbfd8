"""YAML is cut into its documents and, where they are long, by key; what is written stays as it is written."""

from common.adapters.parsers.yaml_documents import parse_yaml

LONG = "x" * 400


def units(text):
    document = parse_yaml("a.yaml", text)
    assert document.text == text
    return [(b.headings, text[b.start : b.end]) for b in document.blocks if b.kind == "symbol"]


def paths(text):
    return [headings for headings, _ in units(text)]


def test_documents_are_called_by_kind_and_name():
    text = """\
apiVersion: v1
kind: Service # why not
metadata:
  labels:
    name: wrong
  name: "web"
---
kind: Deployment
metadata: {labels: {a: b}, name: api}
---
kind: Job
metadata:
  generateName: nightly-
---
kind: List
...
---
a: 1
"""
    assert paths(text) == [("Service/web",), ("Deployment/api",), ("Job/nightly-",), ("List",), ()]


def test_templates_and_tags_survive():
    text = """\
{{- if .Values.enabled }}
kind: Deployment
metadata:
  name: {{ include "app.fullname" . }}-web
  annotations: !Sub "${A}"
{{- end }}
---
Resources:
  Bucket: !GetAtt [A, B]
"""
    found = units(text)
    assert found[0][0] == ('Deployment/{{ include "app.fullname" . }}-web',)
    assert found[0][1].startswith("{{- if")
    assert found[0][1].endswith("{{- end }}")
    assert "!GetAtt [A, B]" in found[1][1]


def test_long_documents_are_cut_by_key():
    text = f"""\
AWSTemplateFormatVersion: "2010-09-09"
Resources:
  # the bucket
  Bucket:
    Type: AWS::S3::Bucket
    Name: {LONG}
  "Role":
    Type: AWS::IAM::Role
    Name: {LONG}
  Doc:
    text: |
      Key: no key
    Name: {LONG}
Outputs:
  A:
    Value: 1
"""
    assert paths(text) == [("Resources", "Bucket"), ("Resources", "Role"), ("Resources", "Doc"), ("Outputs",)]
    assert units(text)[0][1].startswith("Resources:\n  # the bucket\n  Bucket:")
    assert units(text)[2][1].endswith(LONG)


def test_long_objects_keep_their_name_above_their_keys():
    text = f"kind: Deployment\nmetadata:\n  name: web\n  a: 1\nspec:\n  a: {LONG}\n  b: {LONG}\n  c: {LONG}\n"
    assert paths(text) == [("Deployment/web", "metadata"), ("Deployment/web", "spec")]
    blocks = parse_yaml("a.yml", text).blocks
    assert blocks[0].headings == ("Deployment/web",)
    assert blocks[0].kind == "code"


def test_items_are_called_by_their_names():
    text = f"- name: Install\n  apt: {LONG}\n  a: 1\n- hosts: all\n  b: {LONG}\n  c: 1\n- - x\n  - {LONG}\n  - z\n"
    assert paths(text) == [("Install",), ("all",), ("- x",)]


def test_a_block_scalar_is_not_opened():
    inside = f"    key:\n      a: {LONG}\n      b: 1\n" * 4
    assert paths(f"data:\n  script: |\n{inside}  b:\n    c: 1\n    d: 2\n") == [("data", "script"), ("data", "b")]


def test_markers_only_count_at_the_margin():
    text = "a: |\n  ---\n  b\nc: ----\n"
    assert paths(text) == [()]


def test_comments_alone_are_no_document():
    document = parse_yaml("a.yaml", "---\n# nothing\n---\na: 1\n")
    assert [block.kind for block in document.blocks] == ["code", "symbol"]


def test_windows_line_ends():
    text = "kind: A\r\nmetadata:\r\n  name: b\r\n---\r\nkind: C\r\n"
    assert paths(text) == [("A/b",), ("C",)]


def test_huge_documents_are_plain_blocks(monkeypatch):
    monkeypatch.setattr("common.adapters.parsers.yaml_documents.MAX_CHARACTERS", 100)
    assert units("a:\n" + "  b: 1\n" * 50) == []
