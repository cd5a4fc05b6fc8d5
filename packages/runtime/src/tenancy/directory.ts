// Turns a credential into a principal and answers what that principal has been granted.
import { SignalboxError } from "@signalbox/protocol";
import type { Grant, Key, Principal } from "./types.ts";

/** The part of the ledger that the directory reads. */
export interface DirectoryReads {
  keyByHash(hash: string): Promise<Key | undefined>;
  grants(tenant: string): Promise<readonly Grant[]>;
}

type GrantsBySubject = ReadonlyMap<string, readonly Grant[]>;

interface Known {
  readonly key: Key;
  readonly principal: Principal;
}

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
  #changes = 0;

  constructor(reads: DirectoryReads, hash: (text: string) => string) {
    this.#reads = reads;
    this.#hash = hash;
  }

  /** @throws SignalboxError unauthenticated · token_expired · key_revoked */
  async authenticate(token: string | undefined, now: number): Promise<Principal> {
    if (token === undefined || token === "") {
      throw new SignalboxError("unauthenticated", "no API key was sent; send it as 'Authorization: Bearer <key>'");
    }
    const known = this.#known.get(token) ?? (await this.#lookUp(token));
    if (known === undefined) throw new SignalboxError("unauthenticated", "the API key is not known here");
    const { key, principal } = known;
    if (key.revokedAt !== null) throw new SignalboxError("key_revoked", "the API key was revoked; ask for a new one");
    if (key.expiresAt !== null && key.expiresAt <= now) throw new SignalboxError("token_expired", "the API key has expired; ask for a new one");
    return principal;
  }

  async #lookUp(token: string): Promise<Known | undefined> {
    if (!keyPattern.test(token)) return undefined;
    const before = this.#changes;
    const key = await this.#reads.keyByHash(this.#hash(token));
    if (key === undefined) return undefined;
    const { tenant, project, principal: name, keyId, roles } = key;
    const known: Known = { key, principal: { tenant, project, name, keyId, scopes: new Set(key.scopes), roles } };
    // Read before something changed, it may be the old state: a key that was revoked meanwhile must not be remembered as good.
    if (before !== this.#changes) return known;
    if (this.#known.size >= rememberedMax) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(token, known);
    return known;
  }

  /** The permissions that count for this principal in this project now. */
  async permissionsOf(principal: Principal, project: string, now: number): Promise<readonly string[]> {
    const granted: string[] = [];
    for (const grant of (await this.#grantsOf(principal.tenant)).get(principal.name) ?? []) {
      if (grant.revokedAt !== null) continue;
      if (grant.expiresAt !== null && grant.expiresAt <= now) continue;
      if (grant.project === "" || grant.project === project) granted.push(...grant.permissions);
    }
    return granted;
  }

  #grantsOf(tenant: string): Promise<GrantsBySubject> {
    let grants = this.#grants.get(tenant);
    if (grants === undefined) {
      if (this.#grants.size >= rememberedMax) this.#grants.delete(this.#grants.keys().next().value as string);
      const reading = this.#reads.grants(tenant).then((all) => Map.groupBy(all, (grant) => grant.subject));
      this.#grants.set(tenant, reading);
      // A failed read must not be remembered as an answer.
      reading.catch(() => {
        if (this.#grants.get(tenant) === reading) this.#grants.delete(tenant);
      });
      grants = reading;
    }
    return grants;
  }

  /** Forgets what was read of a tenant: its keys and grants changed. */
  changed(tenant: string): void {
    this.#changes++;
    this.#grants.delete(tenant);
    for (const [token, known] of this.#known) if (known.key.tenant === tenant) this.#known.delete(token);
  }
}
