// The shapes of names, paths, hosts and references in manifests, each with the sentence that explains it.
import { limits } from "@signalbox/protocol";
import { documentBounds } from "../../document/bounds.ts";
import { readText, type TextRule } from "../../document/fields.ts";
import { refuse, shown, type Notes } from "../../document/problems.ts";
import { parseRange, parseVersion } from "../../document/versions.ts";
import { bounds } from "../bounds.ts";

const nameChars = "[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?";
const digest = "sha256:[0-9a-f]{64}";

export const trustHint = (key: string): string | undefined =>
  key === "trust"
    ? "trust is decided by the registry from where the tool comes from, never by its manifest"
    : undefined;

export const toolName: TextRule = {
  charsMax: limits.nameCharsMax,
  pattern: new RegExp(`^${nameChars}$`),
  hint: "lower-case letters and digits, with . _ - inside, like payments.charge",
};

export const remoteToolName: TextRule = {
  charsMax: limits.nameCharsMax,
  pattern: /^\S+$/,
  hint: "the tool's name on the server, without spaces",
};
export const owner: TextRule = { charsMax: bounds.ownerCharsMax, hint: "the team or person who answers for this tool" };
export const description: TextRule = {
  charsMax: bounds.descriptionCharsMax,
  hint: "say what the tool does; models read it",
};
export const category: TextRule = { charsMax: bounds.categoryCharsMax };
export const labelName: TextRule = {
  charsMax: limits.nameCharsMax,
  pattern: /^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?$/,
  hint: "letters and digits, with . _ / - inside",
};
export const labelText: TextRule = { charsMax: bounds.labelCharsMax, empty: "allowed" };
export const envName: TextRule = {
  charsMax: limits.nameCharsMax,
  pattern: /^[A-Za-z_][A-Za-z0-9_]*$/,
  hint: "letters, digits and _, not starting with a digit, like API_KEY",
};
export const envText: TextRule = { charsMax: bounds.envValueCharsMax, empty: "allowed" };
export const secretReference: TextRule = {
  charsMax: bounds.textCharsMax,
  pattern:
    /^secret:\/\/[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\/[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/,
  hint: "secrets are named, never written down: secret://namespace/name",
};
export const permission: TextRule = {
  charsMax: bounds.textCharsMax,
  pattern: /^[a-z][a-z0-9_-]*:[a-z][a-z0-9_-]*:\S+$/,
  hint: "domain:action:resource, like net:egress:api.example.com",
};
export const eventType: TextRule = {
  charsMax: limits.nameCharsMax,
  pattern: /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/,
  hint: "letters and digits, with . _ - inside, like invoice.created",
};
export const imageDigest: TextRule = {
  charsMax: bounds.textCharsMax,
  pattern: new RegExp(`^${digest}$`),
  hint: "sha256: and 64 hexadecimal digits",
};
export const image: TextRule = {
  charsMax: bounds.textCharsMax,
  pattern: new RegExp(`^[a-z0-9][A-Za-z0-9._:/-]*@${digest}$`),
  hint: "pin the image by its digest: name@sha256:…",
};
export const identity: TextRule = {
  charsMax: bounds.textCharsMax,
  pattern: /^[^\s*]+$/,
  hint: "one workload identity, without spaces; a * stands for nothing here",
};

export const scheduling: TextRule = {
  charsMax: bounds.textCharsMax,
  pattern: /^(?:parallel|exclusive|serial\([^()]+\))$/,
  hint: "parallel, exclusive, or serial(key) with the key in arguments, like serial(args.account)",
};

/** `name` or `name@version`; the version may be a range where `ranges` says so. */
export function readNamedVersion(value: unknown, path: string, notes: Notes, ranges: boolean): string | undefined {
  const text = readText(
    value,
    path,
    { charsMax: limits.nameCharsMax + documentBounds.versionCharsMax + 1, hint: "name or name@version" },
    notes,
  );
  if (text === undefined) return undefined;
  const at = text.indexOf("@");
  const [name, version] = at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  if (readText(name, path, toolName, notes) === undefined) return undefined;
  const good =
    version === undefined || parseVersion(version) !== undefined || (ranges && parseRange(version) !== undefined);
  if (good) return text;
  refuse(notes, path, `${shown(version)} is no version`, ranges ? "like 1.2.0 or ^1.2.0" : "like 1.2.0");
  return undefined;
}

// A colon or a backslash would be a drive or a folder elsewhere; `..` and doubled slashes would leave or blur the place.
function pathProblem(text: string): string | undefined {
  if (/[\\:]/.test(text)) return "holds a backslash or a colon";
  const parts = text.replace(/^\//, "").replace(/\/$/, "").split("/");
  if (parts.includes("..")) return "leads outside: .. is not accepted";
  return text !== "/" && parts.some((part) => part === "" || part === ".") ? "is not in its shortest form" : undefined;
}

function readPath(value: unknown, path: string, notes: Notes, absolute: boolean, hint: string): string | undefined {
  const text = readText(value, path, { charsMax: bounds.pathCharsMax, hint }, notes);
  if (text === undefined) return undefined;
  const problem =
    text.startsWith("/") === absolute ? pathProblem(text) : `must be ${absolute ? "an absolute" : "a relative"} path`;
  if (problem === undefined) return text;
  refuse(notes, path, problem, hint);
  return undefined;
}

/** A file of the tool's folder. */
export function readInnerPath(value: unknown, path: string, notes: Notes): string | undefined {
  return readPath(value, path, notes, false, "a file inside the tool's folder, like schema.json");
}

/** A place inside the sandbox. */
export function readAbsolutePath(value: unknown, path: string, notes: Notes): string | undefined {
  return readPath(value, path, notes, true, "a path inside the sandbox, like /workspace/input");
}

const hostLabel = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** `host`, `host:port` or `*.host`; in lower case. No port means 443. */
export function readHost(value: unknown, path: string, notes: Notes): string | undefined {
  const hint = "host or host:port, like api.example.com or api.example.com:8443";
  const text = readText(value, path, { charsMax: bounds.hostCharsMax + 6, hint }, notes)?.toLowerCase();
  if (text === undefined) return undefined;
  if (text.includes("/")) refuse(notes, path, `${shown(text)} is an address, not a host`, hint);
  else {
    const [host = "", port, ...more] = text.split(":");
    const labels = host.replace(/^\*\./, "").replace(/\.$/, "").split(".");
    const portOk = port === undefined || (/^[1-9][0-9]{0,4}$/.test(port) && Number(port) <= 65_535);
    if (
      more.length === 0 &&
      portOk &&
      host.length <= bounds.hostCharsMax &&
      labels.every((label) => hostLabel.test(label))
    )
      return text;
    refuse(notes, path, `${shown(text)} is no host`, hint);
  }
  return undefined;
}
