#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# An administrator's way with a board and its services, and what systemd makes of it: found by udev, tested,
# served, killed, hung, unplugged, plugged in again, stopped.
daemon=fcm-server@0.service
selftest=nanet3-selftest@0.service
device='dev-nanet3\x2d0.device'
limit=60
n=0
ok() {
	if [ "$1" = 0 ]; then result=ok; else result="not ok"; fi
	n=$((n + 1))
	echo "$result $n - $2"
}
# until_true COMMAND ...: true as soon as the command is; limited
until_true() {
	left=$limit
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 1
	done
}
get() { systemctl show -P "$2" "$1"; }
is() { [ "$(get "$1" "$2")" = "$3" ]; }
was_tested() { is $selftest ActiveState active && is $selftest SubState exited; }
new_life() { is $daemon ActiveState active && [ "$(get $daemon MainPID)" != "$1" ]; }
fcm() { fcmctl --board 0 "$@"; }
links_up() { [ "$(fcm --json status 2>/dev/null | grep -o '"state": *"up"' | wc -l)" -ge 4 ]; }
# How often each link's DMA was begun, and how often its ring was taken over.
ring() { sed -n "s/.*[ ,]$1 \([0-9]*\).*/\1/p" /sys/kernel/debug/nanet3/nanet3-0/state | head -n 4 | tr '\n' ' '; }
# Entries of the daemon with these fields.
journal() { journalctl -q --no-pager -o json _SYSTEMD_UNIT=$daemon "$@"; }
sysfs() { readlink -f /sys/class/nanet3/nanet3-0/device; }

echo 1..49
mkdir -p /tmp/systemd

# udev: the module by its alias (nothing else here loads one), the node, the unit, the test.
until_true [ -c /dev/nanet3-0 ]
ok $? "udev has loaded the module"
[ "$(cat /sys/module/nanet3/parameters/depth_ms)" = 400 ]
ok $? "with the parameters of modprobe.d"
has_mode() { [ "$(stat -c '%U %G %a' "$1")" = "$2" ]; }
until_true has_mode /dev/nanet3-0 "root nanet3 660"
ok $? "the node is group nanet3's"
until_true is "$device" ActiveState active
ok $? "the board is a unit of systemd's"
wanted_by() { systemctl show -p WantedBy -p RequiredBy -p TriggeredBy --value "$1" | tr -s '\n ' ' '; }
until_true was_tested && wanted_by $selftest | grep -q '\.device' &&
	! wanted_by $selftest | grep -Eq '\.(target|service|timer)'
ok $? "the self-test has run, wanted by nobody but the board: $(wanted_by $selftest)"
[ "$(get $selftest Result) $(get $selftest ExecMainStatus)" = "success 0" ]
ok $? "and was passed"
journalctl -q --no-pager -o cat _SYSTEMD_UNIT=$selftest | sed 's/^/# /'
is $selftest DynamicUser yes && is $selftest LimitMEMLOCK 1048576 && is $selftest CapabilityBoundingSet "" &&
	get $selftest SystemCallFilter | grep -qw ioctl
ok $? "as a user of its own, with 1 MB to pin, no capability, few system calls"
first_test=$(get $selftest InvocationID)

# The daemon, as README.md says.
grep -q '^fcm:.*:/var/lib/fcm-server:' /etc/passwd && id fcm | grep -q nanet3
ok $? "user fcm is there and may open boards"
cp /usr/share/doc/fcm-server/example.conf /etc/fcm-server/board-0.conf
fcm-server --board 0 --check-config >/tmp/said 2>&1
ok $? "the example is a configuration: $(tail -n 1 /tmp/said)"
systemctl enable --now $daemon 2>/tmp/said
ok $? "systemctl enable --now comes back: it is ready"
sed 's/^/# /' /tmp/said
is $daemon ActiveState active && is $daemon Type notify
ok $? "and active"
first=$(get $daemon MainPID)
has_status() { grep -Eq "^$1:[[:space:]]*$2\$" "/proc/$first/status"; }
[ "$(stat -c %U "/proc/$first")" = fcm ] && has_status CapEff 0+ && has_status CapBnd 0+ &&
	has_status NoNewPrivs 1 && has_status Seccomp 2
ok $? "user fcm, no capability, nothing to gain, its system calls filtered"
grep -q "^Max core file size  *0  *0 " "/proc/$first/limits"
ok $? "no core file with its keys"
get $daemon SystemCallFilter | grep -qw clock_adjtime
ok $? "but not the question whether the system clock is synchronised"
has_mode /run/fcm-server/0 "fcm fcm 751" && has_mode /var/lib/fcm-server/0 "fcm fcm 750" &&
	[ -s /var/lib/fcm-server/0/station.db ]
ok $? "its directories are its own"
[ "$(get $selftest InvocationID)" = "$first_test" ]
ok $? "a test that was passed is not repeated"
until_true links_up
ok $? "fcmctl finds it; four links are up"
su -s /bin/sh fcm -c 'fcmctl --board 0 --json status' 2>&1 | grep -q '"state"'
ok $? "group fcm may operate it"
! su -s /bin/sh nobody -c 'fcmctl --board 0 --json status' >/tmp/said 2>&1 && ! grep -q '"state"' /tmp/said
ok $? "others may not"

# The page and the notices: readers, as fcm-page(8) says.
page=fcm-page@0.service notify=fcm-notify@0.service
mkdir -p /etc/fcm-server/board-0.conf.d
printf '[control]\nexpert_group = fcm-expert\nreader_group = fcm-reader\n' >/etc/fcm-server/board-0.conf.d/roles.conf
systemctl reload $daemon
systemctl start $page
fetched() { timeout 30 wget -q -O - "http://127.0.0.1:5770$1" >/tmp/systemd/fetched; }
until_true fetched / && grep -q "<html" /tmp/systemd/fetched
ok $? "the page is served"
has_news() { timeout 5 wget -q -O /tmp/systemd/live http://127.0.0.1:5770/live; grep -q '"word":' /tmp/systemd/live; }
until_true has_news
ok $? "it is a reader of the control socket"
until_true fetched /past/run.show && grep -q '"current"' /tmp/systemd/fetched
ok $? "and of the database: $(cut -c 1-100 /tmp/systemd/fetched)"
is $page DynamicUser yes && is $page NoNewPrivileges yes && is $page CapabilityBoundingSet ""
ok $? "as a user of its own who can become nobody else"
printf '[receiver all]\nprogram = /bin/true\nlevel = warning\n' >/etc/fcm-server/notify-0.conf
systemctl start $notify
until_true fcm notify test >/tmp/said 2>&1
ok $? "a test reaches the receiver of the notices: $(head -n 1 /tmp/said)"
has_mode /var/lib/fcm-notify/0 "fcm-notify fcm-notify 700" && [ -s /var/lib/fcm-notify/0/notices.json ]
ok $? "whose book is its own"
systemctl stop $page $notify
rm -r /etc/fcm-server/board-0.conf.d
systemctl reload $daemon
systemctl status --no-pager $daemon >/tmp/systemd/status.txt 2>&1
grep -q 'Status: ".*links.*"' /tmp/systemd/status.txt
ok $? "systemctl status tells its:$(sed -n 's/.*Status://p' /tmp/systemd/status.txt)"
fed=$(get $daemon WatchdogTimestampMonotonic)
fed_again() { [ "$(get $daemon WatchdogTimestampMonotonic)" -gt "$fed" ]; }
grep -q '^WatchdogSec=' "$(get $daemon FragmentPath)" && until_true fed_again # its time is a drop-in's here
ok $? "its watchdog is set and fed"

# What it says carries fields.
journal MESSAGE_ID=ba488ad57c43495483266ed09bf059d4 | grep '"FCM_BOARD":"0"' | grep -q '"FCM_OBJECT":"fcm-server"'
ok $? "the journal has its start, with board and object"
[ "$(journal MESSAGE_ID=7a706cab15b54be2a3ba57d8eff9fa25 FCM_LINK=2 | grep -c '"PRIORITY":"5"')" = 1 ]
ok $? "and each link's rings"

# Killed, it is back by itself; the rings have gone on.
epochs=$(ring epoch) takeovers=$(ring takeovers)
kill -9 "$first"
until_true new_life "$first"
ok $? "after kill -9 there is a new one"
until_true links_up
is $daemon NRestarts 1 && [ "$(ring epoch)" = "$epochs" ] && [ "$(ring takeovers)" != "$takeovers" ]
ok $? "it has taken the rings over: epochs $epochs-> $(ring epoch), takeovers $takeovers-> $(ring takeovers)"
journal MESSAGE_ID=7a706cab15b54be2a3ba57d8eff9fa25 _PID="$(get $daemon MainPID)" |
	grep -c "ring taken over" | grep -q 4
ok $? "and says so, for all four"

# Killed again and again, while a local user wants the port of the consumers.
ok_kept() { [ "$(get $daemon NFileDescriptorStore)" = 2 ]; }
ok_kept
ok $? "its listening sockets are kept: $(get $daemon NFileDescriptorStore)"
wanted() { cat /tmp/wanted; }
echo 0 >/tmp/wanted
chmod 666 /tmp/wanted
# nc waits for a connection as soon as it has the port: the count goes on only while it never has.
su -s /bin/sh nobody -c 'n=0
	until nc -l -p 5710 </dev/null >/dev/null 2>&1; do
		n=$((n + 1))
		echo $n >/tmp/wanted
		usleep 20000
	done' &
squatter=$!
back=0
for i in 1 2 3 4 5; do
	killed=$(get $daemon MainPID)
	kill -9 "$killed"
	until_true new_life "$killed" && back=$((back + 1))
done
[ $back = 5 ]
ok $? "killed five times more, it is back each time: $back"
before=$(wanted)
wants_on() { [ "$(wanted)" -gt $((before + 1)) ]; }
timeout 5 su -s /bin/sh nobody -c 'exec nc -l -p 5799' </dev/null >/dev/null 2>&1
[ $? -ge 124 ] && until_true wants_on # a free port he does get
ok $? "a local user who wanted its port never got it, in $(wanted) tries"
kill $squatter
until_true links_up && ! fcm --json status | grep -q door-not-open && ok_kept
ok $? "all its doors are open"

# Hung, it is ended and comes back.
hung=$(get $daemon MainPID)
kill -STOP "$hung"
until_true new_life "$hung"
ok $? "one that hangs is replaced"
journalctl -q --no-pager -o cat UNIT=$daemon | grep -q "Failed with result 'watchdog'"
ok $? "by the watchdog"

# The board leaves and comes back.
until_true links_up
before=$(get $daemon InvocationID)
echo 1 >"$(sysfs)/remove"
gone() { is $daemon ActiveState inactive && is $selftest ActiveState inactive && ! [ -e /dev/nanet3-0 ]; }
until_true gone
ok $? "no board, no daemon"
is $daemon Result success
ok $? "it was stopped, it did not fail: $(get $daemon Result)"
echo 1 >/sys/bus/pci/rescan
until_true was_tested && [ "$(get $selftest InvocationID)" != "$first_test" ] && is $selftest Result success
ok $? "the board is back and has been tested again"
until_true is $daemon ActiveState active && [ "$(get $daemon InvocationID)" != "$before" ] && until_true links_up
ok $? "and the daemon is back with it"

# Stopped, it stays so.
systemctl stop $daemon
[ "$(get $daemon ActiveState) $(get $daemon Result) $(get $daemon ExecMainStatus)" = "inactive success 0" ]
ok $? "systemctl stop: $(get $daemon ActiveState) $(get $daemon Result) $(get $daemon ExecMainStatus)"
journal MESSAGE_ID=32f6ea023fd94bc2a34184f7c7f37a87 | grep -q '"FCM_BOARD":"0"'
ok $? "the journal has its end"

# A mistake in the configuration is not tried again.
mkdir -p /etc/fcm-server/board-0.conf.d
printf '[data]\nblock_frames = 7\n' >/etc/fcm-server/board-0.conf.d/wrong.conf
! systemctl start $daemon 2>/dev/null
has_failed() { is $daemon ActiveState failed && is $daemon ExecMainStatus 78 && is $daemon NRestarts 0; }
until_true has_failed
ok $? "wrongly configured: $(get $daemon ActiveState), $(get $daemon ExecMainStatus), restarts $(get $daemon NRestarts)"
rm -r /etc/fcm-server/board-0.conf.d
systemctl reset-failed $daemon
systemctl --failed --no-legend >/tmp/systemd/failed.txt
! [ -s /tmp/systemd/failed.txt ]
ok $? "no unit of this machine has failed: $(cut -c 1-100 /tmp/systemd/failed.txt | tr '\n' ' ')"

systemd-analyze verify --man=no --recursive-errors=yes $daemon $selftest >/tmp/said 2>&1
ok $? "systemd-analyze verify has nothing to say"
sed 's/^/# /' /tmp/said
secure() { systemd-analyze security --no-pager --threshold="$2" "$1" >"/tmp/systemd/security-$1.txt" 2>&1; }
exposure() { sed -n 's/.*Overall exposure[^:]*: //p' "/tmp/systemd/security-$1.txt"; }
secure $daemon 25
ok $? "systemd-analyze security of the daemon: $(exposure $daemon)"
secure $selftest 15
ok $? "and of the self-test: $(exposure $selftest)"

# journalctl -x shows what an incident means and what to do.
journalctl --update-catalog
code=$(journal | sed -n 's/.*"FCM_CODE":"\([^"]*\)".*/\1/p' | head -n 1)
journalctl -q --no-pager -x FCM_CODE="${code:-none}" | grep -m 1 -A 9 "Subject: $code of" >/tmp/said
ok $? "journalctl -x explains incidents: ${code:-none has begun}"
sed 's/^/# /' /tmp/said
journalctl -q --no-pager -o short-monotonic >/tmp/systemd/journal.txt
