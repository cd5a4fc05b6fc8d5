// Code that nobody trusts: it summarizes the orders in a box without network, and what it must not do it cannot.
import { idIn, type Stage } from "../stage.ts";

/** As a model would write it; the file is all that it is given. */
const summary = `
function cells(line) {
  const found = [];
  let cell = "", quoted = false;
  for (const letter of line) {
    if (letter === '"') quoted = !quoted;
    else if (letter === "," && !quoted) { found.push(cell); cell = ""; }
    else cell += letter;
  }
  return [...found, cell];
}
function main() {
  // A line feed inside of quotes belongs to its cell.
  const rows = files.read("orders.csv").split(/\\n(?=O-)/).slice(1).map(cells);
  const cents = (row) => Math.round(Number(row[6]) * Number(row[7]) * 100);
  const total = rows.reduce((sum, row) => sum + cents(row), 0);
  console.log("read", rows.length, "orders");
  return { orders: rows.length, total: (total / 100).toFixed(2) };
}`.trim();

interface Evil {
  readonly wants: string;
  readonly code: string;
  /** What the record says of its end. */
  readonly end: Readonly<Record<string, unknown>>;
  readonly said: RegExp;
}

const evil: readonly Evil[] = [
  {
    wants: "It forks for ever.",
    code: "import os\nwhile True: os.fork()",
    end: { code: "resource_exceeded", details: { resource: "pids", limit: 32 } },
    said: /limit of 32 /,
  },
  {
    wants: "It takes all the memory there is.",
    code: "held = []\nwhile True: held.append(bytearray(1 << 20))",
    end: { code: "resource_exceeded", details: { resource: "memory", limit: 268_435_456 } },
    said: /bytes of memory/,
  },
  {
    wants: "It prints without end.",
    code: 'while True: print("x" * 1000)',
    end: { code: "resource_exceeded", details: { resource: "output" } },
    said: /bytes of output/,
  },
  {
    wants: "It asks the machine's cloud for its keys.",
    code: 'import socket\nsocket.create_connection(("169.254.169.254", 80), 2)',
    end: { code: "tool_error" },
    said: /Network is unreachable/,
  },
];

const linked = 'import os\nos.symlink("/etc/passwd", "notes.txt")\nopen("notes.txt").read()';

function python(code: string): string {
  return JSON.stringify({ language: "python", code });
}

const proved = new WeakMap<Stage, ReadonlySet<string>>();

/** Which boxes this machine has; where it has none, says what is missing, as `signalbox doctor` does. */
async function boxes(stage: Stage): Promise<ReadonlySet<string>> {
  const known = proved.get(stage);
  if (known !== undefined) return known;
  const { stdout } = await stage.cli("Which boxes can this machine make? Each is tried.", ["doctor"], {
    exitCode: null,
  });
  const works = [...stdout.matchAll(/^(\w+) +works/gm)].map(([, name = ""]) => name);
  const names = new Set(works);
  proved.set(stage, names);
  return names;
}

export async function modelCodeRuns(stage: Stage): Promise<void> {
  const { telling } = stage;
  if (!(await boxes(stage)).has("wasm"))
    return telling.sentence("No box works here, so nothing runs: nothing weaker takes its place.");
  await stage.boxWorker();
  const run = ["run", "code.run", "--file", "data/orders.csv", "--input"];
  const input = JSON.stringify({ language: "javascript", code: summary });
  const done = await stage.cli(
    "A model wrote some JavaScript. It gets the order file, and nothing else of this machine.",
    [...run, input],
  );
  telling.check("it read the orders and added them up", JSON.parse(done.stdout), {
    result: { orders: 200, total: "17902.25" },
    stdout: "read 200 orders\n",
  });
  const { execution } = await stage.call(idIn(done.stderr));
  telling.check("the record says in which kind of box", execution.sandbox, "wasm");

  const asked = JSON.stringify({ language: "javascript", code: "[typeof fetch, typeof process, typeof require]" });
  const found = await stage.cli("What else is there for it?", ["run", "code.run", "--input", asked]);
  telling.check("no network, no process, no modules of the machine", JSON.parse(found.stdout), {
    result: ["undefined", "undefined", "undefined"],
  });
}

export async function evilCodeIsStopped(stage: Stage): Promise<void> {
  const { telling } = stage;
  if (!(await boxes(stage)).has("native")) return telling.sentence("No native box works here, so no Python runs.");
  await stage.boxWorker();
  for (const { wants, code, end, said } of evil) {
    const stopped = await stage.cli(wants, ["run", "code.run", "--input", python(code)], { exitCode: 1 });
    telling.check("it is told why it ended", stopped.stderr, said);
    const { status, error } = await stage.call(idIn(stopped.stderr));
    telling.check("the record has the true cause", { status, error }, { status: "failed", error: end });
  }
  const { stdout } = await stage.cli("It makes a link to the machine's list of users, and reads it.", [
    "run",
    "code.run",
    "--input",
    python(linked),
  ]);
  telling.check("it finds the list of its own box", JSON.parse(stdout), {
    result: "tool:x:65534:65534:tool:/workspace:/bin/sh\n",
  });
}
