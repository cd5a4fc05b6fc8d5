// `signalbox doctor`: tries every isolation backend on this machine, says what works, and which command brings the rest.
import type { Command } from "commander";
import { exitCodes } from "../exit-codes.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { probeLine } from "./worker.ts";

interface DoctorFlags {
  readonly acceptWatchedLimits?: boolean;
}

export function addDoctor(program: Command, runs: Runs): void {
  const doctor = program
    .command("doctor")
    .description("try every kind of box on this machine, and say what is missing")
    .option("--accept-watched-limits", "count native boxes without control groups as working");
  runs.offline<DoctorFlags>(doctor, examine);
}

/** Exits with 1 where no box works at all: then no sandbox tool can run here. */
async function examine(session: Session, _args: readonly string[], flags: DoctorFlags): Promise<Outcome> {
  const { makeBackends, probeAll } = await session.io.boxes();
  const backends = makeBackends({
    log: (message) => session.remark(message),
    ...(flags.acceptWatchedLimits === true ? { allowBestEffortLimits: true } : {}),
  });
  const probes = await probeAll(backends.all);
  await backends.close();
  const works = Object.values(probes).some(({ ok }) => ok);
  session.print({ boxes: probes, later }, () => {
    const lines = Object.entries(probes).map(([name, probe]) => probeLine(name, probe));
    const missing = later.map((name) => `${name.padEnd(8)} is not part of this version`);
    return `${[...lines, ...missing].join("\n")}\n`;
  });
  if (!works)
    session.remark(
      "no box works here: sandbox tools are refused with sandbox_unavailable, and nothing runs without one",
    );
  return works ? exitCodes.ok : exitCodes.failed;
}

/** Backends that the manifest format knows and that come later. */
const later = ["container", "gvisor", "microvm"] as const;
