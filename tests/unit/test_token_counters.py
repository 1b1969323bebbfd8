"""Tokens by estimate, by a tokenizer.json and by tiktoken's files: special tokens are text, nothing is fetched."""

import base64

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from common.adapters.tiktoken_counter import TiktokenCounter
from common.adapters.tokenizer_file import TokenizerFileCounter
from common.bootstrap import local_runtime
from common.domain.budget import EstimatedTokens, estimate_tokens
from common.domain.errors import Misconfigured
from common.settings import read_settings

SPECIAL = "O marcador <|endoftext|> encerra o texto; [CLS] <s> </s> também."
LONE = "meio \ud83d par"


def tokenizer_file(folder):
    words = {word: number for number, word in enumerate(["[UNK]", "[CLS]", "um", "dois"])}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.add_special_tokens(["[CLS]"])
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=10)
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def ranks_file(folder, pieces=()):
    folder.mkdir(exist_ok=True)
    every = [bytes([byte]) for byte in range(256)] + list(pieces)
    lines = [base64.b64encode(piece) + b" " + str(rank).encode() for rank, piece in enumerate(every)]
    path = folder / "o200k_base.tiktoken"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ç" * 400, 100)])
def test_the_estimate_is_a_quarter_of_the_characters(text, tokens):
    assert estimate_tokens(text) == EstimatedTokens().count(text) == tokens


def test_a_tokenizer_file_counts_whole_texts_and_reads_special_tokens_as_text(tmp_path):
    counter = TokenizerFileCounter(tokenizer_file(tmp_path))
    assert counter.count("um dois um dois um dois") == 6
    assert counter.count("[CLS]") == 3
    assert counter.count(LONE) == 3
    assert counter.characters_per_token == 0


def test_tiktoken_counts_from_a_file_and_reads_special_tokens_as_text(tmp_path):
    ranks_file(tmp_path, [b"ab", b"abc"])
    counter = TiktokenCounter("o200k_base", tmp_path)
    assert counter.count("abc abc") == 3
    assert counter.count("<|endoftext|>") == len("<|endoftext|>")
    assert counter.count(SPECIAL) > 20
    assert counter.count(LONE) > 0


def test_what_is_missing_or_broken_says_what_to_do(tmp_path):
    with pytest.raises(Misconfigured, match=r"tokenizer\.json"):
        TokenizerFileCounter(tmp_path / "tokenizer.json")
    with pytest.raises(Misconfigured, match=r"Nothing is fetched"):
        TiktokenCounter("o200k_base", tmp_path)
    with pytest.raises(Misconfigured, match="cl100k_base"):
        TiktokenCounter("o300k_base", tmp_path)
    path = ranks_file(tmp_path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(Misconfigured):
        TiktokenCounter("o200k_base", tmp_path)
    path.write_bytes(b"QQ== 0\n")
    with pytest.raises(Misconfigured, match="not whole"):
        TiktokenCounter("o200k_base", tmp_path)


@pytest.mark.parametrize("value", ["guess", "tiktoken", "/models/vocab.txt"])
def test_a_counter_that_is_none_is_refused_with_the_settings(value):
    with pytest.raises(Misconfigured, match="KB_TOKEN_COUNTER"):
        read_settings({"KB_TOKEN_COUNTER": value})


def test_the_setting_names_the_counter(tmp_path):
    ranks_file(tmp_path / "tiktoken")
    named = {"estimate": 2, "tiktoken:o200k_base": 5, str(tokenizer_file(tmp_path)): 1}
    for number, (value, tokens) in enumerate(named.items()):
        settings = read_settings(
            {"KB_TOKEN_COUNTER": value}, kb_data_dir=str(tmp_path / str(number)), kb_model_dir=str(tmp_path)
        )
        runtime = local_runtime(settings)
        assert runtime.token_counter.count("casas") == tokens
        runtime.close()
