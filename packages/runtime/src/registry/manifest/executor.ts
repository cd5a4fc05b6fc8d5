// Reads `spec.executor`: who runs the tool. Whether this runtime can run it yet is the caller's question.
import { bounds } from "../bounds.ts";
import { readPart } from "../../document/header.ts";
import { isRecord, refuse, under, type Notes } from "../../document/problems.ts";
import type { Executor } from "../types.ts";
import {
  field,
  readChoice,
  readFields,
  readInteger,
  readRequiredText,
  readText,
  type Fields,
} from "../../document/fields.ts";
import { image, readAbsolutePath, readInnerPath, readNamedVersion, remoteToolName, toolName } from "./rules.ts";

const keysByType = {
  worker: ["type"],
  sandbox: ["type", "runtime", "entry", "image", "min", "result"],
  mcp: ["type", "server", "tool"],
  agent: ["type", "agent"],
} as const satisfies Record<Executor["type"], readonly string[]>;

const types = ["worker", "sandbox", "mcp", "agent"] as const;
const runtimes = ["js", "node", "python", "wasm", "exec"] as const;

export function readExecutor(value: unknown, path: string, notes: Notes): Executor | undefined {
  const allKeys = [...new Set(Object.values(keysByType).flat())];
  if (!isRecord(value)) {
    readFields(value, path, allKeys, notes);
    return undefined;
  }
  const given = field(value, "type");
  const here = under(path, "type");
  if (given === undefined) refuse(notes, here, "is required", `one of ${types.join(", ")}`);
  const type = given === undefined ? undefined : readChoice(given, here, types, notes);
  // Without a type, only what no type knows is surely wrong.
  const fields = readFields(value, path, type === undefined ? allKeys : keysByType[type], notes);
  if (fields === undefined || type === undefined) return undefined;
  if (type === "worker") return { type };
  if (type === "sandbox") return readSandbox(fields, path, notes);
  if (type === "mcp") {
    const server = readRequiredText(fields, "server", path, toolName, notes);
    const tool = readRequiredText(fields, "tool", path, remoteToolName, notes);
    return server === undefined || tool === undefined ? undefined : { type, server, tool };
  }
  const agent = readPart(fields, "agent", path, notes, (one, at) => readNamedVersion(one, at, notes, true));
  return agent === undefined ? undefined : { type, agent };
}

function readSandbox(fields: Fields, path: string, notes: Notes): Executor | undefined {
  const runtime = readPart(fields, "runtime", path, notes, (one, at) => readChoice(one, at, runtimes, notes));
  const given = field(fields, "image");
  const pinned = given === undefined ? undefined : readText(given, under(path, "image"), image, notes);
  // An image brings its own file system, so its entry may be an absolute path.
  const entry = readPart(fields, "entry", path, notes, (one, at) =>
    given !== undefined && typeof one === "string" && one.startsWith("/")
      ? readAbsolutePath(one, at, notes)
      : readInnerPath(one, at, notes),
  );
  const rank = field(fields, "min");
  const min =
    rank === undefined
      ? undefined
      : readInteger(rank, under(path, "min"), { min: 0, max: bounds.backendRankMax }, notes);
  const from = field(fields, "result");
  const result = from === undefined ? undefined : readChoice(from, under(path, "result"), ["fd3", "stdout"] as const, notes);
  if (runtime === undefined || entry === undefined) return undefined;
  return {
    type: "sandbox",
    runtime,
    entry,
    ...(pinned === undefined ? {} : { image: pinned }),
    ...(min === undefined ? {} : { min }),
    ...(result === undefined ? {} : { result }),
  };
}
