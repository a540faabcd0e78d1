"""What provisioning changed, over several runs, and how it is undone."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.system_changes import (
    APT_GET,
    attributed,
    commands_after_files,
    commands_before_files,
    differences,
    installed_by_others,
    kernel_keys,
    merged,
    plan_undo,
    unrecorded,
    words_of,
)

FILE = {"mode": 0o644, "uid": 0, "gid": 0}
OLD, NEW, NEWER = ({**FILE, "sha256": letter * 64} for letter in "abc")


def state(**kinds):
    empty = {
        "files",
        "packages",
        "holds",
        "services",
        "units",
        "kernel",
        "groups",
        "folders",
        "rules",
    }
    return {**{kind: {} for kind in empty}, **kinds}


BEFORE = state(
    files={"/etc/hosts": OLD, "/etc/issue": OLD},
    packages={"bash": "5", "systemd-timesyncd": "252", "docker-ce": "26"},
    services={"systemd-timesyncd.service": True},
    kernel={"vm.zone_reclaim_mode": "0", "kernel.random.uuid": "1"},
    groups={"video": ["ann"]},
)
AFTER = state(
    files={
        "/etc/hosts": NEW,
        "/etc/issue": OLD,
        "/etc/chrony/chrony.conf": NEW,
        "/etc/systemd/system/our-sshd.service": NEW,
    },
    packages={"bash": "6", "chrony": "4", "docker-ce": "26"},
    holds={"chrony": True},
    services={"chrony.service": True, "our-sshd.service": True, "mine.service": True},
    units={"chrony.service": True, "our-sshd.service": True, "systemd-timesyncd.service": True},
    kernel={"vm.zone_reclaim_mode": "1", "kernel.random.uuid": "2"},
    groups={"video": ["ann", "bob"], "_chrony": []},
    folders={"/opt/scalebench": True},
)
KEYS = ["vm.zone_reclaim_mode"]


def recorded(before=BEFORE, after=AFTER, earlier=None):
    return merged(earlier or {}, differences(before, after, KEYS), before)


def test_everything_that_was_changed_is_undone_and_nothing_else():
    owners = {"/usr/lib/systemd/system/chrony.service": "chrony"}
    plan = plan_undo(recorded(), AFTER, {}, owners)
    assert plan.packages == ["chrony"]
    assert plan.release == ["chrony"]
    assert plan.files == {
        "/etc/hosts": OLD,
        "/etc/chrony/chrony.conf": None,
        "/etc/systemd/system/our-sshd.service": None,
    }
    # The package stops its own, and a service that somebody else started runs on.
    assert (plan.stop, plan.start) == (["our-sshd.service"], ["systemd-timesyncd.service"])
    assert plan.kernel == {"vm.zone_reclaim_mode": "0"}
    assert plan.members == {"video": ["bob"]}
    assert plan.folders == ["/opt/scalebench"]
    assert plan.stays == {"package bash": "it was 5, is 6"}
    assert commands_before_files(plan) == [
        ["systemctl", "stop", "our-sshd.service"],
        ["apt-mark", "unhold", "chrony"],
        [*APT_GET, "remove", "chrony"],
        [*APT_GET, "install", "--no-install-recommends", "systemd-timesyncd"],
    ]
    assert commands_after_files(plan) == [
        ["systemctl", "daemon-reload"],
        ["sysctl", "-w", "vm.zone_reclaim_mode=0"],
        ["gpasswd", "-d", "bob", "video"],
        ["systemctl", "start", "systemd-timesyncd.service"],
    ]
    assert "restore files: /etc/hosts" in words_of(plan)
    assert (
        "remove files: /etc/chrony/chrony.conf, /etc/systemd/system/our-sshd.service"
        in words_of(plan)
    )


def test_what_was_not_changed_needs_nothing():
    plan = plan_undo(recorded(BEFORE, BEFORE), BEFORE, {})
    assert not any(plan)
    assert words_of(plan) == []


def test_a_file_that_somebody_changed_since_stays_with_the_copy_of_what_it_was():
    copies = {f"/etc/{name}.7.2026-11-25@14:07:09~": OLD for name in ("hosts", "issue")}
    after = {**AFTER, "files": {**AFTER["files"], **copies}}
    now = {**after, "files": {**after["files"], "/etc/hosts": NEWER}}
    plan = plan_undo(recorded(after=after), now, {})
    of_hosts, of_issue = copies
    assert "/etc/hosts" not in plan.files and of_hosts not in plan.files
    assert plan.files[of_issue] is None
    assert plan.stays["/etc/hosts"] == "somebody else changed it since"
    assert plan.stays[of_hosts] == "it is what /etc/hosts was"


def test_what_was_there_and_did_not_run_is_stopped_and_what_ran_gets_its_unit_back():
    units = {f"/etc/systemd/system/{name}": OLD for name in ("a.service", "b.service.d/x.conf")}
    before = state(files=units, services={"a.service": True, "b.service": True})
    running = ("a.service", "b.service", "docker.service", "chrony.service", "mine.service")
    after = state(
        files=dict.fromkeys(units, NEW),
        packages={"chrony": "4"},
        services=dict.fromkeys(running, True),
    )
    owners = {"/usr/lib/systemd/system/chrony.service": "chrony"}
    plan = plan_undo(recorded(before, after), after, {}, owners)
    assert plan.stop == ["docker.service"]
    assert plan.restart == ["a.service", "b.service"]
    assert commands_after_files(plan)[-1] == ["systemctl", "try-restart", "b.service"]


def test_a_unit_of_version_0_1_is_stopped_and_removed_with_its_link():
    unit = "/etc/systemd/system/scalebench-sshd.service"
    link = "/etc/systemd/system/multi-user.target.wants/scalebench-sshd.service"
    drop_in = "/etc/systemd/system/docker.service.d/scalebench.conf"
    services = {"scalebench-sshd.service": True, "docker.service": True}
    files = {unit: OLD, link: {"target": unit}, drop_in: OLD}
    before = state(files=files, services=services)
    after = state(files={unit: NEW, link: {"target": unit}, drop_in: NEW}, services=services)
    plan = plan_undo(recorded(before, after), after, {})
    assert plan.files == dict.fromkeys((unit, link, drop_in))
    assert (plan.stop, plan.restart) == (["scalebench-sshd.service"], ["docker.service"])
    removed = {**after, "files": {}, "services": {}}
    assert plan_undo(recorded(before, removed), removed, {}).files == {}


def test_rules_of_a_firewall_are_removed_one_by_one():
    rules = ("ufw allow from 10.0.0.2 to any port 10000 proto tcp", 'public rule family="ipv4"')
    after = {**BEFORE, "rules": dict.fromkeys(rules, True)}
    plan = plan_undo(recorded(after=after), after, {})
    assert commands_before_files(plan) == [
        ["firewall-cmd", "--zone=public", '--remove-rich-rule=rule family="ipv4"'],
        ["firewall-cmd", "--permanent", "--zone=public", '--remove-rich-rule=rule family="ipv4"'],
        [
            "ufw",
            "delete",
            *["allow", "from", "10.0.0.2", "to", "any", "port", "10000", "proto", "tcp"],
        ],
    ]


def test_a_second_run_keeps_the_state_before_the_first():
    changes = recorded(AFTER, state(**{**AFTER, "files": {**AFTER["files"], "/etc/hosts": NEWER}}),
                       recorded())  # fmt: skip
    assert changes["files"]["/etc/hosts"] == {"before": OLD, "after": NEWER}
    assert changes["packages"]["chrony"] == {"before": None, "after": "4"}


def test_a_run_that_is_recorded_twice_is_undone_like_one():
    changes = recorded(earlier=recorded())
    assert changes == recorded()


def test_what_somebody_changed_between_two_runs_is_not_undone():
    between = state(**{**AFTER, "files": {**AFTER["files"], "/etc/hosts": NEWER}})
    changes = recorded(between, state(**{**AFTER, "files": {"/etc/hosts": NEW}}), recorded())
    plan = plan_undo(changes, state(files={"/etc/hosts": NEW}), {})
    assert plan.stays["/etc/hosts"] == "somebody else changed it since"
    assert "/etc/hosts" not in plan.files


def test_a_package_that_others_need_stays():
    plan = plan_undo(recorded(), AFTER, {"chrony": "site-monitor needs it"})
    assert plan.packages == []
    assert plan.stays["package chrony"] == "site-monitor needs it"


@pytest.mark.parametrize(("before", "during"), [("1", "0"), ("0", "0")])
def test_redirects_are_what_they_were_after_forwarding_was_set_back(before, during):
    forward, redirects = "net.ipv4.ip_forward", "net.ipv4.conf.all.accept_redirects"
    old = state(kernel={forward: "0", redirects: before})
    new = state(kernel={forward: "1", redirects: during})
    changes = differences(old, new, [forward, redirects])
    plan = plan_undo(changes, new, {}, {})
    # The kernel sets them to 1 when forwarding goes.
    assert list(plan.kernel.items()) == [(forward, "0"), (redirects, before)]


def test_kernel_parameters_of_files():
    text = "# comment = 1\nvm.zone_reclaim_mode = 0\n-net/core/rmem_max=1\n;x = 2\n"
    assert kernel_keys([text]) == ["vm.zone_reclaim_mode", "net.core.rmem_max"]


def test_a_service_whose_unit_is_gone_is_not_started():
    plan = plan_undo(recorded(), {**AFTER, "units": {}}, {})
    assert plan.start == []


def test_files_of_a_package_that_stays_stay():
    wants = "/etc/systemd/system/multi-user.target.wants"
    owners = {
        "/etc/chrony/chrony.conf": "chrony",
        "/lib/systemd/system/chrony.service": "chrony",
        "/etc/other.conf": "other",
    }
    links = {f"{wants}/chrony.service": {"target": "/usr/lib/systemd/system/chrony.service"}}
    after = {
        **AFTER,
        "packages": {**AFTER["packages"], "other": "1"},
        "files": {**AFTER["files"], **links, "/etc/other.conf": NEW},
    }
    changes = recorded(after=after)
    plan = plan_undo(changes, after, {"chrony": "site-monitor needs it"}, owners)
    assert plan.packages == ["other"]
    assert {*plan.files} == {
        "/etc/hosts",
        "/etc/other.conf",
        "/etc/systemd/system/our-sshd.service",
    }
    for path in ("/etc/chrony/chrony.conf", *links):
        assert plan.stays[path] == "package chrony stays"
    words = words_of(plan, owners)
    assert "remove files: /etc/systemd/system/our-sshd.service" in words
    assert "remove files of packages: /etc/other.conf" in words
    assert {*plan_undo(changes, after, {}, owners).files} == {*plan.files, *links, *owners} - {
        "/lib/systemd/system/chrony.service"
    }


# Of Ubuntu 22.04 (apt 2.4), cut.
HISTORY = """
Start-Date: 2026-11-25  03:10:00
Commandline: /usr/bin/unattended-upgrade
Install: earlier:amd64 (1, automatic)
End-Date: 2026-11-25  03:10:09

Start-Date: 2026-11-25  03:40:00
Commandline: /usr/bin/unattended-upgrade
Install: linux-modules-6.8.0-90-generic:amd64 (6.8.0-90.91~22.04.1, automatic), needrestart:amd64 (3.5-5)
Upgrade: libc6:amd64 (2.35-0ubuntu3.10, 2.35-0ubuntu3.11)
End-Date: 2026-11-25  03:41:13

Start-Date: 2026-11-25  03:42:00
Commandline: /usr/bin/apt-get -y -o Dpkg::Options::=--force-confdef install chrony
Requested-By: ubuntu (1000)
Install: chrony:amd64 (4.2-2ubuntu2)
End-Date: 2026-11-25  03:42:05

Start-Date: 2026-11-25  03:43:00
Commandline: apt install htop
Install: htop:amd64 (3.0.5-7build2)
"""  # noqa: E501


def test_packages_that_other_programs_installed_meanwhile_stay_with_their_files():
    others = installed_by_others(HISTORY, "2026-11-25 03:39:59")
    assert others == {
        "linux-modules-6.8.0-90-generic:amd64": "unattended-upgrade",
        "needrestart:amd64": "unattended-upgrade",
        "htop:amd64": "apt",
    }
    after = {
        **AFTER,
        "packages": {**AFTER["packages"], "needrestart": "3.5", "linux-image-6.8.0-90": "6.8"},
        "files": {**AFTER["files"], "/etc/needrestart/needrestart.conf": NEW},
    }
    changes = merged({}, attributed(differences(BEFORE, after, KEYS), others), BEFORE)
    # What they are is known after later runs too.
    changes = merged(changes, differences(after, after, KEYS), after)
    plan = plan_undo(changes, after, {}, {"/etc/needrestart/needrestart.conf": "needrestart"})
    assert plan.packages == ["chrony"]
    assert plan.stays == {
        "package bash": "it was 5, is 6",
        "package needrestart": "unattended-upgrade installed it meanwhile",
        "package linux-image-6.8.0-90": "kernels are the site's",
        "/etc/needrestart/needrestart.conf": "package needrestart stays",
    }


def test_holds_that_were_released_or_went_with_a_package_are_set_again():
    before = {**BEFORE, "holds": {"systemd-timesyncd": True, "bash": True, "docker-ce": True}}
    gone = {**AFTER, "packages": {"bash": "6", "chrony": "4"}, "holds": {"chrony": True}}
    changes = merged({}, differences(before, gone, KEYS), before)
    plan = plan_undo(changes, gone, {})
    assert plan.hold == ["bash", "docker-ce", "systemd-timesyncd"]
    assert commands_before_files(plan)[-4:] == [
        [*APT_GET, "install", "--no-install-recommends", "docker-ce", "systemd-timesyncd"],
        *(["apt-mark", "hold", name] for name in plan.hold),
    ]  # fmt: skip
    again = {**gone, "holds": {"bash": True}}
    assert plan_undo(changes, again, {}).hold == ["docker-ce", "systemd-timesyncd"]


def test_the_initial_ram_disk_is_made_again_by_the_program_that_the_system_has():
    after = {**AFTER, "files": {**AFTER["files"], "/etc/modprobe.d/nouveau.conf": NEW}}
    plan = plan_undo(recorded(after=after), after, {})
    for has, command in (
        ("update-initramfs", ["update-initramfs", "-u", "-k", "all"]),
        ("dracut", ["dracut", "--force", "--regenerate-all"]),
    ):
        assert commands_after_files(plan, has.__eq__)[1] == command
    assert commands_after_files(plan_undo(recorded(), AFTER, {}), lambda name: True)[1][0] not in (
        "update-initramfs", "dracut"
    )  # fmt: skip


def test_what_is_new_since_a_run_that_was_not_recorded_is_listed():
    assert unrecorded(BEFORE, AFTER) == {
        "packages": ["chrony"],
        "files": ["/etc/chrony/chrony.conf", "/etc/systemd/system/our-sshd.service"],
    }


def test_rules_of_firewalld_are_removed_without_a_reload():
    ours = ['public rule family="ipv4" source address="10.0.0.1" accept', "ib rule accept"]
    before = state(rules={"public rule drop": True})
    after = state(
        rules={**before["rules"], **dict.fromkeys(ours, True)},
        files={"/etc/firewalld/zones/public.xml": NEW},
    )
    later = {**after, "rules": {"public rule drop": True, ours[0]: True, "ib rule mine": True}}
    plan = plan_undo(recorded(before, after), later, {})
    assert plan.rules == ours[:1]
    rule = ["--zone=public", f"--remove-rich-rule={ours[0][len('public ') :]}"]
    assert commands_before_files(plan) == [
        ["firewall-cmd", *rule], ["firewall-cmd", "--permanent", *rule],
    ]  # fmt: skip
    assert not any("--reload" in command for command in commands_after_files(plan))
