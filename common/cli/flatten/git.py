"""A shallow clone of a repository, by the git program: https and ssh only, no hooks, no submodules, no prompts, and no
connection but to the address that was checked (RULES 22).
"""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from common.cli.flatten.addresses import Resolve, checked, resolve
from common.cli.flatten.plan import FlattenFailed

SECONDS: Final = 300.0
_SCP: Final = re.compile(r"(?P<user>\w[\w.-]*)@(?P<host>\w[\w.-]*):(?!//)(?P<path>[^\s:][^\s]*)")
_HOST: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*)|[0-9A-Fa-f:.]+")
_USER: Final = re.compile(r"\w[\w.-]*")
_SECRET: Final = re.compile(r"(?<=://)[^/\s@]+@")
_PORTS: Final = {"https": 443, "ssh": 22}

_KEPT: Final = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_SSL_CAINFO"})

Run = Callable[[Sequence[str], Mapping[str, str], float], str]
"""Runs a program and answers its output; raises FlattenFailed."""


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a repository is: `address` as git takes it, `public` without secrets."""

    scheme: str
    host: str
    port: int
    address: str
    public: str


def parse_repository(address: str) -> Repository:
    """Raises FlattenFailed for anything but an https or ssh address."""
    scp = _SCP.fullmatch(address)
    if scp:
        return Repository("ssh", scp["host"], _PORTS["ssh"], address, address)
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise _refused(address) from error
    host = parts.hostname or ""
    if parts.scheme not in _PORTS or not _HOST.fullmatch(host) or re.search(r"[\s\x00-\x1f]", address):
        raise _refused(address)
    if parts.scheme == "ssh" and parts.username is not None and not _USER.fullmatch(parts.username):
        raise _refused(address)
    netloc = parts.netloc.rsplit("@", 1)[-1]
    public = urlunsplit((parts.scheme, netloc, parts.path, "", ""))
    return Repository(parts.scheme, host, port or _PORTS[parts.scheme], address, public)


def _refused(address: str) -> FlattenFailed:
    return FlattenFailed(
        f"{_SECRET.sub('', address)} is no address of a repository: use https://host/path or git@host:path."
    )


def run_program(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> str:
    """Runs git without a terminal, in a process group of its own that ends with the time limit."""
    try:
        process = subprocess.Popen(  # noqa: S603 - a fixed program; the address stands behind `--`
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise FlattenFailed(
            "The program git is not installed; install it, or clone yourself and use --root."
        ) from error
    try:
        output, errors = process.communicate(timeout=seconds)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise FlattenFailed(f"git did not finish within {seconds:.0f} seconds.") from error
        raise
    if process.returncode:
        said = _SECRET.sub("", " ".join(errors.split()))[-500:]
        raise FlattenFailed(f"git failed: {said or process.returncode}")
    return output


def clone(
    address: str, folder: Path, *, allow_private: bool, run: Run = run_program, resolver: Resolve = resolve
) -> tuple[str, str]:
    """Clones the newest commit into `folder`; answers the address without secrets and the commit."""
    repository = parse_repository(address)
    ip = checked(repository.host, repository.port, allow_private=allow_private, resolver=resolver)
    environment = git_environment(repository, ip)
    run(clone_command(repository, ip, folder, follow=allow_private), environment, SECONDS)
    commit = run(["git", "-C", str(folder), "rev-parse", "HEAD"], environment, SECONDS).strip()
    return repository.public, commit


def clone_command(repository: Repository, ip: str, folder: Path, *, follow: bool) -> list[str]:
    """`ip` is what the host's name is pinned to, so a second look-up cannot lead elsewhere."""
    pinned = f"{repository.host}:{repository.port}:{f'[{ip}]' if ':' in ip else ip}"
    settings = {
        "core.hooksPath": os.devnull,
        "core.fsmonitor": "false",
        "core.symlinks": "false",
        "credential.interactive": "false",
        "http.curloptResolve": pinned,
        "http.followRedirects": "initial" if follow else "false",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return [
        "git",
        *options,
        "clone",
        "--quiet",
        "--depth=1",
        "--single-branch",
        "--no-tags",
        "--no-recurse-submodules",
        "--template=",
        "--",
        repository.address,
        str(folder),
    ]


def git_environment(repository: Repository, ip: str, protocols: str = "https:ssh") -> dict[str, str]:
    """What git may see: the caller's environment without anything that redirects it, and no way to ask a person."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    known_as = repository.host if repository.port == _PORTS["ssh"] else f"[{repository.host}]:{repository.port}"
    ssh = shlex.join(["ssh", "-oBatchMode=yes", f"-oHostKeyAlias={known_as}", f"-oHostName={ip}"])
    return {
        **kept,
        "GIT_ALLOW_PROTOCOL": protocols,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "SSH_ASKPASS": "true",
        "GIT_SSH_COMMAND": ssh,
        "GIT_SSH_VARIANT": "ssh",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }
