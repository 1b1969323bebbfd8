"""Stock unstructured over files, in the environment that has it. File names come as JSON on standard input; for each go
its seconds by clock and by CPU, medians of some runs, and its text to standard output.

One thing is not as it comes: the network that it would download while it parses (spaCy's en_core_web_sm) is replaced by
one of its layers and sizes that never learnt anything, with fewer labels, which makes it a little faster than it is.
What it says of a text's sentences only decides how unstructured calls an element, never what stands in it.
"""

import contextlib
import json
import os
import statistics
import sys
import time

RUNS = 3


def lighten() -> None:
    """No telemetry, no download."""
    for switch in ("DO_NOT_TRACK", "SCARF_NO_ANALYTICS", "UNSTRUCTURED_DISABLE_NOTICE"):
        os.environ[switch] = "true"
    from unstructured.nlp import tokenize  # noqa: PLC0415 - of the environment that runs this

    network = untrained()
    tokenize._load_spacy_model = lambda: network


def untrained() -> object:
    """The pipeline that unstructured runs, with the sizes of the model that it would download."""
    import spacy  # noqa: PLC0415 - of the environment that runs this
    from spacy.training import Example  # noqa: PLC0415 - see above

    words = {"attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"], "rows": [5000, 1000, 2500, 2500]}
    embed = {"@architectures": "spacy.MultiHashEmbed.v2", "width": 96, "include_static_vectors": False, **words}
    sizes = {"width": 96, "depth": 4, "window_size": 1, "maxout_pieces": 3}
    encode = {"@architectures": "spacy.MaxoutWindowEncoder.v2", **sizes}
    shared = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "tok2vec"}
    hidden = {"state_type": "parser", "extra_state_tokens": False, "hidden_width": 64, "maxout_pieces": 2}
    models = {
        "tok2vec": {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode},
        "tagger": {"@architectures": "spacy.Tagger.v2", "tok2vec": shared},
        "parser": {"@architectures": "spacy.TransitionBasedParser.v2", **hidden, "use_upper": True, "tok2vec": shared},
    }
    pipeline = spacy.blank("en")
    for name, model in models.items():
        pipeline.add_pipe(name, config={"model": model})
    labels = {"tags": ["DT", "NN", "VBD", "RB"], "heads": [1, 2, 2, 2], "deps": ["det", "nsubj", "ROOT", "advmod"]}
    example = Example.from_dict(pipeline.make_doc("The cat sat still"), labels)
    pipeline.initialize(lambda: [example])
    return pipeline


def read(name: str) -> dict[str, object]:
    from unstructured.partition.auto import partition  # noqa: PLC0415 - of the environment that runs this

    wall, cpu, elements = [], [], []
    for _ in range(RUNS):
        clock, used = time.perf_counter(), time.process_time()
        elements = partition(filename=name)
        wall.append(time.perf_counter() - clock)
        cpu.append(time.process_time() - used)
    text = "\n".join(element.text for element in elements)
    return {"wall": statistics.median(wall), "cpu": statistics.median(cpu), "text": text}


def work(names: list[str]) -> dict[str, object]:
    lighten()
    found = {}
    for name in names:
        with contextlib.suppress(Exception):
            found[name] = read(name)
    return found


if __name__ == "__main__":
    orders = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        answered = work(orders)
    json.dump(answered, sys.stdout)
