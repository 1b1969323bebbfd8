"""The token estimate: offsets that hold for any text, and never fewer tokens than real tokenizers count."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from common.domain.token_estimate import estimated_ends, estimated_tokens

ROOT = Path(__file__).parents[2]
MODELS = Path(os.environ.get("KB_MODEL_DIR") or ROOT / ".models")
TEXTS = [*sorted((ROOT / "tests/corpus/travel").rglob("*.md")), *sorted((ROOT / "tests/corpus/code").glob("*.*"))]
ODD = [
    "Привет, как дела? Где находится гостиница?",
    "你好,请问酒店在哪里?房间多少钱一晚?",
    "مرحبا، أين الفندق وكم سعر الغرفة لليلة واحدة؟",
    "สวัสดี โรงแรมอยู่ที่ไหน",
    "호텔이 어디에 있습니까?",
    "kjhgfdsqwrtpzxcvbnm" * 5,
    "QWXZKJVBPLMNRTSDFGH ZXQ JKV WQP",
    "deadbeef0123456789abcdef" * 4,
    "7Qm3ZwjZL0L1Vh6uTWdSBJoOvnsuZ4o9lYEjT3NZBSUd8EifDkmx",
    "123 456 7890 12,5 % 2026-11-30",
]


@given(st.text(max_size=300))
def test_ends_are_offsets_in_order_and_none_is_left_behind(text):
    ends = estimated_ends(text)
    assert ends == sorted(ends)
    assert len(ends) == estimated_tokens(text)
    assert all(0 < end <= len(text) for end in ends)
    # Only single blanks cost nothing.
    assert not ends or not text[ends[-1] :].strip()


@given(st.text(max_size=60), st.text(max_size=60))
def test_parts_count_about_what_the_whole_counts(left, right):
    """A chunker adds parts up: the seam moves the count by a few tokens at most."""
    whole, apart = estimated_tokens(left + right), estimated_tokens(left) + estimated_tokens(right)
    assert abs(whole - apart) <= 4


@pytest.mark.model
@pytest.mark.parametrize("model", ["e5-small", "all-MiniLM-L6-v2"])
def test_no_real_tokenizer_counts_more(model):
    file = MODELS / model / "tokenizer.json"
    if not file.exists():
        pytest.skip(f"{model} is not prepared in {MODELS}")
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    whole = [path.read_text("utf-8") for path in TEXTS]
    pieces = ODD + [text[at : at + 600] for text in whole for at in range(0, len(text), 600)]
    counted = [(estimated_tokens(p), len(tokenizer.encode(p, add_special_tokens=False).ids), p) for p in pieces]
    assert [each for each in counted if each[0] < each[1]] == []
    assert sum(e for e, _, _ in counted) < 2 * sum(c for _, c, _ in counted)
