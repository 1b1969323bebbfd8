"""Secrets of known forms are masked, what only looks like one stays, and no text takes long."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.domain.redaction import MASK, redact

KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 3
SECRETS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "ghp_" + "a1" * 18,
    "github_pat_11ABCDEFG0abcdefghijkl",
    "glpat-abcdefghij0123456789",
    "xoxb-123456789012-abcdefGHIJ",
    "xapp-1-A012345-6789-abcdef",
    "https://hooks.slack.com/services/T00000000/B00000000/" + "X" * 24,
    "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "rk_test_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "sk-proj-abc123def456ghi789jkl",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36",
    f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\\nMIIEvQIB\\n-----END PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS, ids=[secret[:14] for secret in SECRETS])
@pytest.mark.parametrize("around", ["{}", "antes {} depois", "A chave ({}).", "linha\n{}\nlinha", '{{"x": "{}"}}'])
def test_a_secret_of_a_known_form_is_masked_wherever_it_stands(secret, around):
    masked, count = redact(around.format(secret))
    assert (masked, count) == (around.format(MASK), 1)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password=hunter2", f"password={MASK}"),
        ("DB_PASSWORD='correct horse battery'", f"DB_PASSWORD='{MASK}'"),
        ('"senha": "Abacaxi!9",', f'"senha": "{MASK}",'),
        ("Usuário: ana\nSenha: abacaxi\nAtivo", f"Usuário: ana\nSenha: {MASK}\nAtivo"),
        ("pwd := s3nh4", f"pwd := {MASK}"),
        ("clientSecret: 9f8e7d6c5b", f"clientSecret: {MASK}"),
        ("X-Api-Key: zz99aa88", f"X-Api-Key: {MASK}"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", f"aws_secret_access_key = {MASK}"),
        ("chave de api: 9sd8f7g6", f"chave de api: {MASK}"),
        ("Server=x;User Id=sa;Password=Xy9z!;", f"Server=x;User Id=sa;Password={MASK};"),
        ("Authorization: Bearer abcdef0123456789abcdef", f"Authorization: Bearer {MASK}"),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: Basic {MASK}"),
        ("postgres://app:s3nh4@db:5432/x", f"postgres://app:{MASK}@db:5432/x"),
        ("amqps://u:p%40ss@[::1]/v", f"amqps://u:{MASK}@[::1]/v"),
    ],
)
def test_only_the_value_of_an_assignment_is_masked(text, masked):
    assert redact(text) == (masked, 1)


@pytest.mark.parametrize(
    "text",
    [
        "A senha: deve ter oito letras.",
        "password: str",
        "token: str = Depends(oauth2_scheme)",
        "hashed_password=hashed_password,",
        "password = os.environ['DB_PASSWORD']",
        "password: ${DB_PASSWORD}",
        "senha: ********",
        "api_key=<your key>",
        '"password": "string"',
        "token_type: bearer",
        "primary key = a1b2",
        "use the Bearer token of the request",
        "https://user:password@host/x",
        "https://example.com:8080/a@b",
        "eyJ is how a token begins",
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
        "the task-force and the disk-drive",
        "secret: veja https://intranet/1",
    ],
)
def test_what_only_speaks_of_secrets_stays(text):
    assert redact(text) == (text, 0)


def test_what_is_left_of_a_key_that_was_cut_in_two_is_masked():
    whole = f"-----BEGIN PRIVATE KEY-----\n{KEY}-----END PRIVATE KEY-----"
    middle = len("-----BEGIN PRIVATE KEY-----\n") + len(KEY) // 3
    first, second = whole[:middle], whole[middle:]
    assert redact(f"antes\n{first}") == (f"antes\n{MASK}\n", 1)
    assert redact(f"{second}\ndepois") == (f"{MASK}\ndepois", 1)


def test_each_secret_is_counted_once():
    masked, count = redact(f"{SECRETS[0]} e {SECRETS[3]}, password={SECRETS[0]}")
    assert (masked.count(MASK), count) == (3, 3)
    inside = f"-----BEGIN PRIVATE KEY-----\n{SECRETS[0]} token=a1b2c3\n{KEY}-----END PRIVATE KEY----- fim"
    assert redact(inside) == (f"{MASK} fim", 1)


HOSTILE = [
    "password", "password=", "senha: ", '"password": "', "eyJ", "-eyJ", "eyJ.", "://a:", "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----", "bearer ", "authorization: token ", "xoxb-", "sk-", "sk-1", "ghp_", "token= ",
    "a" * 64 + "\n", "secret_key='", "key", "İpassword=", "chave de ",
]  # fmt: skip


@pytest.mark.parametrize("part", HOSTILE)
def test_the_time_grows_no_faster_than_the_text(part):
    def spent(length):
        text = (part * (length // len(part) + 1))[:length] + "-----END PRIVATE KEY-----"
        started = time.thread_time()
        redact(text)
        return time.thread_time() - started

    short, long = min(spent(20_000) for _ in range(3)), min(spent(160_000) for _ in range(2))
    # Eight times the text: sixty-four times the time where it is quadratic.
    assert long < 24 * max(short, 0.002)
    assert long < 0.6


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*HOSTILE, *SECRETS, " ", "\n", "'", '"', "=", "x1", "é"]), max_size=30).map("".join))
def test_what_is_no_secret_stays_in_its_order(text):
    masked, count = redact(text)
    assert (masked == text) == (count == 0)
    assert masked.count(MASK) == count
    position = 0
    for part in masked.split(MASK):
        position = text.index(part, position) + len(part)
