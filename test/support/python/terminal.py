"""Runs a command on a terminal of its own: what comes in is typed there, what it shows goes out."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

ROWS, COLUMNS = 40, 100
PIECE = 65536


def copy(source: int, target: int) -> bool:
    """False when there is nothing more to copy."""
    try:
        piece = os.read(source, PIECE)
    except OSError:
        # Linux says so when the last process on a terminal has gone.
        return False
    if not piece:
        return False
    os.write(target, piece)
    return True


def main() -> int:
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    os.kill(child, signal.SIGWINCH)
    sources = [terminal, 0]
    while terminal in sources:
        ready, _, _ = select.select(sources, [], [])
        for source in ready:
            target = 1 if source == terminal else terminal
            if not copy(source, target):
                sources.remove(source)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


sys.exit(main())
