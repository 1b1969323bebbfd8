"""How fast source code becomes blocks: `python tests/bench/code_chunking.py [FOLDER]`, megabytes a second of processor
time by language, over the standard library that runs it or the folder given. Fails below 3 MB/s in total.
"""

import sys
import sysconfig
import time
from collections import Counter
from pathlib import Path

from common.adapters.parsers.code import parse_code
from common.adapters.parsers.hcl import parse_hcl
from common.adapters.parsers.shell import parse_shell
from common.adapters.parsers.yaml_documents import parse_yaml
from common.domain.languages import language_of
from common.domain.unfit import unfit_reason

WANTED = 3.0
PER_LANGUAGE = 6_000_000
PARSERS = {"hcl": parse_hcl, "yaml": parse_yaml, "shell": parse_shell}
MADE = {
    "main.tf": """resource "aws_instance" "web%d" {
  name = "a-${var.env}"
  tags = { a = "b" }
  user_data = <<-EOT
    echo }
  EOT
}

""",
    "app.yaml": "---\nkind: Deployment\nmetadata:\n  name: web%d\nspec:\n  replicas: 2\n  template:\n    a: b\n",
    "run.sh": """# Builds one.
build%d() {
  if [ -f "$1" ]; then echo "${x:-y}"; fi
  cat <<EOT
}
EOT
}

""",
    "main.go": """// F%d does.
func (s *Server) F(a int) error {
\tif a > 1 {
\t\treturn errors.New("x")
\t}
\treturn nil
}

""",
}


def sources(folder):
    """Name and text of what the folder and the made files hold, at most 6 MB of each language."""
    taken = Counter()
    for name, piece in MADE.items():
        yield from ((name, "".join(piece % number for number in range(2000))) for _ in range(4))
    for path in sorted(folder.rglob("*")):
        language = language_of(path.name) if path.is_file() else None
        if language is None or taken[language] > PER_LANGUAGE:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        if text and not unfit_reason(path.name, text):
            taken[language] += len(text)
            yield path.name, text


def main(arguments):
    folder = Path(arguments[0] if arguments else sysconfig.get_paths()["stdlib"])
    sizes, seconds, blocks = Counter(), Counter(), Counter()
    for name, text in sources(folder):
        language = language_of(name, text)
        parse = PARSERS.get(language, parse_code)
        started = time.thread_time()
        document = parse(name, text)
        seconds[language] += time.thread_time() - started
        sizes[language] += len(text)
        blocks[language] += len(document.blocks)
    for language, size in sizes.most_common():
        print(
            f"{language:12} {size / 1e6:7.2f} MB {size / 1e6 / seconds[language]:7.2f} MB/s"
            f" {blocks[language]:8,} blocks"
        )
    total = sum(sizes.values()) / 1e6 / sum(seconds.values())
    print(f"{'all':12} {sum(sizes.values()) / 1e6:7.2f} MB {total:7.2f} MB/s")
    return 0 if total >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
