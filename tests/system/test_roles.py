#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Roles of this machine's users on the control socket, by their groups: real users of real groups, as root can make
them. Who may what; who is in no group; groups that change, that are missing, or that nobody has configured."""
import grp
import json
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

# Groups that every Debian has; nobody of them is anybody's here.
EXPERTS, SHIFTERS, READERS = "adm", "users", "games"
ROLES = {EXPERTS: "expert", SHIFTERS: "operator", READERS: "reader"}


def gid(name):
    return grp.getgrnam(name).gr_gid


def as_user(uid, group, *more):
    """What runs a command as a user of these groups."""
    return ["setpriv", "--reuid", str(uid), "--regid", str(group), "--no-new-privs",
            *(["--groups", ",".join(map(str, more))] if more else ["--clear-groups"])]


def started(t, *config):
    st = t.station(load="quiet", truth=False, config=["[control]", *config])
    os.chmod(os.path.dirname(st.dir), 0o711)
    os.chmod(st.dir, 0o711)
    shutil.copy(st.program("fcmctl"), st.path("fcmctl"))  # where every user can run it
    st.start()
    st.wait_ready()
    return st


def fcmctl(st, user, *words):
    r = subprocess.run([*user, st.path("fcmctl"), "--socket", st.path("control.sock"), *words], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, timeout=60, check=False, cwd="/")
    return r.returncode, r.stdout, r.stderr


def role(st, user):
    code, out, err = fcmctl(st, user, "--json", "status")
    return json.loads(out)["you"]["role"] if code in (0, 1) and '"you"' in out else (code, err)


def events(st, word):
    return [e for e in st.ask("event", "list", "--limit", "100")["events"] if e["code"] == "access-refused" and
            word in e["text"]]


GROUPS = [f"expert_group = {EXPERTS}", f"socket_group = {SHIFTERS}", f"reader_group = {READERS}"]


def roles(t):
    """each group has its role, by the login group or any other; who is in none is refused, and told so"""
    if os.geteuid() != 0:
        return own_role(t)
    st = started(t, *GROUPS)
    t.equal("everybody may knock", os.stat(st.path("control.sock")).st_mode & 0o777, 0o666)
    for group, name in ROLES.items():
        t.equal(f"{name} by the first group", role(st, as_user(20000, gid(group))), name)
        t.equal(f"{name} by another", role(st, as_user(20000, 20000, 20000, gid(group))), name)
    t.equal("the best of several counts", role(st, as_user(20000, gid(READERS), gid(EXPERTS), gid(SHIFTERS))), "expert")
    t.equal("root is an expert", role(st, []), "expert")
    expert, shifter, reader = (as_user(20000 + n, gid(g)) for n, g in enumerate(ROLES))
    out = fcmctl(st, shifter, "status", "-v")[1]
    t.check("status tells who one is", "you       uid 20001, operator\n" in out, out)
    code, out, err = fcmctl(st, reader, "set", "floor1.om0.threshold", "21", "--yes")
    t.check("a reader sets nothing", code == 1 and "param.set: that is for operators; uid 20002 is a reader" in err and
            "[control]" in err, (code, out, err))
    st.wait_for("that is in the journal", lambda: [(c["who"], c["uid"]) for c in st.ask("command", "list")["commands"]
                                                   if c["state"] == "REFUSED"] == [("uid 20002", 20002)])
    t.equal("nor begins a run", fcmctl(st, reader, "run", "start")[0], 1)
    t.equal("nor makes safe", fcmctl(st, reader, "safe", "--dry-run")[0], 1)
    t.equal("an operator does", [fcmctl(st, shifter, *w)[0] for w in (("run", "start"), ("safe", "--dry-run"))], [0, 0])
    code, out, err = fcmctl(st, shifter, "phase", "accept", "0", "--reason", "x", "--dry-run")
    t.check("what is for experts is not for an operator", code == 1 and "that is for experts; uid 20001 is an operator" in err,
            (code, out, err))
    t.equal("but for an expert", fcmctl(st, expert, "phase", "accept", "0", "--reason", "x", "--dry-run")[0], 0)
    code, out, err = fcmctl(st, as_user(20007, 20007), "status")
    t.check("who is in no group is told so, and what to do", code == 1 and "you are in none of the groups" in err and
            "reader_group" in err, (code, out, err))
    st.wait_for("an event names him", lambda: events(st, "20007"), 10)
    t.check("and counts", st.status()["control"]["strangers"] >= 1, st.status()["control"])
    st.stop()


def own_role(t):
    """Without root there is one user only."""
    st = started(t, f"reader_group = {grp.getgrgid(os.getegid()).gr_name}", f"expert_group = {EXPERTS}")
    t.equal("by one's own group", role(st, []), "operator")  # socket_group is the daemon's own, which is the same
    st.stop()


def reloaded(t):
    """a reload takes over groups, for those who are connected too; one with a mistake leaves all as it was"""
    if os.geteuid() != 0:
        return own_role(t)
    st = started(t, *GROUPS)
    reader = as_user(20002, gid(READERS))
    with socket.socket(socket.AF_UNIX) as s:
        # Of a child with that group: its credentials go with the connection.
        connected = subprocess.Popen([*reader, sys.executable, "-c", "import socket, sys\ns = socket.socket(socket.AF_UNIX)\n"
                                      "s.connect(sys.argv[1])\nprint('here', flush=True)\nprint(s.makefile().readline())",
                                      st.path("control.sock")], stdout=subprocess.PIPE, text=True, cwd="/")
        connected.stdout.readline()
        s.connect(st.path("control.sock"))

        def reload(*config):
            st.config[1:] = config
            st.write_config()
            st.daemon.signal(signal.SIGHUP)
        reload(GROUPS[0], GROUPS[1], "reader_group = no-such-group")
        st.wait_for("the mistake is logged", lambda: "reader_group = no-such-group: there is no such group" in st.daemon.tail(50))
        t.equal("all is as it was", role(st, reader), "reader")
        code = subprocess.run([st.program("fcm-server"), "--check-config", "--config", st.path("board.conf")], check=False,
                              capture_output=True, text=True)
        t.check("--check-config says it, and what to do", code.returncode == 78 and "no-such-group" in code.stderr and
                "groupadd" in code.stderr, code)
        reload(GROUPS[0], GROUPS[1], f"reader_group = {EXPERTS}")
        said = json.loads(connected.stdout.readline())
        t.equal("who is in no group any more is cut off, with a word", said["error"]["detail"], "role")
        connected.wait(20)
        t.check("and does not come in again", role(st, reader) not in ROLES.values())
        reload()
        st.wait_for("without roles the socket is for its group", lambda:
                    os.stat(st.path("control.sock")).st_mode & 0o777 == 0o660)
        s.sendall(b'{"v":2,"id":1,"op":"info"}\n')
        t.check("root's connection is still there", b'"role":"expert"' in s.recv(4096))
    st.stop()
    st.config[1:] = ["expert_group = no-such-group"]
    st.write_config()
    st.launch_daemon()
    st.daemon.popen.wait(30)
    t.check("it does not start with a group that there is not", "expert_group = no-such-group" in st.daemon.tail(5),
            st.daemon.tail(5))


def one_group(t):
    """socket_group alone: its members and root are experts, everybody else is refused with a word"""
    if os.geteuid() != 0:
        return own_role(t)
    st = started(t, f"socket_group = {SHIFTERS}")
    made = os.stat(st.path("control.sock"))
    t.equal("everybody may connect; the file keeps the daemon's group", (made.st_mode & 0o777, made.st_gid), (0o666, os.getegid()))
    t.equal("a member is an expert", role(st, as_user(20000, 20000, gid(SHIFTERS))), "expert")
    t.equal("so is root", role(st, []), "expert")
    code, out, err = fcmctl(st, as_user(20007, 20007), "status")
    t.check("a stranger is refused, and told what to do", code == 1 and "you are in none of the groups" in err and
            "socket_group" in err, (code, out, err))
    st.wait_for("an event names him", lambda: events(st, "20007"), 10)
    st.stop()


def unset(t):
    """nobody has configured roles: all who may use the socket are experts, which is said at the start"""
    st = started(t)
    warning = "every user who can connect to"
    t.check("the log warns", warning in st.daemon.tail(500) and "expert_group" in st.daemon.tail(500), st.daemon.tail(20))
    t.equal("the socket is its group's", os.stat(st.path("control.sock")).st_mode & 0o777, 0o660)
    t.equal("an expert", role(st, []), "expert")
    out = st.ctl("status", "-v")[1]
    t.check("status says that it is by no role", "expert as all who may use the control socket" in out, out)
    st.stop()


if __name__ == "__main__":
    harness.main([roles, reloaded, one_group, unset])
