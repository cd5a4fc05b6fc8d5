// The rules of the house as tables and checks; each check answers with lines that name the file and the rule.
import { importsOf, withoutComments, withoutCommentsAndStrings, type Import, type Source } from "./sources.ts";

/** What a package may import of ours; `cli` stands for the folder packages/runtime/src/cli. */
const packageImports: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  client: ["protocol"],
  worker: ["protocol"],
  runtime: ["protocol", "worker"],
  cli: ["protocol", "worker", "client"],
};
/** The generated messages for callers: only where gRPC is spoken, since what browsers load must do without them. */
const callerMessages = { from: /^protocol\/v1\/\w+$/, room: "packages/runtime/src/adapters/grpc/" };

/** Imported for types alone: browsers load the client as it is, and must not need what those packages need. */
const typesOnly: Readonly<Record<string, readonly string[]>> = { client: ["protocol"] };

/** Stages stand side by side on the floor above `document`; an import may go down or stay on its floor, never up. */
const stages = [
  "call",
  "dispatch",
  "ledger",
  "policy",
  "registry",
  "sandbox",
  "schedule",
  "secrets",
  "session",
  "stream",
  "tenancy",
];
const floors: Readonly<Record<string, number>> = {
  document: 0,
  ...Object.fromEntries(stages.map((stage) => [stage, 1])),
  "service.ts": 2,
  "service-governance.ts": 2,
  "service-limits.ts": 2,
  "service-agents.ts": 2,
  "service-sessions.ts": 2,
  "service-tenants.ts": 2,
  corridor: 2,
  "runtime.ts": 2,
  "config.ts": 2,
  "version.ts": 2,
  adapters: 3,
  "compose.ts": 4,
  "opening.ts": 4,
  "setup.ts": 4,
  boxes: 4,
  cli: 5,
  "index.ts": 5,
};
/** What stages share: the words for a call, and by `import type` the records that they hand to one another. */
const sharedWords = "call/types.ts";
const sharedTypes = [
  "call/audit-draft.ts",
  "ledger/port.ts",
  "policy/approval/types.ts",
  "policy/types.ts",
  "registry/agents/types.ts",
  "registry/types.ts",
  "schedule/types.ts",
  "session/types.ts",
  "stream/types.ts",
  "tenancy/types.ts",
];
/** The one arrow between two stages: dispatch gives leases, and only the call machine may say what that does to a call. */
const arrowsBetweenStages = ["dispatch → call"];

/** Where the world may be touched. */
const doors = [
  /^packages\/runtime\/src\/(adapters|cli)\//,
  /^packages\/runtime\/src\/sandbox\/(backends|gateway|host)\//,
  /^packages\/runtime\/src\/(compose|opening|setup|boxes\/(worker|child))\.ts$/,
  /^packages\/worker\/src\/grpc\.ts$/,
  /^packages\/client\/src\/default-ports\.ts$/,
];
/** Doors that are only ajar: file → what it may say beside pure code. */
const ajar: Readonly<Record<string, RegExp>> = {
  "packages/runtime/src/config.ts": /\bprocess\.env\b/g,
  "packages/worker/src/worker.ts": /\bprocess\.(on|once|off)\b/g,
};
/** Outside modules that pure code may import: folder or file → names. A hash by node:crypto would stand here, by file. */
const pureImports: Readonly<Record<string, readonly string[]>> = {
  "packages/protocol/src/": ["@bufbuild/protobuf", "@bufbuild/protobuf/wire", "canonicalize"],
  "packages/runtime/src/policy/": ["@bufbuild/cel", "re2js"],
  "packages/runtime/src/registry/": ["ajv", "ajv/dist/2020.js", "ajv-formats", "re2js", "yaml"],
};

const worldWords = [
  /(?<![\w.$])(process|console|performance)(?=\s*(\.\w|\?\.|\[))/,
  /\bDate\.now\b/,
  /\bnew Date\s*(\(\s*\)|(?!\s*\())/,
  /\bMath\.random\b/,
  /(?<![\w.$])(setTimeout|setInterval|setImmediate)\b/,
  /\bAbortSignal\.timeout\b/,
  /\bcrypto\.(randomUUID|getRandomValues|randomBytes)\b/,
];

const linesMax = 500;

const isTest = (path: string): boolean => path.endsWith(".test.ts");
const isDoor = (path: string): boolean => doors.some((door) => door.test(path));
const packageOf = (path: string): string => path.split("/")[1] ?? "";
/** A test stands in the room of what it tests. */
const roomOf = (path: string): string => (path.split("/")[3] ?? "").replace(/\.test\.ts$/, ".ts");
const inRuntime = (path: string): boolean => path.startsWith("packages/runtime/src/");
const importsOfAll = (house: readonly Source[]): Import[] =>
  house.filter(({ path }) => !isTest(path)).flatMap(importsOf);

export function checkPackages(house: readonly Source[]): string[] {
  return importsOfAll(house).flatMap(({ path, name, target, typeOnly }) => {
    const here = inRuntime(path) && roomOf(path) === "cli" ? "cli" : packageOf(path);
    if (target !== undefined) {
      const inside = target.startsWith(`packages/${packageOf(path)}/src/`);
      return inside ? [] : [`${path}: reaches out of its package by "${name}"; import the package by its name`];
    }
    const [scope, other, ...inner] = name.split("/");
    if (scope !== "@signalbox") return [];
    const spoken = callerMessages.from.test([other, ...inner].join("/")) && path.startsWith(callerMessages.room);
    if (inner.length > 0 && !spoken) return [`${path}: imports "${name}"; a package is imported by its name alone`];
    const allowed = packageImports[here]?.includes(other ?? "") ?? false;
    if (allowed && !typeOnly && typesOnly[here]?.includes(other ?? "") === true)
      return [`${path}: ${here} may import ${name} by import type only`];
    return allowed ? [] : [`${path}: ${here} may not import ${name}`];
  });
}

export function checkRooms(house: readonly Source[]): string[] {
  const unknown = house.filter(({ path }) => inRuntime(path) && floors[roomOf(path)] === undefined);
  const wrong = importsOfAll(house).flatMap(({ path, target, typeOnly }) => {
    if (!inRuntime(path) || target === undefined || !inRuntime(target)) return [];
    const [from, to] = [roomOf(path), roomOf(target)];
    const [fromFloor, toFloor] = [floors[from] ?? Infinity, floors[to] ?? Infinity];
    if (toFloor > fromFloor) return [`${path}: an arrow upward, from ${from} to ${to}`];
    if (from === to || fromFloor > 1 || toFloor < fromFloor || arrowsBetweenStages.includes(`${from} → ${to}`))
      return [];
    const file = target.slice("packages/runtime/src/".length);
    if (file === sharedWords || (typeOnly && sharedTypes.includes(file))) return [];
    return [
      `${path}: stage ${from} may not import stage ${to}${sharedTypes.includes(file) ? " but by import type" : ""}`,
    ];
  });
  return [...unknown.map(({ path }) => `${path}: the table of floors lacks ${roomOf(path)}`), ...wrong];
}

export function checkDoors(house: readonly Source[]): string[] {
  return house.flatMap((source) => {
    const { path } = source;
    if (isTest(path) || isDoor(path)) return [];
    const code = withoutCommentsAndStrings(source.text).replace(ajar[path] ?? /(?!)/, "");
    const words = worldWords.flatMap((word) => word.exec(code)?.[0] ?? []);
    const pure = Object.entries(pureImports).flatMap(([place, names]) => (path.startsWith(place) ? names : []));
    const modules = importsOf(source)
      .map(({ name }) => name)
      .filter((name) => !/^(\.|@signalbox\/)/.test(name) && !pure.includes(name));
    return [...words, ...modules].map((word) => `${path}: says "${word}" and is no door; take it as an argument`);
  });
}

export function checkCircles(house: readonly Source[]): string[] {
  const arrows = new Map(house.map((source) => [source.path, importsOf(source).flatMap(({ target }) => target ?? [])]));
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): string[] => {
    if (trail.includes(path)) return [`${path}: a circle, ${[...trail.slice(trail.indexOf(path)), path].join(" → ")}`];
    if (done.has(path)) return [];
    const circles = (arrows.get(path) ?? []).flatMap((target) => walk(target, [...trail, path]));
    done.add(path);
    return circles;
  };
  return [...arrows.keys()].flatMap((path) => walk(path, []));
}

export function checkManners(house: readonly Source[]): string[] {
  return house.flatMap(({ path, text }) => {
    const lines = text.trimEnd().split("\n").length;
    const firstComment = /^(?:\/\/ .*\n)+/.exec(text)?.[0] ?? "";
    const code = withoutComments(text);
    return [
      ...(lines > linesMax ? [`${path}: has ${lines} lines, more than ${linesMax}`] : []),
      ...(/^\/\/ \S+ [^]*[.!?]\n$/.test(firstComment) ? [] : [`${path}: does not open with a // sentence`]),
      ...(/\bexport\s+\*/.test(code) ? [`${path}: says export *; name what is exported`] : []),
      ...(/\bexport\s+default\b|\bas\s+default\b/.test(code) ? [`${path}: has a default export`] : []),
      ...(/(^|\/)utils?(\/|\.)/.test(path) ? [`${path}: is called utils; name it after what it does`] : []),
    ];
  });
}
