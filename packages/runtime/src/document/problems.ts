// Problems of a document as data, collected all at once so that an author fixes it in one go.
import { documentBounds } from "./bounds.ts";

export interface Problem {
  /** Where: `spec.executor.runtime`, `spec.input#/properties/a`; empty for the document itself. */
  readonly path: string;
  readonly message: string;
  /** The next step, where one can be named. */
  readonly hint?: string;
}

/** What a reader finds on its way; problems refuse the document, warnings do not. */
export interface Notes {
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

export const newNotes = (): Notes => ({ problems: [], warnings: [] });

function note(list: Problem[], path: string, message: string, hint?: string): void {
  if (list.length >= documentBounds.problemsMax) return;
  list.push(hint === undefined ? { path, message } : { path, message, hint });
}

export function refuse(notes: Notes, path: string, message: string, hint?: string): void {
  note(notes.problems, path, message, hint);
}

export function warn(notes: Notes, path: string, message: string, hint?: string): void {
  note(notes.warnings, path, message, hint);
}

/** `spec` + `limits` → `spec.limits`; keys that are no plain names stand in brackets, long ones are cut. */
export function under(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  const shown = key.length > 80 ? `${key.slice(0, 80)}…` : key;
  if (!/^[A-Za-z_$][A-Za-z0-9_$-]*$/.test(shown)) return `${path}[${JSON.stringify(shown)}]`;
  return path === "" ? shown : `${path}.${shown}`;
}

/** A value as it may stand in a message: short, on one line. */
export function shown(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  return typeof value === "undefined" ? "nothing" : `a ${typeof value}`;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
