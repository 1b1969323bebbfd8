"""Text recognition by the tesseract program, where an operator turned it on; it runs on this machine alone."""

import shutil
import subprocess
from dataclasses import dataclass
from typing import Final

from common.domain.errors import Misconfigured

_SECONDS_PER_PICTURE: Final = 60
_WANTED: Final = ("por", "eng", "spa")


@dataclass(frozen=True, slots=True)
class TesseractRecogniser:
    """Reads a picture (PGM, PNG, JPEG, TIFF) and answers its text, "" when there is none or it takes too long."""

    program: str
    languages: str

    def __call__(self, picture: bytes) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - the program that was found at start, no shell
                [self.program, "stdin", "stdout", "-l", self.languages],
                input=picture,
                capture_output=True,
                timeout=_SECONDS_PER_PICTURE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.decode("utf-8", "ignore").strip() if done.returncode == 0 else ""


def tesseract(wanted: tuple[str, ...] = _WANTED) -> TesseractRecogniser:
    """The recogniser with those of the wanted languages that are installed. Raises Misconfigured without any."""
    program = shutil.which("tesseract")
    if program is None:
        raise Misconfigured("KB_OCR=tesseract needs the program tesseract (Debian: tesseract-ocr) on the PATH.")
    listed = subprocess.run([program, "--list-langs"], capture_output=True, timeout=30, check=False)  # noqa: S603
    installed = listed.stdout.decode("utf-8", "ignore").split()
    languages = [language for language in wanted if language in installed]
    if not languages:
        raise Misconfigured(f"tesseract has none of the languages {', '.join(wanted)}; install their data.")
    return TesseractRecogniser(program, "+".join(languages))
