"""A repository is cloned without anything of it being run, and from nowhere but the address that was checked."""

import json
import subprocess
from pathlib import Path

import pytest

from common.adapters.parsers.text import decode
from common.cli.flatten.addresses import AddressRefused
from common.cli.flatten.git import clone, clone_command, git_environment, parse_repository, run_program
from common.cli.flatten.plan import FlattenFailed, FlattenOptions
from common.cli.flatten.run import run
from common.domain.documents import Parsed

PUBLIC = "93.184.216.34"


def public(host, port):
    return [PUBLIC]


def private(host, port):
    return ["10.0.0.7"]


@pytest.mark.parametrize(
    ("address", "scheme", "host", "port", "shown"),
    [
        ("https://github.com/o/r.git", "https", "github.com", 443, "https://github.com/o/r.git"),
        ("https://tok:sec@host:8443/r", "https", "host", 8443, "https://host:8443/r"),
        ("ssh://git@host/o/r", "ssh", "host", 22, "ssh://host/o/r"),
        ("git@github.com:o/r.git", "ssh", "github.com", 22, "git@github.com:o/r.git"),
    ],
)
def test_addresses(address, scheme, host, port, shown):
    repository = parse_repository(address)
    assert (repository.scheme, repository.host, repository.port, repository.public) == (scheme, host, port, shown)
    assert repository.address == address


@pytest.mark.parametrize(
    "address",
    [
        "http://host/r",
        "git://host/r",
        "file:///etc",
        "/srv/r",
        "../r",
        "ext::sh -c id",
        "--upload-pack=id",
        "-oProxyCommand=id@host:r",
        "git@-oProxyCommand=id:r",
        "ssh://-oProxyCommand=id/r",
        "ssh://a$(id)@host/r",
        "ssh://git@host$(id)/r",
        "ssh://git@ho;st/r",
        "https://host/r\n--x",
        "https://",
        "https://host:port/r",
        "",
    ],
)
def test_addresses_that_are_refused(address):
    with pytest.raises(FlattenFailed, match="no address of a repository"):
        parse_repository(address)


def test_secrets_are_not_repeated():
    with pytest.raises(FlattenFailed) as failed:
        parse_repository("http://user:secret@host/r")
    assert "secret" not in str(failed.value)


def test_the_command_runs_nothing_of_the_repository(tmp_path):
    repository = parse_repository("https://host/r")
    command = clone_command(repository, PUBLIC, tmp_path, follow=False)
    assert command[-3:] == ["--", "https://host/r", str(tmp_path)]
    assert {"--depth=1", "--no-recurse-submodules", "--template=", "core.hooksPath=/dev/null"} < set(command)
    assert f"http.curloptResolve=host:443:{PUBLIC}" in command
    assert "http.followRedirects=false" in command
    environment = git_environment(repository, PUBLIC)
    assert environment["GIT_ALLOW_PROTOCOL"] == "https:ssh"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"


def test_ssh_connects_to_the_checked_address(monkeypatch):
    monkeypatch.setenv("GIT_SSH_COMMAND", "evil")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    environment = git_environment(parse_repository("ssh://git@host:2222/r"), PUBLIC)
    assert environment["GIT_SSH_COMMAND"] == f"ssh -oBatchMode=yes '-oHostKeyAlias=[host]:2222' -oHostName={PUBLIC}"
    assert "GIT_DIR" not in environment


def test_private_hosts_are_refused_before_git_runs(tmp_path):
    calls = []
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.7"):
        clone("https://host/r", tmp_path, allow_private=False, run=lambda *a: calls.append(a), resolver=private)
    assert not calls


def test_the_corpus_names_repository_and_commit(tmp_path):
    def git(command, environment, seconds):
        if "clone" in command:
            Path(command[-1]).mkdir()
            Path(command[-1], "a.md").write_text("# A\n")
            return ""
        assert command[-2:] == ["rev-parse", "HEAD"]
        return "c0ffee\n"

    output = tmp_path / "out.jsonl"
    options = FlattenOptions(output, repo="https://tok@93.184.216.34/r", kind="docs")
    report = run(options, read_page=lambda data, name: Parsed(()), decode=decode, git=git)
    assert json.loads(output.read_text()) == {
        "id": "a",
        "source": "a.md",
        "content": "# A\n",
        "repoUrl": "https://93.184.216.34/r",
        "commit": "c0ffee",
    }
    assert (report.repo_url, report.commit, report.documents) == ("https://93.184.216.34/r", "c0ffee", 1)


@pytest.fixture
def origin(tmp_path, monkeypatch):
    """A repository with a submodule, whose cloner's configuration brings a hook along."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    hook = template / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
    hook.chmod(0o755)
    (tmp_path / ".gitconfig").write_text(
        f"[init]\n\ttemplateDir = {tmp_path}/template\n\tdefaultBranch = main\n[core]\n\thooksPath = {template}\n"
        '[user]\n\tname = n\n\temail = e@example.com\n[protocol "file"]\n\tallow = always\n'
        "[submodule]\n\trecurse = true\n"
    )
    origin = tmp_path / "origin"

    def git(*arguments):
        subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", "-C", str(origin), *arguments], check=True, capture_output=True
        )

    origin.mkdir()
    git("init", "--template=")
    (origin / "a.md").write_text("# A\n")
    (origin / "link.md").symlink_to("/etc/hostname")
    (origin / ".gitmodules").write_text(f'[submodule "s"]\n\tpath = s\n\turl = {origin}\n')
    git("add", ".")
    git("update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,s")
    git("commit", "-m", "one")
    return origin


def test_a_real_clone_runs_no_hook_and_takes_no_submodule(origin, tmp_path):
    repository = parse_repository("https://host/r")
    command = clone_command(repository, PUBLIC, tmp_path / "clone", follow=False)
    command[-2] = f"file://{origin}"
    run_program(command, git_environment(repository, PUBLIC, protocols="file"), 60)
    assert (tmp_path / "clone" / "a.md").read_text() == "# A\n"
    assert not (tmp_path / "hook-ran").exists()
    assert not list((tmp_path / "clone" / "s").glob("*"))
    assert not (tmp_path / "clone" / "link.md").is_symlink()


def test_other_protocols_are_refused_by_git_itself(origin, tmp_path):
    repository = parse_repository("https://host/r")
    command = clone_command(repository, PUBLIC, tmp_path / "clone", follow=False)
    command[-2] = f"file://{origin}"
    with pytest.raises(FlattenFailed, match=r"git failed: .*not allowed"):
        run_program(command, git_environment(repository, PUBLIC), 60)


def test_a_program_that_hangs_is_ended():
    with pytest.raises(FlattenFailed, match="did not finish within 0 seconds"):
        run_program(["sh", "-c", "sleep 60 & sleep 60"], {"PATH": "/usr/bin:/bin"}, 0.1)


def test_a_missing_program_is_said(tmp_path):
    with pytest.raises(FlattenFailed, match="not installed"):
        run_program([str(tmp_path / "git")], {}, 1)
