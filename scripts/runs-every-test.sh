#!/usr/bin/env bash
# Whether every test can run here, so that none may be skipped: as root of a Debian on x86-64 with perf events and
# namespaces. Its exit status is the answer.
[ "$(id -u)" = 0 ] && [ "$(uname -m)" = x86_64 ] && grep -qx 'ID=debian' /etc/os-release &&
  [ "$(cat /proc/sys/kernel/perf_event_paranoid)" ] && unshare --net --pid --fork true
