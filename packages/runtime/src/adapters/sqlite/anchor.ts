// Keeps the audit's anchor: all chain heads under one mac, in a file beside the database.
//
// It finds what the database alone cannot tell: a tail that was cut together with its head, or an older copy of the
// whole database. Whoever can write both files and put older copies of both back is not found by it; for that, records
// have to leave the machine.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { anchorMac, type AuditHead, type Hmac } from "../../ledger/audit-chain.ts";

export type ReadAnchor =
  | { readonly kind: "valid"; readonly heads: readonly AuditHead[] }
  | { readonly kind: "missing" }
  | { readonly kind: "edited" };

/** The anchor is rewritten at most this often; a crash loses at most this much of its knowledge. */
const anchorEveryMs = 1_000;

/** Where the anchor of a database file stands. */
export function anchorPathOf(databasePath: string): string {
  return join(dirname(databasePath), "audit.anchor");
}

function isHead(value: unknown): value is AuditHead {
  if (typeof value !== "object" || value === null) return false;
  const head = value as Record<string, unknown>;
  return (
    typeof head["tenant"] === "string" &&
    typeof head["lane"] === "string" &&
    Number.isSafeInteger(head["seq"]) &&
    typeof head["hash"] === "string"
  );
}

function parsedAnchor(text: string, hmac: Hmac): ReadAnchor {
  try {
    const anchor = JSON.parse(text) as { heads?: unknown; mac?: unknown } | null;
    const heads = anchor?.heads;
    if (!Array.isArray(heads) || !heads.every(isHead)) return { kind: "edited" };
    return anchorMac(hmac, heads) === anchor?.mac ? { kind: "valid", heads } : { kind: "edited" };
  } catch {
    return { kind: "edited" };
  }
}

/** @throws when the file is there and cannot be read */
export function readAnchor(path: string, hmac: Hmac): ReadAnchor {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { kind: "missing" };
    throw error;
  }
  return parsedAnchor(text, hmac);
}

const laneKey = (tenant: string, lane: string): string => JSON.stringify([tenant, lane]);

export interface AnchorOptions {
  readonly path: string;
  readonly hmac: Hmac;
  /** The heads that the database holds now. */
  readonly heads: () => readonly AuditHead[];
  /** Others have written audit before, and this process never has: that there is no file yet is as it should be. */
  readonly isNewcomer?: boolean;
  readonly onError: (error: Error) => void;
}

export class Anchor {
  readonly #options: AnchorOptions;
  /** The furthest head seen of each lane: an anchor never goes back, also when the database did. */
  readonly #furthest = new Map<string, AuditHead>();
  /** False while the file is missing or edited: writing a new one would hide that. */
  #trusted: boolean;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: AnchorOptions) {
    this.#options = options;
    const anchor = readAnchor(options.path, options.hmac);
    const unused = anchor.kind === "missing" && (options.isNewcomer === true || options.heads().length === 0);
    this.#trusted = anchor.kind === "valid" || unused;
    if (anchor.kind === "valid") this.#remember(anchor.heads);
    if (unused) this.#writeNow();
    if (!this.#trusted) {
      const what = anchor.kind === "missing" ? "is missing" : "was not written with this audit key";
      options.onError(
        new Error(
          `The audit anchor ${options.path} ${what}. Verify the audit and find out who changed the file; it is left as it is.`,
        ),
      );
    }
  }

  /** The lane's last record as the anchor knows it. */
  head(tenant: string, lane: string): AuditHead | undefined {
    return this.#furthest.get(laneKey(tenant, lane));
  }

  /** Says that heads have moved. */
  touch(): void {
    if (!this.#trusted || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#writeBehind();
    }, anchorEveryMs);
    this.#timer.unref();
  }

  /** An operator's word that the present records are the ones to guard from here on. */
  renew(): void {
    this.#furthest.clear();
    this.#trusted = true;
    this.#writeNow();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    clearTimeout(this.#timer); // a failed write asks for another one
    if (this.#trusted) this.#writeNow();
  }

  #remember(heads: readonly AuditHead[]): void {
    for (const head of heads) {
      const key = laneKey(head.tenant, head.lane);
      if (head.seq > (this.#furthest.get(key)?.seq ?? 0)) this.#furthest.set(key, head);
    }
  }

  #text(): string {
    this.#remember(this.#options.heads());
    const heads = [...this.#furthest.values()];
    return JSON.stringify({ heads, mac: anchorMac(this.#options.hmac, heads) });
  }

  /** Written and synced under another name first: a crash leaves the old anchor or the new one, never half of one. */
  async #writeBehind(): Promise<void> {
    try {
      const file = await open(`${this.#options.path}.next`, "w", 0o600);
      try {
        await file.writeFile(this.#text());
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${this.#options.path}.next`, this.#options.path);
    } catch (error) {
      this.#failed(error);
      this.touch();
    }
  }

  #writeNow(): void {
    try {
      const file = openSync(`${this.#options.path}.next`, "w", 0o600);
      try {
        writeSync(file, this.#text());
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(`${this.#options.path}.next`, this.#options.path);
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#options.onError(
      new Error("The audit anchor could not be written; check the data folder. It is tried again.", { cause: error }),
    );
  }
}

/** What came along with a ledger from elsewhere: the text of its anchor, or, where none belonged to it, the key for a new one. */
export type CarriedAnchor = { readonly text: string } | { readonly renewedWith: Hmac };

/** @param carried undefined: it was missing, and so it stays */
export function writeCarriedAnchor(path: string, carried: CarriedAnchor | undefined, heads: readonly AuditHead[]): void {
  if (carried === undefined) return;
  if ("text" in carried) return writeFileSync(path, carried.text, { mode: 0o600 });
  new Anchor({ path, hmac: carried.renewedWith, heads: () => heads, onError: () => undefined }).renew();
}
