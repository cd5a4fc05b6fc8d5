// The process's log on standard error: one JSON line each, a readable line for people, or nothing.
import { pino } from "pino";
import type { Log } from "../../corridor/ports.ts";

export type LogForm = "json" | "pretty" | "silent";

const nothing: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function createLog(form: LogForm): Log {
  if (form === "silent") return nothing;
  if (form === "json") {
    return pino({ base: null, formatters: { level: (label) => ({ level: label }) } }, pino.destination({ fd: 2, sync: false }));
  }
  const line =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void => {
      const facts = Object.entries(fields).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
      process.stderr.write(`${level} ${message} ${facts.join(" ")}\n`);
    };
  return { info: line(" "), warn: line("!"), error: line("✗") };
}
