// What runs first in a box: it says that the box is ready, waits until somebody wants it, and becomes the tool.
import type { BoxSpec } from "../../types.ts";
import { fds, type NativeHost } from "./types.ts";

/** Where things of ours stand in a box. */
export const inside = {
  own: "/run/signalbox",
  bin: "/run/signalbox/bin",
  starters: "/run/signalbox/start",
  egress: "/run/signalbox/egress.sock",
  package: "/package",
  guest: "/guest",
} as const;

/** Nobody wanted the box: its worker is gone. */
export const unwantedCode = 125;

const node = `"use strict";
const fs = require("node:fs");
fs.writeSync(${fds.events}, "ready\\n");
if (fs.readSync(${fds.go}, Buffer.alloc(1)) !== 1) process.exit(${unwantedCode});
fs.closeSync(${fds.go});
process.argv.splice(1, 1);
require("node:module").runMain();
`;

const python = `import os, runpy, sys
os.write(${fds.events}, b"ready\\n")
if not os.read(${fds.go}, 1):
    os._exit(${unwantedCode})
os.close(${fds.go})
del sys.argv[0]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
`;

const shell = `echo ready >&${fds.events}; read -r go <&${fds.go} || exit ${unwantedCode}; exec ${fds.go}<&-; exec "$@"`;

/** Files below `inside.starters`. */
export const starterFiles = { "node.cjs": node, "python.py": python } as const;

/**
 * The command that the box begins with.
 * @throws Error when this host has not what the runtime needs
 */
export function commandOf(spec: BoxSpec, host: NativeHost): readonly string[] {
  const command = runtimeCommand(spec, host);
  const before = [
    // Counted in the box's own user namespace, so that what else this user runs does not count.
    ...(host.layout.mode === "none" ? [holdProcesses(spec.limits.pids)] : []),
    ...(spec.egressSocket === null ? [] : [bridge]),
  ];
  return before.length === 0 ? command : ["/bin/sh", "-c", `${before.join("\n")}\nexec "$@"`, "signalbox", ...command];
}

/** Where tools that know HTTP proxies find the egress gateway; others dial its socket. */
export const bridgePort = 3_128;
/** In hexadecimal, as /proc/net/tcp lists who listens. */
const bridgePortHex = bridgePort.toString(16).toUpperCase().padStart(4, "0");
const bridge = `command -v socat >/dev/null || { echo "socat is not installed on this host: apt-get install -y socat" >&2; exit 126; }
socat TCP-LISTEN:${bridgePort},bind=127.0.0.1,reuseaddr,fork UNIX-CONNECT:${inside.egress} <&- >/dev/null 2>&1 ${fds.result}>&- ${fds.events}>&- ${fds.go}<&- &
until grep -q ':${bridgePortHex} .* 0A ' /proc/net/tcp; do kill -0 $! || exit 126; done`;

/** One more than the limit, so that reaching it can be seen; process 1 counts too. Shells name the limit differently. */
const holdProcesses = (pids: number): string =>
  `{ ulimit -u ${pids + 2} || ulimit -p ${pids + 2}; } 2>/dev/null || exit 126`;

function runtimeCommand(spec: BoxSpec, host: NativeHost): readonly string[] {
  const entry = `${inside.package}/${spec.entry}`;
  if (spec.runtime === "exec") return ["/bin/sh", "-c", shell, "signalbox", entry];
  if (spec.runtime === "python") {
    if (host.pythonPath === null)
      throw new Error("there is no Python below /usr on this host; install it with: apt-get install python3-minimal");
    return [host.pythonPath, "-I", "-u", "-B", `${inside.starters}/python.py`, entry];
  }
  if (host.nodePath === null) throw new Error(`the runtime ${spec.runtime} needs a Node binary, and none was given`);
  const nodeInside = `${inside.bin}/node`;
  const starter = `${inside.starters}/node.cjs`;
  if (spec.runtime === "node") return [nodeInside, starter, entry];
  const guest = host.guests[spec.runtime];
  if (guest === undefined) throw new Error(`no guest for the runtime ${spec.runtime} was given to the native backend`);
  const main = `${inside.guest}/${guest.entry}`;
  return [nodeInside, ...guest.nodeArgs, ...(guest.parksItself ? [] : [starter]), main, spec.entry];
}
