// One JSON line for every request: who asked what, and how it ended. Never what was sent or answered.
import { pino } from "pino";
import type { DestinationStream, Logger } from "pino";

/** What the door needs of a log; a pino logger is one. */
export interface DoorLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** @param destination where the lines go; standard output when left out */
export function createDoorLog(destination?: DestinationStream): Logger {
  // No redaction: it costs as much as the line itself, and no line is ever built from headers or bodies.
  const options = { base: null, formatters: { level: (label: string) => ({ level: label }) } };
  return destination === undefined ? pino(options) : pino(options, destination);
}

export const noLog: DoorLog = { info: () => undefined, error: () => undefined };
