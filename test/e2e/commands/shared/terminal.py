"""Runs a command at a pseudo-terminal: waits for each text and then types, and tells what the screen has shown."""
import json
import os
import pty
import sys

script = json.load(sys.stdin)
pid, terminal = pty.fork()
if pid == 0:
    os.execvpe(script["argv"][0], script["argv"], script["env"])

screen = b""
position = 0
for expected, typed in script["dialogue"]:
    while expected.encode() not in screen[position:]:
        chunk = os.read(terminal, 65536)
        if not chunk:
            break
        screen += chunk
    position = screen.index(expected.encode(), position) + len(expected.encode())
    os.write(terminal, typed.encode())
while True:
    try:
        chunk = os.read(terminal, 65536)
    except OSError:
        break
    if not chunk:
        break
    screen += chunk
_, status = os.waitpid(pid, 0)
print(json.dumps({"exitCode": os.waitstatus_to_exitcode(status), "screen": screen.decode()}))
