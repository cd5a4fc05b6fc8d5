// Webhooks on a real ledger with a clock by hand: a post office whose receivers answer when the test says so, and one of real HTTP.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { base64url, sha256, systemChance } from "../../packages/runtime/src/adapters/system/crypto.ts";
import { createSeal } from "../../packages/runtime/src/adapters/system/seal.ts";
import { webhookDoor } from "../../packages/runtime/src/adapters/webhooks/door.ts";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import type { Labels } from "../../packages/runtime/src/corridor/ports.ts";
import { Refusals } from "../../packages/runtime/src/corridor/refusals.ts";
import type { WebhookAnswer, WebhookDoor, WebhookPost } from "../../packages/runtime/src/corridor/webhook-ports.ts";
import { createWebhooks, type Webhooks } from "../../packages/runtime/src/corridor/webhooks.ts";
import { LedgerUnavailable, type CommitOutcome, type Unit } from "../../packages/runtime/src/ledger/port.ts";
import type { Delivery, DueDelivery, Webhook } from "../../packages/runtime/src/ledger/webhooks.ts";
import { HandClock, settled } from "./hand-clock.ts";

/** 2001-09-09T01:46:40.000Z */
export const sentAt = 1_000_000_000_000;

/** The real ledger, with a switch for a disk that is full and one for a store that cannot be read. */
export class NoticeLedger extends SqliteLedger {
  full = false;
  unreadable = false;
  /** Commits that were refused because of `full`. */
  refused = 0;
  /** What is due passes through it after it was read. */
  onDue: ((due: readonly DueDelivery[]) => Promise<readonly DueDelivery[]>) | undefined;

  override commit(unit: Unit): Promise<CommitOutcome> {
    if (!this.full) return super.commit(unit);
    this.refused++;
    return Promise.reject(new LedgerUnavailable("the disk is full"));
  }
  override async dueDeliveries(until: number, limit: number): Promise<readonly DueDelivery[]> {
    if (this.unreadable) throw new LedgerUnavailable("the store is away");
    const due = await super.dueDeliveries(until, limit);
    return this.onDue === undefined ? due : this.onDue(due);
  }
}

/** One post that waits for its answer. */
export interface Posted extends WebhookPost {
  answer(answer: number | WebhookAnswer): void;
}

/** Receivers by hand. Like the real door it gives up when the signal aborts. */
export class HandDoor implements WebhookDoor {
  readonly posts: Posted[] = [];
  /** Answers every post at once; undefined: they wait. */
  answers: ((post: WebhookPost) => number | undefined) | undefined;
  readonly sign = webhookDoor({ version: "0.0.0", allowPrivate: false }).sign;

  hostProblem(hostname: string): string | undefined {
    return hostname === "10.0.0.1" ? "10.0.0.1 is private" : undefined;
  }

  send(post: WebhookPost): Promise<WebhookAnswer> {
    const { promise, resolve } = Promise.withResolvers<WebhookAnswer>();
    const answer = (given: number | WebhookAnswer): void =>
      resolve(typeof given === "number" ? { status: given, retryAfter: null } : given);
    post.signal.addEventListener("abort", () => answer({ status: null, error: (post.signal.reason as Error).message }));
    this.posts.push({ ...post, answer });
    const now = this.answers?.(post);
    if (now !== undefined) answer(now);
    return promise;
  }

  /** Posts so far, by the path of their url. */
  get paths(): string[] {
    return this.posts.map(({ url }) => new URL(url).pathname);
  }
}

export class PostOffice {
  readonly clock: HandClock;
  readonly ledger: NoticeLedger;
  readonly webhooks: Webhooks;
  readonly logged: (readonly [level: string, message: string, fields: Readonly<Record<string, unknown>>])[] = [];
  readonly outcomes: string[] = [];
  readonly seal = createSeal(Buffer.alloc(32, 7), "webhook secrets");
  readonly #folder: string;

  /** @param before an office whose process ended: its data folder and its clock go on */
  constructor(door: WebhookDoor, before?: PostOffice) {
    const clock = before?.clock ?? new HandClock(sentAt);
    this.clock = clock;
    this.#folder = before === undefined ? mkdtempSync(join(tmpdir(), "webhooks-")) : before.#folder;
    this.ledger = new NoticeLedger({ path: join(this.#folder, "ledger.db"), auditKey: Buffer.alloc(32, 7), lane: "r1", now: () => clock.now() });
    const { ledger } = this;
    const say = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => void this.logged.push([level, message, fields]);
    const log = { info: say("info"), warn: say("warn"), error: say("error") };
    const meters = {
      count: (name: string, labels: Labels = {}) => void (name === "webhook_deliveries_total" && this.outcomes.push(labels["outcome"] ?? "")),
      observe: () => undefined,
      text: async () => "",
    };
    const refusals = new Refusals({ ledger, clock, meters, log });
    const parts = { ledger, clock, meters, log, refusals, door, seal: this.seal };
    this.webhooks = createWebhooks({ ...parts, replica: "r1", chance: systemChance(), hash: sha256, base64url });
  }

  /** A webhook at `https://example.com/<id>`, or wherever `more` says. Its secret is `whsec_` + base64 of its id. */
  async add(webhookId: string, tenant = "acme", more: Partial<Webhook> = {}): Promise<Webhook> {
    const sealedSecret = this.seal.seal([tenant, webhookId], `whsec_${Buffer.from(webhookId).toString("base64")}`);
    const base = { tenant, webhookId, url: `https://example.com/${webhookId}`, sealedSecret, types: [], createdAt: sentAt, createdBy: "user:root" };
    const row = { ...base, ...more };
    await this.ledger.commit({ writes: [{ op: "insert_webhook", row }] });
    return row;
  }

  /** Notices of approvals apr_1 … apr_<count>, in one unit; then a poke. */
  async tell(count = 1, tenant = "acme", type = "approval.requested"): Promise<void> {
    const writes = Array.from({ length: count }, (_, at) => {
      const notice = { type, tenant, approvalId: `apr_${at + 1}`, at: this.clock.now(), data: { tool: "pay", expires_at: sentAt + 60_000 } };
      return { op: "append_notice", notice } as const;
    });
    await this.ledger.commit({ writes });
    this.webhooks.poke();
  }

  /** Oldest first. */
  async deliveries(tenant = "acme"): Promise<readonly Delivery[]> {
    return (await this.ledger.listDeliveries(tenant, {}, 1_000)).items.toReversed();
  }

  /** Ends the process, as far as anybody outside can tell. */
  async kill(): Promise<void> {
    await this.webhooks.stop();
    this.ledger.full = false;
    await this.ledger.close();
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Waits, by turns of the event loop and not by time, until it is so. @throws Error when it never is */
export async function until(so: () => boolean | Promise<boolean>): Promise<void> {
  for (let turns = 0; turns < 5_000; turns++) {
    if (await so()) return;
    await settled();
  }
  throw new Error("it did not come to this");
}

export interface Received {
  readonly message: IncomingMessage;
  readonly body: string;
  /** The address that was dialled. */
  readonly dialled: string | undefined;
}

/** A receiver on loopback. `answer` gets what came and may keep silent. */
export class Receiver {
  readonly received: Received[] = [];
  readonly #server: Server;
  #waiting: (() => void)[] = [];

  constructor(answer: (response: ServerResponse, received: Received) => void) {
    this.#server = createServer((message, response) => {
      const chunks: Buffer[] = [];
      message.on("data", (chunk: Buffer) => chunks.push(chunk));
      message.on("end", () => {
        const received = { message, body: Buffer.concat(chunks).toString("utf8"), dialled: message.socket.localAddress };
        this.received.push(received);
        answer(response, received);
        for (const wake of this.#waiting.splice(0)) wake();
      });
    });
  }

  /** @returns the origin, without a path */
  async open(): Promise<string> {
    await new Promise<void>((resolve) => void this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async until(count: number): Promise<void> {
    while (this.received.length < count) await new Promise<void>((resolve) => void this.#waiting.push(resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }
}
