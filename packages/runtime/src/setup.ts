// What a runtime on one machine starts with: its tenants and their first keys, the built-in tools, and the documents of named folders.
import { dirname } from "node:path";
import { makeId, SignalboxError } from "@signalbox/protocol";
import { packagedNames, readPackaged } from "./adapters/builtin/packaged.ts";
import { servedManifests } from "./adapters/builtin/serve.ts";
import { readClientFile, readWorkerKey, writeClientFile, writeWorkerKey, type DataFolder } from "./adapters/files/data-folder.ts";
import { findAgents, findManifests, findPolicies, type ManifestFile } from "./adapters/files/manifest-files.ts";
import { inlined, readSource } from "./adapters/files/manifest-source.ts";
import { NoPackage, readFolderFile, readToolFolder } from "./adapters/store/folder.ts";
import { base64url, sha256 } from "./adapters/system/crypto.ts";
import type { ContentStore } from "./corridor/files-ports.ts";
import type { Chance, Clock, Log } from "./corridor/ports.ts";
import { readTool } from "./corridor/tools.ts";
import type { Ledger } from "./ledger/port.ts";
import { wholeAgent } from "./registry/agents/manifest.ts";
import { manifestDigest } from "./registry/digest.ts";
import type { Runtime } from "./runtime.ts";
import { makeKeyText } from "./tenancy/directory.ts";
import { newTenant } from "./tenancy/tenant.ts";
import { platformTenant, type Grant, type Key, type Principal, type Scope } from "./tenancy/types.ts";

export interface Setting {
  readonly ledger: Ledger;
  readonly folder: DataFolder;
  readonly clock: Clock;
  readonly chance: Chance;
}

/** What client.json holds of keys: the admin's of the tenant `default`, the operator's of the tenant `platform`. */
export interface LocalKeys {
  /** Undefined on a replica that knows none: another one has made them. */
  readonly admin: string | undefined;
  readonly operator: string | undefined;
  /** Of the sandbox worker; in a file of its own. Undefined where there is none. */
  readonly boxes: string | undefined;
}

interface Owner {
  readonly tenant: string;
  readonly principal: string;
  readonly label: string;
  readonly scopes: Key["scopes"];
}

const project = "default";
const admin: Owner = { tenant: "default", principal: "user:admin", label: "first admin key", scopes: ["*"] };
/** Whoever runs the machine: may write policies and tools that bind every tenant. */
const operator: Owner = { tenant: platformTenant, principal: "user:operator", label: "operator key", scopes: ["*"] };
/** May connect as a worker, and nothing else. */
const boxWorker: Owner = { tenant: platformTenant, principal: "service:sandbox-worker", label: "sandbox worker", scopes: ["workers:connect"] };

/** What the client file says until the doors are open: addresses at which nobody listens, never another runtime's. */
const noDoors = { url: "http://127.0.0.1:9", grpc: "127.0.0.1:9" };

/** First start: tenants, projects, keys and grants in one go. Later starts make what is missing, and mend a lost client file. */
export async function ensureTenants(setting: Setting): Promise<LocalKeys & { readonly admin: string; readonly operator: string; readonly boxes: string }> {
  const there = new Set((await setting.ledger.tenants()).map(({ tenant }) => tenant));
  const known = readClientFile(setting.folder);
  const missing = [admin, operator].filter(({ tenant }) => !there.has(tenant));
  const made = new Map(missing.map((owner) => [owner.tenant, newKey(setting, owner)]));
  const keyOf = async (owner: Owner, text: string | undefined): Promise<string> =>
    made.get(owner.tenant)?.secret ?? text ?? addKey(setting, owner);
  const keys = { admin: await keyOf(admin, known?.key), operator: await keyOf(operator, known?.platform_key) };
  // The file first: a crash in between leaves a key that opens nothing, never a runtime that nobody can open.
  if (made.size > 0) writeClientFile(setting.folder, { ...noDoors, key: keys.admin, platform_key: keys.operator });
  for (const owner of missing) await makeTenant(setting, owner, made.get(owner.tenant)?.key);
  return { ...keys, boxes: await workerKey(setting) };
}

/**
 * The same on a ledger that others start on at the same time: who is first makes the keys, and the others make none. A key in the
 * client file that opens nothing is forgotten.
 */
export async function ensureTenantsOnce(
  setting: Setting,
  { boxes, forgetFile }: { readonly boxes: boolean; readonly forgetFile: () => void },
): Promise<LocalKeys> {
  const { ledger, folder } = setting;
  const there = new Set((await ledger.tenants()).map(({ tenant }) => tenant));
  const missing = [admin, operator].filter(({ tenant }) => !there.has(tenant));
  const made = new Map<string, string>();
  for (const owner of missing) {
    const { key, secret } = newKey(setting, owner);
    if (await makeTenant(setting, owner, key)) made.set(owner.tenant, secret);
  }
  const known = readClientFile(folder);
  const opens = async (text: string | undefined): Promise<string | undefined> =>
    text !== undefined && (await ledger.keyByHash(sha256(text))) !== undefined ? text : undefined;
  const keys = { admin: made.get(admin.tenant) ?? (await opens(known?.key)), operator: made.get(operator.tenant) ?? (await opens(known?.platform_key)) };
  if (keys.admin === undefined) forgetFile();
  else writeClientFile(folder, { ...noDoors, key: keys.admin, ...(keys.operator === undefined ? {} : { platform_key: keys.operator }) });
  return { ...keys, boxes: boxes ? await workerKey(setting) : undefined };
}

/** The key in its file, if it still opens the door; else a new one. */
async function workerKey(setting: Setting): Promise<string> {
  const text = readWorkerKey(setting.folder);
  const known = text === undefined ? undefined : await setting.ledger.keyByHash(sha256(text));
  if (text !== undefined && known !== undefined && known.revokedAt === null) return text;
  const fresh = await addKey(setting, boxWorker);
  writeWorkerKey(setting.folder, fresh);
  return fresh;
}

/** @returns false when another process was first */
async function makeTenant({ ledger, clock, chance }: Setting, owner: Owner, key: Key | undefined): Promise<boolean> {
  if (key === undefined) throw new Error(`no key was made for tenant ${owner.tenant}`);
  const now = clock.now();
  const { tenant } = owner;
  const grant: Grant = {
    tenant,
    grantId: makeId("grant", now, chance.bytes(10)),
    subject: owner.principal,
    project: "",
    permissions: ["*"],
    roles: [],
    createdAt: now,
    createdBy: "service:signalbox",
    expiresAt: null,
    revokedAt: null,
  };
  const { applied } = await ledger.commit({
    writes: [
      { op: "insert_tenant", row: newTenant(tenant, 1, now) },
      { op: "insert_project", row: { tenant, project, environment: "development", createdAt: now } },
      { op: "insert_key", row: key },
      { op: "insert_grant", row: grant },
      { op: "append_audit", draft: setUpAudit(now, tenant, "tenant.created", { key_id: key.keyId, grant_id: grant.grantId }) },
    ],
  });
  return applied;
}

/** Whoever can write the data folder may have its keys; that one was made is on record. @returns its text */
async function addKey(setting: Setting, owner: Owner): Promise<string> {
  const { key, secret } = newKey(setting, owner);
  const draft = setUpAudit(setting.clock.now(), owner.tenant, "key.created", { key_id: key.keyId, local: true });
  await setting.ledger.commit({
    writes: [
      { op: "insert_key", row: key },
      { op: "append_audit", draft },
    ],
  });
  return secret;
}

/** New keys for both, as `keys reset --local` makes them. */
export async function renewKeys(setting: Setting): Promise<{ readonly admin: string; readonly operator: string }> {
  return { admin: await addKey(setting, admin), operator: await addKey(setting, operator) };
}

function setUpAudit(now: number, tenant: string, action: string, details: Readonly<Record<string, unknown>>) {
  return { ts: now, tenant, project, principal: "service:signalbox", status: "done", action, details };
}

function newKey({ clock, chance }: Setting, { tenant, principal, label, scopes }: Owner): { key: Key; secret: string } {
  const now = clock.now();
  const keyId = makeId("key", now, chance.bytes(10));
  const secret = makeKeyText(keyId.slice("key_".length), base64url(chance.bytes(32)));
  const key: Key = {
    tenant,
    keyId,
    hash: sha256(secret),
    label,
    principal,
    project,
    scopes,
    roles: [],
    createdAt: now,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  };
  return { key, secret };
}

/** The platform's own tools, each with its code; what is there already stays as it is, and a new version becomes the active one. */
export async function ensureBuiltins(place: { readonly ledger: Ledger; readonly store: ContentStore; readonly clock: Clock; readonly log: Log }): Promise<void> {
  for (const manifest of servedManifests) await ensureTool(place, manifest, null);
  for (const name of packagedNames) {
    const tool = await readPackaged(name);
    await tool.store(place.store);
    await ensureTool(place, tool.document, tool.packageDigest);
  }
}

async function ensureTool(
  { ledger, clock, log }: { readonly ledger: Ledger; readonly clock: Clock; readonly log: Log },
  document: unknown,
  packageDigest: string | null,
): Promise<void> {
  const { manifest } = readTool(document);
  const { name: tool, version } = manifest.metadata;
  const digest = manifestDigest(document, sha256);
  const known = await ledger.toolVersion(platformTenant, tool, version);
  if (known !== undefined) {
    const same = known.manifestDigest === digest && known.packageDigest === packageDigest;
    if (!same) log.error({ tool, version }, "a built-in tool was changed and kept its version; the one in the ledger goes on");
    return;
  }
  const row = {
    tenant: platformTenant,
    tool,
    version,
    metadata: manifest.metadata,
    spec: manifest.spec,
    manifestDigest: digest,
    packageDigest,
    trust: "first_party" as const,
    status: "active" as const,
    publishedAt: clock.now(),
    publishedBy: "service:signalbox",
  };
  await ledger.commit({ writes: [{ op: "insert_tool_version", row, activate: true }] });
}

function folderReader(tenant: string, scope: Scope): { readonly principal: Principal; readonly requestId: string } {
  const principal: Principal = { tenant, project, name: "service:signalbox-dev", keyId: "", scopes: new Set([scope]), roles: [] };
  return { principal, requestId: "" };
}

/** Registers the manifests below the folders; a bad one is told and does not keep the runtime from starting. */
export async function registerTools(runtime: Runtime, store: ContentStore, folders: readonly string[], log: Log): Promise<void> {
  if (folders.length === 0) return;
  await eachDocument(await findManifests(process.cwd(), folders), log, async (document, file) => {
    const code = needsPackage(document) ? { package: await storePackage(store, dirname(file.path)) } : {};
    await runtime.service.registerTool(folderReader(admin.tenant, "tools:write"), document, code);
  });
}

function needsPackage(document: unknown): boolean {
  const { spec } = document as { spec?: { executor?: { type?: unknown; image?: unknown } } };
  return spec?.executor?.type === "sandbox" && spec.executor.image === undefined;
}

/** The folder of a manifest as a package of the store. @returns its digest */
async function storePackage(store: ContentStore, folder: string): Promise<string> {
  const { files } = await readToolFolder(folder);
  for (const { place } of files) await store.putFile(admin.tenant, [await readFolderFile(place)]);
  const outcome = await store.putPackage(admin.tenant, files.map(({ path, mode, ref }) => ({ path, mode, ref })));
  if (!outcome.ok) throw new SignalboxError("invalid_input", `the folder's code could not be stored: ${outcome.reason}`);
  return outcome.ref;
}

/**
 * Publishes the agents below the folders and deploys those of which no version is; a bad one is told and does not keep the
 * runtime from starting. An agent whose tools run another of them may stand before it: what was refused is tried again.
 */
export async function publishAgents(runtime: Runtime, folders: readonly string[], log: Log): Promise<void> {
  if (folders.length === 0) return;
  let open = await findAgents(process.cwd(), folders);
  for (;;) {
    const refused: (readonly [ManifestFile, Readonly<Record<string, unknown>>])[] = [];
    for (const file of open) {
      const why = await publishAgent(runtime, file);
      if (why !== undefined) refused.push([file, why]);
    }
    if (refused.length === 0 || refused.length === open.length) {
      for (const [{ shown }, why] of refused) log.error({ file: shown, ...why }, "an agent was refused and not published");
      return;
    }
    open = refused.map(([file]) => file);
  }
}

/** @returns why it was refused; undefined when it is published */
async function publishAgent({ service }: Runtime, file: ManifestFile): Promise<Readonly<Record<string, unknown>> | undefined> {
  const read = await readSource(file);
  if (!read.ok) return { problems: read.problems };
  const writer = folderReader(admin.tenant, "tools:write");
  try {
    const { version } = await service.publishAgent(writer, wholeAgent(read.source.document, read.source.texts), {});
    const { record } = await service.getAgent(folderReader(admin.tenant, "tools:read"), version.agent);
    const idle = record.deployedVersion === null && record.archivedAt === null && version.status === "published";
    if (idle) await service.deployAgent(writer, version.agent, version.version, "");
    return undefined;
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    return { reason: error.message, details: error.details };
  }
}

/**
 * Publishes the policies below the folders: those of level platform for every tenant, for who starts the process runs
 * the platform. @throws Error for one that is refused: a rule that somebody counts on must not be missing silently
 */
export async function publishPolicies(runtime: Runtime, folders: readonly string[]): Promise<void> {
  if (folders.length === 0) return;
  for (const file of await findPolicies(process.cwd(), folders)) {
    const read = await readSource(file);
    const problem = read.ok ? undefined : (read.problems[0]?.message ?? "holds no policy");
    if (!read.ok) throw new Error(`${file.shown}: ${problem}; nothing was started`);
    const document = inlined(read.source);
    const tenant = levelOf(document) === "platform" ? platformTenant : admin.tenant;
    try {
      await runtime.service.publishPolicy(folderReader(tenant, "policies:write"), document, {});
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
      throw new Error(`${file.shown}: ${error.message}; next: signalbox validate ${file.shown}`, { cause: error });
    }
  }
}

function levelOf(document: unknown): unknown {
  const { metadata } = document as { metadata?: { level?: unknown } };
  return metadata?.level;
}

async function eachDocument(files: readonly ManifestFile[], log: Log, register: (document: unknown, file: ManifestFile) => Promise<void>): Promise<void> {
  for (const file of files) {
    const read = await readSource(file);
    if (!read.ok) {
      log.error({ file: file.shown, problems: read.problems }, "a manifest cannot be read and was not registered");
      continue;
    }
    try {
      await register(inlined(read.source), file);
    } catch (error) {
      if (!(error instanceof SignalboxError) && !(error instanceof NoPackage)) throw error;
      const details = error instanceof SignalboxError ? { details: error.details } : {};
      log.error({ file: file.shown, reason: error.message, ...details }, "a manifest was refused and not registered");
    }
  }
}
