"""What a file that could be read comes to."""

from common.domain.codes import FailureCode, JobState


def outcome(passages: int, tokens: int, warnings: tuple[str, ...]) -> tuple[JobState, FailureCode | None, str, str]:
    """State, code, reason and next step of a file that could be read."""
    if passages:
        return "indexed", None, "", ""
    if tokens:
        reason = warnings[0] if warnings else "Nothing in the file can be embedded."
        return "skipped", "UNSUPPORTED", reason, "Upload the text that people would ask about."
    return "empty", None, "The file holds no text.", "Upload a version with text if it should answer questions."
