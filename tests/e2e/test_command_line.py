"""What a newcomer does from the command line, with the real model, as separate processes."""

import json
import signal
import subprocess
from pathlib import Path

VAN = "transfers-e-pontos-de-encontro.md"
TRAVEL = Path(__file__).parents[1] / "corpus" / "travel"


def test_index_ask_change_and_delete(fichario, tmp_path):
    docs = tmp_path / "docs"
    (docs / "pt").mkdir(parents=True)
    first = docs / "pt" / "bagagem.md"
    first.write_bytes((TRAVEL / "pt" / "bagagem.md").read_bytes())
    (docs / "contatos.txt").write_bytes((TRAVEL / "pt" / "contatos-e-horarios.txt").read_bytes())
    (docs / "copia.zip").write_bytes(b"PK\x03\x04\x14\x00\x00\x00\x00\x00")

    summary = fichario.json("ingest", docs, "--base", "viagens")
    assert (summary["indexed"], summary["skipped"]) == (2, 1)
    assert summary["embedded_passages"] == summary["passages"] > 5
    assert {row["code"] for row in summary["documents"] if row["state"] == "skipped"} == {"UNSUPPORTED"}

    again = fichario.json("ingest", docs, "--base", "viagens")
    assert (again["unchanged"] + again["skipped"], again["embedded_passages"]) == (3, 0)

    answer = fichario.json("search", "peso da mala despachada na parte terrestre", "--base", "viagens")
    assert answer["match"]
    assert answer["passages"][0]["source"] == "pt/bagagem.md"
    lines = first.read_text(encoding="utf-8").split("\n")
    for passage in answer["passages"]:
        if passage["source"] == "pt/bagagem.md":
            start, end = passage["lines"]
            assert passage["text"] in "\n".join(lines[start - 1 : end])

    first.write_text(first.read_text(encoding="utf-8").replace("Plano Brisa", "Plano Aroeira"), encoding="utf-8")
    changed = fichario.json("ingest", docs, "--base", "viagens")
    assert 1 <= changed["embedded_passages"] <= 4
    assert "Aroeira" in json.dumps(fichario.json("search", "Plano Aroeira", "--base", "viagens"))

    first.unlink()
    mirrored = fichario.json("ingest", docs, "--base", "viagens", "--mirror")
    assert mirrored["deleted"] == 1
    assert "pt/bagagem.md" not in json.dumps(fichario.json("documents", "--base", "viagens"))
    assert "bagagem" not in json.dumps(fichario.json("search", "Plano Aroeira mala", "--base", "viagens"))
    assert fichario.json("bases")["bases"][0]["documents"] == 1

    deleted = fichario.json("delete", "contatos.txt", "--base", "viagens")
    assert deleted["state"] == "deleted"
    assert fichario.json("bases")["bases"][0]["passages"] == 0


def test_context_prints_the_block_and_nothing_else(fichario, tmp_path):
    (tmp_path / "a.md").write_text("# Horário\n\nA central abre às nove horas da manhã.", encoding="utf-8")
    (tmp_path / "b.md").write_text("---\npinned: true\n---\n# Regra\n\nSempre por escrito.", encoding="utf-8")
    fichario.json("ingest", tmp_path / "a.md", "--base", "x")
    fichario.json("ingest", tmp_path / "b.md", "--base", "y")
    question = ("context", "A que horas abre a central?", "--base", "x")
    printed = fichario.run(*question, "--max-tokens", "400")
    assert printed.returncode == 0
    assert printed.stdout.startswith("Cite each fact")
    assert printed.stdout == fichario.json(*question, "--max-tokens", "400")["text"] + "\n"
    assert "cite as [a.md:1-3]" in printed.stdout
    assert len(fichario.run(*question, "--max-characters", "240").stdout) <= 241
    both = fichario.run(*question, "--base", "y:2")
    assert (both.returncode, "# Documento: Regra" in both.stdout) == (0, True)
    without = fichario.run(*question)
    assert (without.returncode, "--max-tokens" in without.stderr) == (2, True)
    refused = fichario.run("context", "capital da Mongólia", "--base", "x", "--max-tokens", "400")
    assert (refused.returncode, refused.stdout, "NO_KB_MATCH" in refused.stderr) == (3, "", True)
    pinned = fichario.run("context", "capital da Mongólia", "--base", "y", "--max-tokens", "400")
    assert (pinned.returncode, "Sempre por escrito." in pinned.stdout) == (3, True)


def test_exit_codes_and_errors_speak(fichario, tmp_path):
    (tmp_path / "a.md").write_text("# Horário\n\nAbrimos às nove.", encoding="utf-8")
    assert fichario.run("ingest", tmp_path / "a.md", "--base", "x").returncode == 0
    refused = fichario.run("search", "capital da Mongólia", "--base", "x")
    assert (refused.returncode, "NO_KB_MATCH" in refused.stdout) == (3, True)
    assert fichario.run("search", "x").returncode == 2
    assert fichario.run("ingest", tmp_path / "missing.md", "--base", "x").returncode == 2
    unknown = fichario.run("search", "x", "--base", "nobody")
    assert (unknown.returncode, "nobody" in unknown.stderr) == (1, True)
    assert fichario.run("reset", "--base", "x").returncode == 2
    assert fichario.run("bases", KB_TOP_K="many").returncode == 2
    assert fichario.run("reset", "--base", "x", "--yes").returncode == 0
    without = fichario.run("ingest", tmp_path / "a.md", "--base", "y", KB_MODEL_DIR=str(tmp_path))
    assert (without.returncode, "models prepare" in without.stderr) == (1, True)


def test_global_options_stand_before_or_behind_the_command(fichario, tmp_path):
    for arguments in (("--data", tmp_path / "d", "--json", "bases"), ("bases", "--json", "--data", tmp_path / "d")):
        assert json.loads(fichario.run(*arguments).stdout) == {"bases": []}


def test_evaluate_prints_the_contracts_figures(fichario, tmp_path):
    fichario.json("ingest", TRAVEL / "pt", "--base", "v")
    questions = tmp_path / "q.json"
    asked = [
        {
            "question": "A que horas parte a van do aeroporto de Salvador?",
            "source": "transfers-e-pontos-de-encontro.md",
        },
        {"question": "Qual é a capital da Mongólia?", "source": None},
    ]
    questions.write_text(json.dumps(asked), encoding="utf-8")
    figures = fichario.json("evaluate", questions, "--base", "v")
    assert figures["n"] == 2
    assert figures["mrr_at_10"] == figures["recall_at_1"] == figures["ndcg_at_10"] == 1.0
    assert figures["gate"] == {"auc": 1.0, "f1": 1.0, "precision": 1.0, "recall": 1.0, "cut": figures["gate"]["cut"]}


def test_watching_goes_on_with_every_change(fichario, tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Horário\n\nAbrimos às nove.", encoding="utf-8")
    command = fichario.command("ingest", docs, "--base", "x", "--watch", "--mirror", "--json")
    with subprocess.Popen(command, env=fichario.environment, stdout=subprocess.PIPE, text=True) as watching:
        assert json.loads(watching.stdout.readline())["indexed"] == 1
        (docs / "b.md").write_text("# Frete\n\nO frete é grátis.", encoding="utf-8")
        later = json.loads(watching.stdout.readline())
        while "b.md" not in {row["source"] for row in later["documents"] if row["state"] == "indexed"}:
            later = json.loads(watching.stdout.readline())
        watching.send_signal(signal.SIGTERM)
        assert watching.wait(timeout=60) == 0
    assert {row["source"] for row in fichario.json("documents", "--base", "x")["documents"]} == {"a.md", "b.md"}
