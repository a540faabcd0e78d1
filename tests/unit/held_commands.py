"""Every external program that the code runs or renders, and what its options are held against.

The source of the column "what proves it" in docs/unproven.md. ``test_external_commands.py`` finds
the commands and refuses a program that is not here, and an entry that nothing uses.
"""

from __future__ import annotations

from typing import NamedTuple


class Held(NamedTuple):
    """What a program's options are held against.

    ``by``: HELP (the help of the real program, where it is installed), CAPTURE (the help in a
    capture of the real program on a node with GPUs), LISTED (names from its sources, in
    known_options.yml), INSTALLED (its argument parser, where the package is installed), OWN (the
    parser in our own file), TEST (another test, which is named), NOTHING. ``why``: what that
    proves, or why there is nothing.
    """

    by: str
    why: str


HELP, CAPTURE, LISTED, INSTALLED = "help", "capture", "listed", "installed"
OWN, TEST, NOTHING = "own", "test", "nothing"
_REAL = "the installed program's own help"
_RUN = "run on the local nodes and in Molecule, for real"
_STAND_IN = "a stand-in in molecule/shared/stand_ins runs in its place"

HELD: dict[str, Held] = {
    # NVIDIA's programs.
    "nvidia-smi": Held(
        CAPTURE,
        "options: nvidia-smi -h of driver 590 in ../shared/data/nvidia-smi; fields:"
        " tests/unit/node/test_nvidia_smi.py and tests/integration/test_nvidia_smi.py (Debian's"
        " real programs of five drivers, without a GPU)",
    ),
    "nvidia-ctk": Held(LISTED, "names from its sources; " + _STAND_IN),
    "nvidia-persistenced": Held(LISTED, "names from its sources; never run"),
    "NVIDIA-Linux-x86_64.run": Held(LISTED, "names from the installer's sources; " + _STAND_IN),
    "nvidia-uninstall": Held(LISTED, "a link to the installer; never run"),
    "all_reduce_perf": Held(LISTED, "names from its sources; " + _STAND_IN),
    "nvcc": Held(NOTHING, "only asked for --version; " + _STAND_IN),
    # Mellanox' programs.
    "mlnxofedinstall": Held(
        LISTED,
        "not redistributable: names that public scripts give to the real program; " + _STAND_IN,
    ),
    "ofed_uninstall.sh": Held(NOTHING, "not redistributable; only --force is used; never run"),
    "ofed_info": Held(NOTHING, "not redistributable; only asked for -s; " + _STAND_IN),
    "ibv_devinfo": Held(NOTHING, "Debian's ibverbs-utils has it; only asked for --list"),
    # What starts ranks.
    "mpirun": Held(
        TEST,
        "tests/unit/planning/test_mpirun_options.py: options of 3.1.4 from its sources, options"
        " and parameters of the installed one",
    ),
    "horovodrun": Held(LISTED, "names from its sources; no recipe uses it"),
    "torch.distributed.run": Held(INSTALLED, "its own parser; " + _RUN),
    "torch.distributed.launch": Held(LISTED, "names from its sources; in an image of 2020"),
    "paddle.distributed.launch": Held(LISTED, "names from its sources; " + _RUN),
    "paddle.distributed.launch of 1.8": Held(LISTED, "names from its sources"),
    "oneflow.distributed.launch": Held(LISTED, "names from its sources; " + _RUN),
    "published trainer": Held(
        TEST,
        "tests/unit/planning/test_published_commands.py: every word against the published scripts;"
        " test_upstream_on_cpu.py: what differs without GPUs, " + _RUN,
    ),
    "workloads": Held(OWN, "options that workloads/ parse; " + _RUN),
    # Containers.
    "docker": Held(
        HELP,
        _REAL + " (28.2), by subcommand; for podman the names of its manual (4.3.1), never run",
    ),
    "/snap/bin/docker.dockerd": Held(NOTHING, "only looked for; Docker's name in its snap"),
    "dockerd": Held(
        TEST, "only asked for --version; tests/unit/stacks/test_replacement.py reads its answer"
    ),
    "podman": Held(
        TEST, "only asked for --version; tests/unit/stacks/test_replacement.py reads its answer"
    ),
    # ssh.
    "ssh": Held(HELP, _REAL + "; options of -o by ssh -G; " + _RUN),
    "ssh-keyscan": Held(HELP, _REAL + "; " + _RUN),
    "sshd": Held(HELP, _REAL + "; " + _RUN),
    "ssh-keygen": Held(HELP, _REAL + "; " + _RUN),
    # Slurm.
    "sbatch": Held(LISTED, "names from the help and manual of Debian's 22.05; run with it"),
    "srun": Held(LISTED, "names from the help and manual of Debian's 22.05; run with it"),
    "squeue": Held(LISTED, "names from the help and manual of Debian's 22.05; run with it"),
    "scontrol": Held(LISTED, "names from the help and manual of Debian's 22.05; run with it"),
    "sacct": Held(LISTED, "names from the manual of Debian's 22.05; run without accounting only"),
    "scancel": Held(LISTED, "names from the help and manual of Debian's 22.05; run with it"),
    # Packages, firewalls and the boot image.
    "apt-get": Held(HELP, "the installed program refuses an option that it does not know"),
    "dnf": Held(NOTHING, "RHEL is not at hand: names from dnf(8)"),
    "dkms": Held(LISTED, "names from its sources; a stand-in runs in Molecule"),
    "apt-mark": Held(NOTHING, "only asked to showhold, hold and unhold; " + _RUN),
    "dpkg": Held(HELP, _REAL),
    "dpkg-deb": Held(HELP, _REAL),
    "rpm": Held(NOTHING, "RHEL is not at hand: names from rpm(8)"),
    "modprobe": Held(HELP, _REAL),
    "modinfo": Held(HELP, _REAL),
    "firewall-cmd": Held(NOTHING, "not installed here: names from firewall-cmd(1)"),
    "getent": Held(NOTHING, "only asked for ahostsv4; " + _RUN),
    "ip": Held(NOTHING, "only asked for a route; " + _RUN),
    "semanage": Held(NOTHING, "RHEL is not at hand: names from semanage-port(8)"),
    "ufw": Held(NOTHING, "not installed here: words from ufw(8)"),
    "update-initramfs": Held(NOTHING, "not installed here: names from update-initramfs(8)"),
    "dracut": Held(NOTHING, "RHEL is not at hand: names from dracut(8)"),
    # Tools of every system.
    **{
        name: Held(HELP, _REAL)
        for name in (
            *("bash", "cmake", "curl", "df", "dirname", "dmesg", "find", "g++", "git", "grep"),
            *(
                "journalctl",
                "ln",
                "make",
                "mkdir",
                "mpicxx",
                "mv",
                "python3",
                "rm",
                "sha256sum",
                "systemctl",
            ),
            *("dpkg-query", "env", "gpasswd", "hostname", "runuser", "sysctl"),
            *("systemd-detect-virt", "tar", "timeout", "wget"),
        )
    },
    "kill": Held(NOTHING, "POSIX: only -HUP is used"),
    "sh": Held(NOTHING, "POSIX: only -c is used"),
    "cat": Held(NOTHING, "POSIX: no option is used"),
    "sleep": Held(NOTHING, "POSIX: no option is used"),
    # Words that the user gives.
    "drain and resume": Held(NOTHING, "the words of the user's two options of role nvidia_driver"),
}

# Commands whose program the code computes, by file. Every word that is given here stands in the
# file, and every option in the file stands here.
INDIRECT: dict[str, list[str]] = {
    "library/container_image.py": [
        "docker image inspect --format",
        "docker pull",
        "docker tag",
        "docker build --network --tag --build-arg --label",
        "docker save",
        "docker load",
        "ssh -F",
        "bash -c",
    ],
    "library/container_running.py": [
        "docker container inspect --format",
        "docker rm --force",
        "docker run --label",
    ],
    "library/own_containers.py": [
        "docker ps --all --filter --format",
        "docker rm --force",
        "docker images --filter --format",
        "docker rmi",
        "runuser -u",
        "env",
        "timeout",
    ],
    "library/program_info.py": [
        "ofed_info -s",
        "ibv_devinfo --list",
        "nvcc --version",
    ],
    # Its command is made by library/system_changes.py.
    "playbooks/uninstall.yml": [],
    # Its other commands are made by module_utils/node/system_changes.py.
    "library/system_changes.py": [
        "apt-get -o remove",
        "dpkg-query -W -f",
        "dpkg-query -L",
        "apt-get --yes -o remove",
        "dpkg --purge",
        "rm -rf -df",
        "rpm -ql",
    ],
    # Commands of text_tree are in the tasks that use it.
    "library/text_tree.py": [],
    "collections/ansible_collections/scalebench/core/plugins/module_utils/node/fitness.py": [
        "docker inspect --format",
        "docker exec",
        "sh -c",
        "journalctl --dmesg --output --no-pager",
        "nvidia-smi --query-gpu --query-remapped-rows",
    ],
    "collections/ansible_collections/scalebench/core/plugins/module_utils/node/interpreters.py": [
        "python3 -c"
    ],
    "collections/ansible_collections/scalebench/core/plugins/module_utils/node/machine.py": [
        "systemd-detect-virt",
        "nvcc --version",
        "ofed_info -s",
    ],
    "collections/ansible_collections/scalebench/core/plugins/module_utils/node/nvidia_smi.py": [
        "nvidia-smi --query-gpu --query-compute-apps --query-remapped-rows --format"
    ],
    "collections/ansible_collections/scalebench/core/plugins/module_utils/node/gpus.py": [
        "nvidia-smi --id"
    ],
    "collections/ansible_collections/scalebench/core/plugins/module_utils/node/drivers.py": [
        "python3 -c"
    ],
    "collections/ansible_collections/scalebench/core/plugins/module_utils/node/system_state.py": [
        "dpkg-query -W -f",
        "rpm -qa --qf",
        "apt-mark showhold",
        "firewall-cmd --get-zones --zone --list-rich-rules",
        "sysctl -a",
        "systemctl list-units --type --state --no-pager --plain",
        "ufw show added",
    ],
    "collections/ansible_collections/scalebench/core/plugins/module_utils/node/system_changes.py": [
        "apt-get --yes -o remove",
        "apt-get --yes -o install --no-install-recommends",
        "apt-mark unhold",
        "apt-mark hold",
        "dracut --force --regenerate-all",
        "firewall-cmd --zone --remove-rich-rule --permanent",
        "gpasswd -d",
        "hostname -F",
        "sysctl -w",
        "systemctl daemon-reload",
        "systemctl try-restart",
        "ufw delete",
        "ufw reload",
        "update-initramfs -u -k",
    ],
    "collections/ansible_collections/scalebench/core/plugins/module_utils/node/sshd.py": [
        "sshd -f -t -E"
    ],
    # What Slurm's programs are given; tests/unit/slurm/test_commands.py has each whole line.
    "collections/ansible_collections/scalebench/core/plugins/module_utils/slurm/commands.py": [
        "srun --jobid --overlap --nodelist --nodes --ntasks --ntasks-per-node --job-name"
        " --immediate --mem --cpu-bind --mpi --chdir --kill-on-bad-exit --propagate --export",
        "sh -c",
        "sbatch --job-name --ntasks-per-node --output --no-requeue --no-kill --propagate",
        "squeue --noheader --steps --jobs --format --states --sort --partition",
        "scontrol --oneliner",
        "sacct --noheader --parsable2 --jobs --format",
        "grep -v -e",
    ],
    # tests/unit/slurm/test_srun.py has each whole line.
    "collections/ansible_collections/scalebench/core/plugins/module_utils/slurm/srun.py": [
        "srun --jobid --overlap --nodelist --nodes --ntasks --ntasks-per-node --distribution"
        " --overcommit --mem --cpu-bind --mpi --chdir --kill-on-bad-exit --propagate --export"
        " --container-image --container-mounts --container-env"
        " --container-writable --no-container-mount-home",
        "sh -c",
    ],
    "action_plugins/slurm_job.py": ["sbatch --test-only --parsable", "srun --mpi --help"],
    # Starts what the two files above give it.
    "collections/ansible_collections/scalebench/core/plugins/connection/slurm.py": [],
    "roles/framework/tasks/container.yml": ["docker --version"],
    "roles/framework/tasks/gpus.yml": ["python3 -"],
    "roles/framework/tasks/import.yml": ["python3 -c"],
    "roles/framework/tasks/set.yml": ["python3 -c"],
    "roles/framework/tasks/programs.yml": [
        *("mpirun --version", "mpicxx -showme:incdirs", "cmake --version", "g++ --version")
    ],
    "roles/nvidia_driver/tasks/reboot_node.yml": ["drain and resume"],
    "roles/nvidia_driver/tasks/runfile.yml": ["NVIDIA-Linux-x86_64.run"],
    # What these start is given to them: it is rendered by the launchers.
    "workloads/launch/attended.py": [],
    "workloads/launch/host_ranks.py": [],
    "workloads/launch/start_ranks.py": [],
    "workloads/launch/in_container.py": ["docker cp", "workloads --copy"],
    "workloads/launch/reach_node.py": ["ssh -F -o -p"],
}
