# Two commands do everything on a fresh machine: `make bench` and `make test`.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# The distribution's own first: with one that pyenv builds (a shared library, without profiles), Ansible and the tests take
# a sixth more CPU time.
PYTHON ?= $(shell for python in /usr/bin/python3 python3; do \
	$$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
done; echo $$python)
ARGS ?=
# Diagnoses of nodes with a real deficit, of half a minute each, in "make benchmark".
CASES ?= 200
VENV := .venv
LOGS := .cache/tests
# The scenarios that "make test" leaves to "make test-roles", for time: twenty minutes. What they apply, other scenarios
# apply too, but for Slurm.
OCCASIONAL := cluster_ssh slurm ways_out
# One by one: "molecule test --all" ends with the first that fails.
SCENARIOS := $(notdir $(patsubst %/molecule.yml,%,$(wildcard molecule/*/molecule.yml)))
# Programs of the environment come first: Ansible and Molecule start each other by name.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
# Ansible ends without a locale of UTF-8; that of a login by ssh need not be on this machine.
export LC_ALL := C.UTF-8
# Images of Python set both. Hundreds of processes import the same files, and a program that comes by the standard input,
# as a module of Ansible, is read byte by byte where that is not buffered.
unexport PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED
# Those of another project stand over ansible.cfg and over what .venv has.
unexport ANSIBLE_ACTION_PLUGINS ANSIBLE_CALLBACK_PLUGINS ANSIBLE_COLLECTIONS_PATH ANSIBLE_FILTER_PLUGINS
unexport ANSIBLE_LIBRARY ANSIBLE_LOOKUP_PLUGINS ANSIBLE_ROLES_PATH PYTHONPATH

RUN := $(VENV)/.run-installed
TEST := $(VENV)/.test-installed

.PHONY: help install provision bench bench-all teardown test programs-of-tests framework-of-tests tests-shown tests-beside test-unit test-integration test-report test-faults test-roles test-bare testbed testbed-down mutate lint benchmark clean

help:  ## List the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 20

install: $(RUN)  ## Install what ansible-playbook needs into .venv.

# Imports leave no cycles of objects; to look for them takes a tenth of the CPU time of Ansible's start.
$(RUN): requirements.lock
	@scripts/system-packages $(PYTHON) run
	@echo "Installing Ansible and the report's libraries into $(VENV) (about half a minute)"
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -q --disable-pip-version-check --require-hashes \
		-r requirements.lock
	@echo 'import gc; gc.set_threshold(100_000)' > "$$(echo $(VENV)/lib/python*/site-packages)/later_garbage.pth"
	@touch $@

# Python compiles what is imported, a third of it. Ansible above is compiled, for who forbids Python to write.
$(TEST): $(RUN) requirements-test.txt
	@echo "Installing the test tools into $(VENV) (about half a minute)"
	@$(VENV)/bin/python -m pip install -q --disable-pip-version-check --no-compile -r requirements-test.txt
	@touch $@

# Each part installs what it starts before its first test: see scripts/programs.txt.
programs-%: $(TEST)
	@scripts/system-packages $(PYTHON) tests $*

provision: $(RUN)  ## Start the local nodes and install the framework on them.
	@ansible-playbook playbooks/provision.yml

bench: provision  ## Provision, run the default matrix, print the speed-up table. ARGS="-e precision=amp" changes it.
	@ansible-playbook playbooks/bench.yml $(ARGS)

bench-all: $(RUN)  ## The same with every framework: more than an hour on two cores, ARGS as above.
	@ansible-playbook playbooks/provision.yml -e benchmark=all -e dataset=small
	@ansible-playbook playbooks/bench.yml -e benchmark=all $(ARGS)

teardown: $(RUN)  ## End the local nodes and all that runs in them.
	@ansible-playbook playbooks/teardown.yml

# The integration tests come before the others of pytest: they install the frameworks that some of the unit tests
# train with. The tests of faults and roles wait more than they compute, and so run beside them; what those need of the
# cores they get first, or they would go on when the others have ended, with a core idle. A part that fails stops no other;
# what failed stands at the end.
test:  ## Run the tests, two parts at a time; of the roles all but three scenarios.
	@scripts/system-packages $(PYTHON) run
	@rm -rf $(LOGS); mkdir -p $(LOGS)
	@$(MAKE) --no-print-directory --jobs=3 $(TEST) programs-of-tests framework-of-tests
	@echo "The tests of faults and roles run beside those shown here: tail -F $(LOGS)/test-faults.log $(LOGS)/test-roles.log"
	@$(MAKE) --no-print-directory --keep-going --jobs=2 tests-shown tests-beside
	@python scripts/failed_tests.py $(LOGS)

# Beside the installation of the test tools, and so not after it as programs-%.
programs-of-tests:
	@scripts/system-packages $(PYTHON) tests unit integration report faults

# The first tests of three parts wait for it. What fails here fails again in a test, which tells why.
framework-of-tests: $(RUN)
	@echo "Installing PyTorch for the tests into .state/venvs (about a minute)"
	@ansible-playbook playbooks/provision.yml -i inventory/this_machine --tags framework \
	  -e scalebench_state_dir=$(CURDIR)/$(LOGS)/state -e framework_dir=$(CURDIR)/.state/venvs \
	  > $(LOGS)/framework.log 2>&1 || true

tests-shown:
	@+for part in test-integration test-unit test-report; do \
	  { nice -n 2 $(MAKE) --no-print-directory $$part || touch $(LOGS)/$$part.failed; } 2>&1 | tee $(LOGS)/$$part.log; done

tests-beside:
	@+for part in test-faults test-roles; do \
	  $(MAKE) --no-print-directory $$part LEFT_OUT="$(OCCASIONAL)" > $(LOGS)/$$part.log 2>&1 || touch $(LOGS)/$$part.failed; done
	@cat $(LOGS)/test-faults.log $(LOGS)/test-roles.log

test-unit: programs-unit  ## Test the pure code and the conventions.
	@pytest -q -n 2 tests/unit

# A file's tests share campaigns, so each file is one worker's.
test-integration: programs-integration  ## Run the playbooks on local nodes of their own, with small real training.
	@pytest -q -n 2 --dist=loadfile tests/integration

test-report: programs-report  ## Report real logs and campaigns, and look at the pages in a browser.
	@pytest -q -n 2 --dist=loadfile tests/report

test-faults: programs-faults  ## Kill, freeze, fill and starve what runs on local nodes, for real.
	@pytest -q -n 2 --dist=loadfile tests/faults

test-roles: programs-testbed  ## Converge and verify the roles with Molecule, all scenarios.
	@test -n "$(SCENARIOS)"; failed=""; for scenario in $(filter-out $(LEFT_OUT),$(SCENARIOS)); do \
	  molecule test --scenario-name $$scenario || failed="$$failed $$scenario"; done; \
	  test -z "$$failed" || { echo "FAILED$$failed"; exit 1; }

test-bare:  ## Run each part, and a short bench, on a new root file system of a minimal Debian. ARGS="unit bench-user" chooses.
	@PYTHONPATH=tests $(PYTHON) -m testbed.bare $(ARGS)

mutate: $(TEST)  ## Change the code a little, many times, and see whether a unit test notices. ARGS="--packages node".
	@python tests/mutations/mutate.py $(ARGS)

testbed:  ## Start four systemd nodes on a private network of this machine, for inventory/testbed. ARGS=slurm adds Slurm.
	@scripts/testbed up $(ARGS)

testbed-down:  ## Remove them.
	@scripts/testbed down

lint: programs-lint  ## Check style and types.
	@ruff check .
	@ruff format --check .
	@mypy collections/ansible_collections/scalebench/core/plugins/module_utils
	@yamllint .
	@ansible-lint --offline

benchmark: $(TEST)  ## Measure our own cost (reading, packing, telemetry, orchestration, provisioning) and error rates (two hours; CASES=20: half an hour).
	@ansible-playbook playbooks/provision.yml
	@python tests/benchmarks/read_logs.py
	@python tests/benchmarks/report_tree.py
	@PYTHONPATH=collections python tests/benchmarks/schedule.py
	@PYTHONPATH=collections python tests/benchmarks/error_rates.py
	@PYTHONPATH=collections python tests/benchmarks/diagnosis.py
	@PYTHONPATH=collections python tests/benchmarks/diagnosis_rates.py --cases $(CASES)
	@PYTHONPATH=collections python tests/benchmarks/telemetry.py
	@python tests/benchmarks/waits.py
	@PYTHONPATH=collections python tests/benchmarks/collectives.py
	@ansible-playbook playbooks/provision.yml -e benchmark=all_reduce -e recipe=mpi --tags framework
	@PYTHONPATH=collections python tests/benchmarks/collectives.py --library mpi
	@PYTHONPATH=collections python tests/benchmarks/orchestration.py $(ARGS)
	@python tests/benchmarks/slurm_overhead.py
	@python tests/benchmarks/predicted_speedup.py --rates 500 --repeats 1
	@PYTHONPATH=collections python tests/benchmarks/provision.py
	@PYTHONPATH=collections python tests/benchmarks/provision.py --local --nodes 4 16 64
	@PYTHONPATH=collections python tests/benchmarks/transformer.py

clean:  ## End the local nodes; remove environments, keys and caches. Results stay.
	@if [ -x $(VENV)/bin/ansible-playbook ] && [ -d .state ]; then ansible-playbook playbooks/teardown.yml; fi
	@rm -rf $(VENV) .state .pytest_cache .mypy_cache .ruff_cache .hypothesis .ansible .cache
