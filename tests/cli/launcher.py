"""Starts a command and reports what it took, to the file descriptor that is its first argument.

The peak memory of a process counts from that of the process that forked it: a large test process cannot measure a small
command, and this one is small.
"""

import os
import sys

report, command = int(sys.argv[1]), sys.argv[2:]
os.set_inheritable(report, False)
child = os.fork()
if child == 0:
    os.execvp(command[0], command)  # noqa: S606 - the command of a test
_, status, usage = os.wait4(child, 0)
os.write(report, f"{status} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss}".encode())
