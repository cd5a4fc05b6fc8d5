// Turns a credential into a principal and answers what that principal has been granted.
import { SignalboxError } from "@signalbox/protocol";
import type { Grant, Key, Principal } from "./types.ts";

/** The part of the ledger that the directory reads. */
export interface DirectoryReads {
  keyByHash(hash: string): Promise<Key | undefined>;
  grants(tenant: string): Promise<readonly Grant[]>;
  keys(tenant: string): Promise<readonly Key[]>;
}

/** What a principal may do in a project, and for which routes of approvals it counts. */
export interface Holdings {
  readonly permissions: readonly string[];
  readonly roles: readonly string[];
}

type GrantsBySubject = ReadonlyMap<string, readonly Grant[]>;
type KeysByName = ReadonlyMap<string, readonly Key[]>;

interface Known {
  readonly key: Key;
  readonly principal: Principal;
  /** As far as it was told; wall clock, ms since 1970. */
  usedAt: number;
}

/** What hears of changes, and of keys that are used. */
export interface DirectoryEars {
  /** After every change: who was let in before may no longer be. */
  readonly changed?: () => void;
  /** At most once a minute for each key: no request waits for it. */
  readonly used?: (key: Key, at: number) => void;
}

/** How exact the last use of a key is: each finer step would be a write more. */
const usedStepMs = 60_000;

const keyPattern = /^sbk_[0-9A-HJKMNP-TV-Z]{26}_[A-Za-z0-9_-]{43}$/;
/** Keys and tenants remembered at most; over it the oldest are read again. */
const rememberedMax = 10_000;

export function makeKeyText(idPart: string, secret: string): string {
  return `sbk_${idPart}_${secret}`;
}

export class Directory {
  readonly #reads: DirectoryReads;
  readonly #hash: (text: string) => string;
  /** By the credential itself, so that a known key costs one look-up. */
  readonly #known = new Map<string, Known>();
  readonly #grants = new Map<string, Promise<GrantsBySubject>>();
  readonly #keys = new Map<string, Promise<KeysByName>>();
  readonly #ears: DirectoryEars;
  #changes = 0;

  constructor(reads: DirectoryReads, hash: (text: string) => string, ears: DirectoryEars = {}) {
    this.#reads = reads;
    this.#hash = hash;
    this.#ears = ears;
  }

  /** @throws SignalboxError unauthenticated · token_expired · key_revoked */
  async authenticate(token: string | undefined, now: number): Promise<Principal> {
    if (token === undefined || token === "") {
      throw new SignalboxError("unauthenticated", "no API key was sent; send it as 'Authorization: Bearer <key>'");
    }
    const known = this.#known.get(token) ?? (await this.#lookUp(token));
    if (known === undefined) throw new SignalboxError("unauthenticated", "the API key is not known here");
    const { key, principal } = known;
    requireAlive(key, now);
    if (now - known.usedAt >= usedStepMs) {
      known.usedAt = now;
      this.#ears.used?.(key, now);
    }
    return principal;
  }

  /**
   * For who was let in a while ago. One that has no key here came in by another credential.
   * @throws SignalboxError token_expired · key_revoked
   */
  async requireAlive({ tenant, name, keyId }: Pick<Principal, "tenant" | "name" | "keyId">, now: number): Promise<void> {
    const key = (await this.#keysOf(tenant)).get(name)?.find((one) => one.keyId === keyId);
    if (key !== undefined) requireAlive(key, now);
  }

  async #lookUp(token: string): Promise<Known | undefined> {
    if (!keyPattern.test(token)) return undefined;
    const before = this.#changes;
    const key = await this.#reads.keyByHash(this.#hash(token));
    if (key === undefined) return undefined;
    const { tenant, project, principal: name, keyId, roles } = key;
    const principal: Principal = { tenant, project, name, keyId, scopes: new Set(key.scopes), roles };
    const known: Known = { key, principal, usedAt: key.lastUsedAt ?? Number.NEGATIVE_INFINITY };
    // Read before something changed, it may be the old state: a key that was revoked meanwhile must not be remembered as good.
    if (before !== this.#changes) return known;
    if (this.#known.size >= rememberedMax) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(token, known);
    return known;
  }

  /** The permissions that count for this principal in this project now. */
  async permissionsOf(principal: Pick<Principal, "tenant" | "name">, project: string, now: number): Promise<readonly string[]> {
    const granted: string[] = [];
    for (const grant of await this.#liveGrants(principal, project, now)) granted.push(...grant.permissions);
    return granted;
  }

  /** What this principal holds in this project now: permissions by its grants, roles by its key and its grants. */
  async holdingsOf(principal: Pick<Principal, "tenant" | "name" | "roles">, project: string, now: number): Promise<Holdings> {
    const permissions: string[] = [];
    let roles: Set<string> | undefined;
    for (const grant of await this.#liveGrants(principal, project, now)) {
      permissions.push(...grant.permissions);
      if (grant.roles.length > 0) roles = new Set([...(roles ?? principal.roles), ...grant.roles]);
    }
    return { permissions, roles: roles === undefined ? principal.roles : [...roles] };
  }

  /**
   * The same for a principal that is not there: whose call has waited. Its roles are those of all its keys.
   * Undefined when it had keys and none of them is alive: a principal that is locked out has nothing run for it. One that
   * never had a key came in by another credential, and its grants are what counts.
   */
  async holdingsByName(tenant: string, name: string, project: string, now: number): Promise<Holdings | undefined> {
    const had = (await this.#keysOf(tenant)).get(name) ?? [];
    const keys = had.filter((key) => isAlive(key, now));
    if (had.length > 0 && keys.length === 0) return undefined;
    return this.holdingsOf({ tenant, name, roles: [...new Set(keys.flatMap(({ roles }) => roles))] }, project, now);
  }

  async #liveGrants({ tenant, name }: Pick<Principal, "tenant" | "name">, project: string, now: number): Promise<readonly Grant[]> {
    const all = (await this.#grantsOf(tenant)).get(name) ?? [];
    return all.filter((grant) => isAlive(grant, now) && (grant.project === "" || grant.project === project));
  }

  #keysOf(tenant: string): Promise<KeysByName> {
    return remembered(this.#keys, tenant, () => this.#reads.keys(tenant).then((all) => Map.groupBy(all, (key) => key.principal)));
  }

  #grantsOf(tenant: string): Promise<GrantsBySubject> {
    return remembered(this.#grants, tenant, () => this.#reads.grants(tenant).then((all) => Map.groupBy(all, (grant) => grant.subject)));
  }

  /** Forgets what was read of a tenant: its keys and grants changed. */
  changed(tenant: string): void {
    this.#changes++;
    this.#grants.delete(tenant);
    this.#keys.delete(tenant);
    for (const [token, known] of this.#known) if (known.key.tenant === tenant) this.#known.delete(token);
    this.#ears.changed?.();
  }

  /** Another replica has changed something, and nobody says what. */
  allChanged(): void {
    this.#changes++;
    this.#grants.clear();
    this.#keys.clear();
    this.#known.clear();
    this.#ears.changed?.();
  }
}

export function isAlive({ revokedAt, expiresAt }: Pick<Key, "revokedAt" | "expiresAt">, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

function requireAlive({ revokedAt, expiresAt }: Pick<Key, "revokedAt" | "expiresAt">, now: number): void {
  if (revokedAt !== null) throw new SignalboxError("key_revoked", "the API key was revoked; ask for a new one");
  if (expiresAt !== null && expiresAt <= now) throw new SignalboxError("token_expired", "the API key has expired; ask for a new one");
}

/** A failed read must not be remembered as an answer. */
function remembered<T>(known: Map<string, Promise<T>>, tenant: string, read: () => Promise<T>): Promise<T> {
  const there = known.get(tenant);
  if (there !== undefined) return there;
  if (known.size >= rememberedMax) known.delete(known.keys().next().value as string);
  const reading = read();
  known.set(tenant, reading);
  reading.catch(() => {
    if (known.get(tenant) === reading) known.delete(tenant);
  });
  return reading;
}
