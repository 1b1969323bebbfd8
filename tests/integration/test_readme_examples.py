"""The examples of README, run as they stand there against a server."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from functions.local.app import application
from tests.integration.one_machine import BASE, OneMachine
from tests.integration.serving import served

ROOT = Path(__file__).parents[2]
LLAMA = ROOT / ".venv-examples/bin/python"
QUESTION = "O reembolso sai em dez dias"
TEXT = f"# Reembolsos\n\n{QUESTION}.\n"
OTHER = "Qual é a capital da Mongólia?"


def block(word):
    """The one Python block of README that imports this."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    (found,) = [each for each in blocks if f"import {word}" in each or f"from {word}" in each]
    return found


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    machine = OneMachine(tmp_path_factory.mktemp("readme"))
    machine.runtime.manage.upload(BASE, "reembolsos.md", TEXT.encode(), "")
    machine.settle()
    with served(application(machine.runtime)) as found:
        yield found
    machine.runtime.close()


def test_openai_s_client(address, capsys):
    code = block("openai").replace("http://127.0.0.1:8765", address).replace("qual o prazo do reembolso?", QUESTION)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - the very text that is printed there
    assert "'reembolsos.md'" in capsys.readouterr().out


def test_langchain_s_retriever(address):
    names = {"__name__": "readme"}
    exec(compile(block("langchain_core"), "README.md", "exec"), names)  # noqa: S102 - the very text printed there
    retriever = names["FicharioRetriever"](base=BASE, url=address, top_k=1)
    (document,) = retriever.invoke(QUESTION)
    assert document.page_content == TEXT.strip()
    assert document.metadata["citation"] == "reembolsos.md:1-3"
    assert document.id
    assert retriever.invoke(OTHER) == []


ASK = """
import json
retriever = FicharioRetriever({base!r}, url={address!r}, top_k=1)
found = [retriever.retrieve(question) for question in ({question!r}, {other!r})]
print(json.dumps([[[each.text, each.score, each.metadata["citation"]] for each in nodes] for nodes in found]))
"""


@pytest.mark.skipif(not LLAMA.exists(), reason="llama-index-core stands in an environment of its own: make test")
def test_llama_index_s_retriever(address):
    asking = ASK.format(base=BASE, address=address, question=QUESTION, other=OTHER)
    done = subprocess.run(
        [str(LLAMA), "-c", block("llama_index.core.retrievers") + asking], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (node,), nothing = json.loads(done.stdout)
    assert node[0] == TEXT.strip()
    assert node[1] > 0
    assert node[2] == "reembolsos.md:1-3"
    assert nothing == []
