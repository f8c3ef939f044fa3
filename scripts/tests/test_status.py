# SPDX-License-Identifier: GPL-2.0
"""ib-smi status: on hosts made of files, for what cannot be staged, and in a guest."""

import io
import json
import runpy
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

# pylint: disable=wrong-import-position
from triage.host import elf, status  # noqa: E402
from triage.host import files  # noqa: E402
from triage.host.files import Host  # noqa: E402

PORT = "/sys/class/infiniband/mlx5_0/ports/1"
HOST = {
    "/proc/sys/kernel/osrelease": "7.3.4\n", "/proc/sys/kernel/version": "#1 SMP\n", "/proc/sys/kernel/tainted": "45056\n",
    "/proc/modules": ("ib_smi 167936 1 - Live 0x0 (OEK)\nib_umad 45056 0 - Live 0x0\nmlx5_ib 1 0 - Live 0x0\n"
                      "ext4 1 1 - Live 0x0\nib_core 626688 3 ib_smi,mlx5_ib,ib_umad, Live 0x0\n"),
    "/proc/mounts": "tracefs /sys/kernel/tracing tracefs rw 0 0\ndebugfs /sys/kernel/debug debugfs rw 0 0\n",
    "/sys/kernel/security/lockdown": "[none] integrity confidentiality\n",
    "/sys/module/ib_smi/initstate": "live\n", "/sys/module/ib_smi/taint": "OEK\n",
    "/sys/kernel/livepatch/ib_smi/enabled": "1\n", "/sys/kernel/livepatch/ib_smi/transition": "0\n",
    "/sys/kernel/livepatch/ib_smi/ib_core/patched": "1\n",
    "/sys/kernel/livepatch/ib_smi/ib_core/smi_handle_dr_smp_recv,1/stub": "",
    "/sys/kernel/tracing/events/ib_smi/ib_smi_recv/enable": "1\n", "/sys/kernel/tracing/tracing_on": "1\n",
    "/sys/kernel/debug/ib_smi/discards": "hop-count 0\nport-zero 0\n",
    "/sys/class/infiniband/mlx5_0/node_type": "1: CA\n", "/sys/class/infiniband/mlx5_0/node_guid": "0002:c903:0000:1000\n",
    "/sys/class/infiniband/mlx5_0/node_desc": "one mlx5_0\n", "/sys/class/infiniband/mlx5_0/fw_ver": "20.31.1014\n",
    "/sys/class/infiniband/mlx5_0/board_id": "MT_0000000225\n",
    PORT + "/state": "4: ACTIVE\n", PORT + "/phys_state": "5: LinkUp\n", PORT + "/rate": "100 Gb/sec (4X EDR)\n",
    PORT + "/lid": "0x7\n", PORT + "/sm_lid": "0x1\n", PORT + "/cap_mask": "0x2651e84a\n",
    PORT + "/link_layer": "InfiniBand\n",
    "/sys/class/infiniband_mad/abi_version": "5\n",
    "/sys/class/infiniband_mad/umad0/ibdev": "mlx5_0\n", "/sys/class/infiniband_mad/umad0/port": "1\n",
    "/sys/class/infiniband_mad/issm0/ibdev": "mlx5_0\n", "/sys/class/infiniband_mad/issm0/port": "1\n",
}
QUEUE_PAIRS = ('[{"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":0,"type":"SMI","state":"RTS","comm":"ib_core"},'
               '{"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":1,"type":"GSI","state":"RTS","comm":"ib_core"}]')


def look(folder, queue_pairs=QUEUE_PAIRS, **changes):
    """The status of the host with some files changed; None removes what is below a path."""
    gone = [path for path, text in changes.get("files", {}).items() if text is None]
    files = {path: text for path, text in {**HOST, **changes.get("files", {})}.items()
             if text is not None and not any(path.startswith(start) for start in gone)}
    for path, text in files.items():
        file = folder / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return status.status(Host(folder, lambda *words: queue_pairs))


def told(found, level="problem"):
    """What is told at a level, as one text."""
    return "\n".join(trouble["what"] for trouble in found["troubles"] if trouble["level"] == level)


def test_all_is_well(tmp_path):
    found = look(tmp_path)
    assert found["troubles"] == [] and not status.is_wrong(found)
    (device,) = found["devices"]
    assert (device["kind"], device["guid"], device["firmware"], device["board"]) == (
        "CA", "0x0002c90300001000", "20.31.1014", "MT_0000000225")
    (port,) = device["ports"]
    assert (port["state"], port["phys_state"], port["lid"], port["sm_lid"], port["umad"], port["qp0"], port["is_sm"]) == (
        "ACTIVE", "LinkUp", 7, 1, "umad0", "RTS", True)
    # 45056 is bits 12, 13 and 15.
    assert list(found["kernel"]["taints"]) == ["O", "E", "K"]
    assert [module["name"] for module in found["modules"]] == ["ib_core", "mlx5_ib", "ib_umad", "ib_smi"]
    text = "\n".join(status.lines(found))
    assert "Nothing looks wrong." in text and "tainted     OEK" in text


@pytest.mark.parametrize("files, says", [
    ({"/proc/sys/kernel/tainted": "128\n"}, "tainted by D"),
    ({"/sys/kernel/livepatch/ib_smi": None}, "its livepatch is gone"),
    ({"/sys/kernel/livepatch/ib_smi/transition": "1\n"}, "still being enabled"),
    ({"/sys/kernel/livepatch/ib_smi/enabled": "0\n"}, "the livepatch is disabled"),
    ({"/sys/kernel/livepatch/ib_smi/ib_core/patched": "0\n"}, "has patched nothing"),
    ({"/sys/kernel/livepatch/fix/enabled": "1\n", "/sys/kernel/livepatch/fix/ib_core/patched": "1\n",
      "/sys/kernel/livepatch/fix/ib_core/smi_handle_dr_smp_recv,1/stub": "",
      "/sys/kernel/livepatch/fix/ib_core/smi_other,1/stub": ""},
     "the livepatch fix patches the same functions: smi_handle_dr_smp_recv;"),
    ({"/sys/class/infiniband_mad": None}, "ib_umad is not loaded"),
    ({PORT + "/state": "1: DOWN\n", PORT + "/phys_state": "2: Polling\n"}, "mlx5_0:1 is DOWN, Polling"),
    ({"/proc/mounts": "debugfs /sys/kernel/debug debugfs rw 0 0\n"}, "tracefs is not mounted"),
    ({"/proc/mounts": "tracefs /sys/kernel/tracing tracefs rw 0 0\n"}, "debugfs is not mounted"),
    ({"/sys/kernel/tracing/tracing_on": "0\n"}, "the ring buffer takes nothing"),
    ({"/sys/class/infiniband/sw0/node_type": "2: SWITCH\n", "/sys/module/ib_smi": None}, "the switches here (sw0)"),
    ({"/sys/kernel/livepatch": None, "/sys/module/ib_smi": None}, "no livepatch"),
])
def test_a_problem(tmp_path, files, says):
    found = look(tmp_path, files=files)
    assert says in told(found) and status.is_wrong(found)
    # Each says what to do.
    assert all(trouble["do"] for trouble in found["troubles"] if trouble["level"] == "problem")
    assert says in "\n".join(status.lines(found))


@pytest.mark.parametrize("files, says", [
    ({PORT + "/state": "2: INIT\n"}, "mlx5_0:1 is INIT: no subnet manager"),
    ({PORT + "/sm_lid": "0x0\n"}, "has no SM LID"),
    ({"/sys/module/ib_smi": None, "/sys/kernel/livepatch/ib_smi": None, "/sys/kernel/livepatch/x/enabled": "1\n"},
     "the stock SMI is at work"),
    ({"/sys/kernel/tracing/events/ib_smi/ib_smi_recv/enable": "0\n"}, "the events are off"),
    ({"/sys/kernel/tracing/events/ib_smi/ib_smi_recv/trigger": "# Available\nhist:keys=reason\n"}, "triggers are set"),
    ({"/sys/kernel/security/lockdown": "none [integrity] confidentiality\n"}, "locked down (integrity)"),
    ({"/sys/kernel/security/lockdown": "none integrity [confidentiality]\n"}, "the ledger and all tracing"),
    ({"/sys/kernel/debug/ib_smi/discards": "hop-count 3\nport-zero 0\n"}, "discarded since the module was loaded: hop-count 3"),
])
def test_a_note(tmp_path, files, says):
    found = look(tmp_path, files=files)
    assert says in told(found, "note") and not status.is_wrong(found)


def test_queue_pairs(tmp_path):
    assert "QP0 of mlx5_0:1 is in state SQE" in told(look(tmp_path, QUEUE_PAIRS.replace("RTS", "SQE")))
    assert "has no QP0" in told(look(tmp_path, "[]"))
    without = look(tmp_path / "without", "[]", files={"/sys/class/infiniband_mad/issm0": None})
    assert told(without) == "" and "has no SMI" in told(without, "note")
    # Without the command, or with one that says something else, it is merely not known.
    for said in (None, "rdma: no such object"):
        assert look(tmp_path, said)["devices"][0]["ports"][0]["qp0"] is None


def test_a_port_of_ethernet_has_no_smi(tmp_path):
    files = {PORT + "/link_layer": "Ethernet\n", PORT + "/state": "1: DOWN\n", "/sys/class/infiniband_mad": None}
    assert told(look(tmp_path, "[]", files=files)) == ""


@pytest.mark.parametrize("umad", [True, False])
def test_a_port_without_smi(tmp_path, umad):
    """As Amazon's EFA has: neither InfiniBand nor Ethernet."""
    files_of_umad = ("/umad0", "/issm0") if umad else ("",)
    gone = {f"/sys/class/infiniband_mad{file}": None for file in files_of_umad}
    assert told(look(tmp_path / "efa", "[]", files={PORT + "/link_layer": "Unknown\n", **gone})) == ""
    # As one of InfiniBand can be, such as a virtual function's.
    problems = told(look(tmp_path / "ib", "[]", files=gone))
    assert "QP0" not in problems and ("ib_umad is not loaded" in problems) == (not umad)


def test_names_in_any_alphabet(tmp_path, monkeypatch):
    """What a command prints is bytes, and what a terminal has letters for is its own affair."""
    assert files.run_command("printf", r"a\377b") == "a\ufffdb"
    look(tmp_path, files={"/sys/class/infiniband/mlx5_0/node_desc": "caf\u00e9 \u2192\n"})
    monkeypatch.setattr(files, "Host", lambda: Host(tmp_path, lambda *words: QUEUE_PAIRS))
    monkeypatch.setattr(sys, "argv", ["ib-smi", "status"])
    out = io.TextIOWrapper(io.BytesIO(), encoding="iso8859-1")
    monkeypatch.setattr(sys, "stdout", out)
    command = Path(__file__).resolve().parents[1] / "ib-smi"
    assert runpy.run_path(str(command), run_name="ib-smi")["main"]() == 0
    assert "caf\u00e9 \\u2192".encode("iso8859-1") in out.buffer.getvalue()


def test_a_host_without_anything(tmp_path):
    found = status.status(Host(tmp_path, lambda *words: None))
    assert not status.is_wrong(found) and "no RDMA here" in told(found, "note")
    assert "devices     none" in "\n".join(status.lines(found))


def test_files_that_are_no_modules():
    for data in (b"", b"hello", b"\x7fELF\x02\x01" + bytes(58), b"\x7fELF\x02\x01" + b"\xff" * 90):
        assert elf.sections(data) == {} and elf.information(data) == {}
    for notes in (None, b"", b"\xff" * 11, struct.pack("<III", 4, 4, 1) + b"GNU\0abcd"):
        assert elf.build_id(notes) is None
    other = struct.pack("<III", 5, 2, 7) + b"name\0\0\0\0" + b"xx\0\0"
    assert elf.build_id(other + struct.pack("<III", 4, 4, 3) + b"GNU\0abcd") == b"abcd".hex()


def ask(guest, words="", before="", after=""):
    """The status of a guest: exit status and data."""
    _, out, err = guest.run(f"{before}\n{words} /src/scripts/ib-smi status --json; echo $?\n{after}")
    text, _, number = out.rstrip().rpartition("\n")
    assert number.isdigit(), out + err
    return int(number), json.loads(text)


def test_in_a_guest(guest_stock):
    number, found = ask(guest_stock)
    assert number == 0 and found["devices"] == [] and not found["module"]["loaded"]
    assert found["module"]["file"].endswith("ib_smi.ko")

    number, found = ask(guest_stock, before="insmod $MODULES/ibfabric.ko topology=pair 2>/dev/null || "
                        "{ modprobe ib_core; insmod $MODULES/ibfabric.ko topology=pair; }")
    assert number == 1
    assert "ib_umad is not loaded" in told(found) and "with the stock SMI the switches here (sw0)" in told(found)

    number, found = ask(guest_stock, before="modprobe ib_umad && /src/scripts/load")
    assert (number, told(found)) == (0, "")
    assert found["kernel"]["release"] == guest_stock.check("uname -r").strip()
    assert found["module"]["is_file"] is True and len(found["module"]["build_id"]) == 40
    (patch,) = found["livepatches"]
    assert patch["enabled"] and not patch["transition"]
    assert patch["objects"]["ib_core"]["patched"]
    assert {"agent_send_response", "local_completions", "smi_handle_dr_smp_recv", "smi_handle_dr_smp_send"} <= set(
        patch["objects"]["ib_core"]["functions"])
    order = [module["name"] for module in found["modules"]]
    assert order == ["ib_core", "ibfabric", "ib_umad", "ib_smi"]
    ports = {(device["name"], port["number"]): port for device in found["devices"] for port in device["ports"]}
    assert set(ports) == {("hca0", 1), ("hca1", 1), ("sw0", 0)}
    for port in ports.values():
        assert (port["state"], port["phys_state"], port["qp0"]) == ("ACTIVE", "LinkUp", "RTS")
        assert port["umad"].startswith("umad") and port["issm"].startswith("issm") and "40 Gb/sec" in port["rate"]
    assert [device["kind"] for device in found["devices"]] == ["CA", "CA", "switch"]
    assert found["tracing"]["events"] == dict.fromkeys(("discard", "forward", "recv", "reply", "send"), False)
    assert found["tracing"]["discards"] == {}
    assert "Nothing" not in guest_stock.check("/src/scripts/ib-smi status")


def test_what_is_wrong_in_a_guest(guest_stock):
    guest_stock.check("[ -d /sys/module/ib_smi ] || { modprobe ib_umad; insmod $MODULES/ibfabric.ko topology=pair; "
                      "/src/scripts/load; }")
    number, found = ask(guest_stock, before="/src/scripts/ibfabric down hca0:1", after="/src/scripts/ibfabric up hca0:1 >&2")
    assert number == 1 and "hca0:1 is DOWN" in told(found)

    number, found = ask(guest_stock, before="umount /sys/kernel/debug /sys/kernel/tracing",
                        after="mount -t debugfs nodev /sys/kernel/debug; mount -t tracefs nodev /sys/kernel/tracing")
    assert number == 1 and "tracefs is not mounted" in told(found) and "debugfs is not mounted" in told(found)

    # A byte of its build ID makes it another file.
    number, found = ask(
        guest_stock, words="MODULES=/tmp/other",
        before="mkdir -p /tmp/other; python3 - <<'END'\nimport os, pathlib\n"
        "import sys; sys.path.insert(0, '/src/scripts')\nfrom triage.host import elf\n"
        "data = pathlib.Path(os.environ['MODULES'], 'ib_smi.ko').read_bytes()\n"
        "own = bytes.fromhex(elf.build_id(elf.sections(data)['.note.gnu.build-id']))\n"
        "pathlib.Path('/tmp/other/ib_smi.ko').write_bytes(data.replace(own, own[:-1] + bytes([own[-1] ^ 1])))\nEND")
    assert number == 1 and "not the file /tmp/other/ib_smi.ko" in told(found)

    number, found = ask(guest_stock, before="/src/scripts/dr-smp -C hca0 --timeout 100 0,1,9 >/dev/null 2>&1\n"
                        "echo 1 >/sys/kernel/tracing/events/ib_smi/enable",
                        after="echo 0 >/sys/kernel/tracing/events/ib_smi/enable")
    assert number == 0 and found["tracing"]["discards"] == {"no-such-port": 1}
    assert all(found["tracing"]["events"].values())


@pytest.mark.long
def test_a_path_without_sbin_in_a_guest(guest_stock):
    """As a user's is, and that of who becomes root by a plain `su`."""
    _, _, err = guest_stock.run("[ ! -d /sys/module/ib_smi ] || /src/scripts/unload\n"
                                "export PATH=/usr/bin; /src/scripts/load && /src/scripts/unload")
    assert "ib_smi handles directed-route SMPs" in err and "ib_smi is unloaded" in err, err
    _, _, err = guest_stock.run("[ ! -d /sys/module/ibfabric ] || /src/scripts/ibfabric unload\n"
                                "export PATH=/usr/bin; /src/scripts/ibfabric gen ring 2 --load && "
                                "/src/scripts/ibfabric unload && echo done >&2")
    assert err.endswith("\ndone\n"), err


def test_a_subnet_manager_in_a_guest(guest_stock):
    guest_stock.check("[ -d /sys/module/ib_smi ] || { modprobe ib_umad; insmod $MODULES/ibfabric.ko topology=pair; "
                      "/src/scripts/load; }")
    number, found = ask(
        guest_stock, before="opensm -g 0x$(sed 's/://g; s/0$/1/' /sys/class/infiniband/hca0/node_guid) -f /tmp/osm.log "
        ">/dev/null 2>&1 & manager=$!\nfor try in $(seq 100); do [ $(cat /sys/class/infiniband/hca0/ports/1/sm_lid) != "
        "0x0 ] && break; sleep .2; done", after="kill $manager; wait $manager")
    (port,) = [device for device in found["devices"] if device["name"] == "hca0"][0]["ports"]
    assert number == 0 and port["is_sm"] and port["sm_lid"] == port["lid"]
    assert any(user.startswith("umad") and "opensm (" in user for user in port["users"])
    assert any(user.startswith("issm") and "opensm (" in user for user in port["users"])


def test_no_room_for_the_output(guest_stock):
    assert guest_stock.run("/src/scripts/ib-smi status >/dev/full 2>/tmp/err; echo $?; cat /tmp/err")[1].splitlines() == [
        "1", "ib-smi: [Errno 28] No space left on device"]


def test_another_user_in_a_guest(guest_stock):
    text = guest_stock.run("setpriv --reuid nobody --clear-groups /src/scripts/ib-smi status")[1]
    assert "events told to root alone" in text
    number, found = ask(guest_stock, words="setpriv --reuid nobody --clear-groups")
    assert number in (0, 1) and "may be read by this user" in told(found, "note")
    status_, _, err = guest_stock.run("/src/scripts/ib-smi")
    assert status_ == 2 and "COMMAND" in err
