// What the guest program is told before it runs a tool, as text that crosses into the box: read strictly on the other side.

/** `js`: the QuickJS engine. `wasi`: a module that speaks WASI preview 1. */
export type GuestKind = "js" | "wasi";

/** The entry of the JavaScript guest that takes its source from the arguments; every other entry is a path in the package. */
export const codeEntry = "code";

/**
 * The variable that carries the order. It is the only one of ours in the process: what a tool declares travels inside the
 * order, because a declared NODE_OPTIONS in the process's own environment would undo the flags that the guest starts with.
 */
export const orderVariable = "SIGNALBOX_GUEST";

export interface GuestOrder {
  readonly guest: GuestKind;
  /** `code`, or a path below the package. */
  readonly entry: string;
  /** Folder of the package as the guest program sees it; null = none. */
  readonly packageRoot: string | null;
  /** Folder of the input files as the guest program sees it. */
  readonly workspaceRoot: string;
  /** Marks the line that tells how a run ended: only the guest program knows it, never the code that it runs. */
  readonly nonce: string;
  readonly env: Readonly<Record<string, string>>;
  /** Most that the guest's own linear memory may hold. */
  readonly memoryBytes: number;
  /** From the first line of the tool's code. */
  readonly timeoutMs: number;
  readonly resultBytes: number;
  /** Requests that the process serves, one a line, each in a fresh instance; the answers to more than one are lines too. */
  readonly runs: number;
}

/** The JavaScript engine asks for this much before it runs anything. */
export const jsMemoryBytesMin = 16 * 1024 * 1024;
/** One page of a module. */
const memoryBytesMin = 64 * 1024;
/** What wasm32 can address at most is 4 GiB; the engine is built for 2. */
export const guestMemoryBytesMax = 2 * 1024 * 1024 * 1024;

export function orderText(order: GuestOrder): string {
  return JSON.stringify(order);
}

/** @throws Error when the text is no order; the sentence names the field */
export function readOrder(text: string): GuestOrder {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== "object" || parsed === null) throw new Error("the guest's order is no object");
  const fields = parsed as Record<string, unknown>;
  const guest = textField(fields, "guest");
  if (guest !== "js" && guest !== "wasi") throw new Error(`the guest's order names the unknown guest "${guest}"`);
  return {
    guest,
    entry: textField(fields, "entry"),
    packageRoot: fields["packageRoot"] === null ? null : textField(fields, "packageRoot"),
    workspaceRoot: textField(fields, "workspaceRoot"),
    nonce: textField(fields, "nonce"),
    env: envField(fields),
    memoryBytes: numberField(
      fields,
      "memoryBytes",
      guest === "js" ? jsMemoryBytesMin : memoryBytesMin,
      guestMemoryBytesMax,
    ),
    timeoutMs: numberField(fields, "timeoutMs", 1, Number.MAX_SAFE_INTEGER),
    resultBytes: numberField(fields, "resultBytes", 1, Number.MAX_SAFE_INTEGER),
    runs: numberField(fields, "runs", 1, 1_000_000),
  };
}

function textField(fields: Record<string, unknown>, name: string): string {
  const value = fields[name];
  if (typeof value !== "string" || value === "") throw new Error(`the guest's order lacks the text "${name}"`);
  return value;
}

function numberField(fields: Record<string, unknown>, name: string, min: number, max: number): number {
  const value = fields[name];
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    throw new Error(`the guest's order has no whole number "${name}" between ${min} and ${max}`);
  }
  return value;
}

function envField(fields: Record<string, unknown>): Record<string, string> {
  const env = fields["env"];
  if (typeof env !== "object" || env === null) throw new Error(`the guest's order lacks "env"`);
  for (const [name, value] of Object.entries(env)) {
    if (typeof value !== "string") throw new Error(`the guest's order has no text for the variable "${name}"`);
  }
  return env as Record<string, string>;
}
