// Conformance: a notice brings a delivery for every webhook that wants it, and a delivery moves until it has ended.
import { expect } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { Delivery, Notice, Webhook } from "../../packages/runtime/src/ledger/webhooks.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { approved, sampleApproval, sampleNotice, sampleWebhook } from "./ledger-governance-rows.ts";
import { dayStart } from "./ledger-rows.ts";

const applied = { applied: true };
const refused = { applied: false, write: 0 };

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const notify = (ledger: Ledger, fields: Partial<Notice> = {}) =>
  commit(ledger, { op: "append_notice", notice: sampleNotice(fields) });

async function addHooks(ledger: Ledger, ...rows: readonly Webhook[]): Promise<void> {
  for (const row of rows) expect(await commit(ledger, { op: "insert_webhook", row })).toEqual(applied);
}

const fresh = { state: "pending", attempts: 0, endedAt: null, lastStatus: null, lastError: null };

/** `webhook notice-type` of each delivery. */
const words = (deliveries: readonly Delivery[]): string[] =>
  deliveries.map(({ webhookId, notice }) => `${webhookId} ${notice.type}`);

async function dueWords(ledger: Ledger, until: number): Promise<string[]> {
  return words((await ledger.dueDeliveries(until, 100)).map(({ delivery }) => delivery));
}

async function only(ledger: Ledger): Promise<Delivery> {
  const { items } = await ledger.listDeliveries("acme", {}, 10);
  expect(items).toHaveLength(1);
  return items[0] as Delivery;
}

function webhookCases(ledgerCase: LedgerCase): void {
  ledgerCase("webhooks come back as they were, oldest first, and are made once", async ({ ledger, reopen }) => {
    const second = sampleWebhook({ webhookId: "whk_1", createdAt: dayStart + 1, types: ["approval.requested", "ä"] });
    const first = sampleWebhook({ webhookId: "whk_2" });
    const foreign = sampleWebhook({ webhookId: "whk_1", tenant: "globex", sealedSecret: "☂ '\"", url: "" });
    await addHooks(ledger, second, first, foreign);
    const again: Write = { op: "insert_webhook", row: { ...first, url: "https://elsewhere.example" } };
    expect(await commit(ledger, again)).toEqual(refused);
    const reopened = await reopen();
    expect(await reopened.webhooks("acme")).toEqual([first, second]);
    expect(await reopened.webhooks("globex")).toEqual([foreign]);
    expect(await reopened.webhooks("initech")).toEqual([]);
  });

  ledgerCase("a webhook is removed once, and what is on its way to it is dead", async ({ ledger }) => {
    const gone = sampleWebhook({ webhookId: "whk_1" });
    await addHooks(ledger, gone, sampleWebhook({ webhookId: "whk_2" }), { ...gone, tenant: "globex" });
    await notify(ledger, { type: "approval.voted" });
    await notify(ledger, { type: "approval.approved" });
    await notify(ledger, { tenant: "globex" });
    const [delivered] = (await ledger.listDeliveries("acme", { webhookId: "whk_1" }, 10)).items;
    const ended = { ...(delivered as Delivery), state: "delivered", attempts: 1, nextAt: null, endedAt: 5 } as const;
    await commit(ledger, { op: "put_delivery", row: ended });

    const remove = (tenant: string, webhookId: string) =>
      commit(ledger, { op: "remove_webhook", tenant, webhookId, at: 77 });
    expect(await remove("acme", "whk_3")).toEqual(refused);
    expect(await remove("initech", "whk_1")).toEqual(refused);
    expect(await remove("acme", "whk_1")).toEqual(applied);
    expect(await remove("acme", "whk_1")).toEqual(refused);
    expect((await ledger.webhooks("acme")).map(({ webhookId }) => webhookId)).toEqual(["whk_2"]);
    const [kept, dead] = (await ledger.listDeliveries("acme", { webhookId: "whk_1" }, 10)).items;
    expect(kept).toEqual(ended);
    const why = { state: "dead", endedAt: 77, nextAt: null, lastError: "the webhook was removed", attempts: 0 };
    expect(dead).toMatchObject(why);
    expect(await dueWords(ledger, dayStart)).toEqual([
      "whk_2 approval.voted",
      "whk_2 approval.approved",
      "whk_1 approval.requested",
    ]);
    await notify(ledger, { type: "approval.expired" });
    expect(await dueWords(ledger, dayStart)).not.toContain("whk_1 approval.expired");
  });
}

function toldCases(ledgerCase: LedgerCase): void {
  ledgerCase("a notice goes to each webhook of its tenant that wants its type", async ({ ledger }) => {
    await addHooks(
      ledger,
      sampleWebhook({ webhookId: "whk_all" }),
      sampleWebhook({ webhookId: "whk_both", types: ["approval.approved", "approval.requested"] }),
      sampleWebhook({ webhookId: "whk_none", types: ["approval", "approval.requested.x"] }),
      sampleWebhook({ webhookId: "whk_foreign", tenant: "globex" }),
    );
    const data = { count: 3, ratio: 0.1, none: null, list: [], text: "☂ 'a'", deep: { b: true } };
    await notify(ledger, { at: 500, data });
    await notify(ledger, { type: "approval.voted", at: 400 });
    const due = await ledger.dueDeliveries(1_000, 10);
    const told = words(due.map(({ delivery }) => delivery));
    expect(told[0]).toBe("whk_all approval.voted");
    // Deliveries of one notice stand in the order of their ids, which say nothing.
    expect(told.slice(1).sort()).toEqual(["whk_all approval.requested", "whk_both approval.requested"]);
    const toBoth = due.find(({ webhook }) => webhook.webhookId === "whk_both");
    expect(toBoth).toEqual({
      delivery: {
        ...fresh,
        tenant: "acme",
        deliveryId: expect.stringMatching(/^dlv_\w+$/),
        webhookId: "whk_both",
        notice: sampleNotice({ at: 500, data }),
        nextAt: 500,
      },
      webhook: sampleWebhook({ webhookId: "whk_both", types: ["approval.approved", "approval.requested"] }),
    });
    expect(new Set(due.map(({ delivery }) => delivery.deliveryId)).size).toBe(3);
    expect((await ledger.listDeliveries("globex", {}, 10)).items).toEqual([]);
  });

  ledgerCase("a notice that nobody wants is taken, and a webhook hears of what comes after it", async ({ ledger }) => {
    expect(await notify(ledger)).toEqual(applied);
    await addHooks(ledger, sampleWebhook({ webhookId: "whk_1" }));
    expect(await dueWords(ledger, dayStart)).toEqual([]);
    expect(await ledger.nextDeliveryAt()).toBeUndefined();
    await notify(ledger, { type: "approval.voted" });
    expect(await dueWords(ledger, dayStart)).toEqual(["whk_1 approval.voted"]);
  });

  ledgerCase("a unit that is refused tells nobody", async ({ ledger }) => {
    await addHooks(ledger, sampleWebhook({ webhookId: "whk_1" }));
    const row = approved(sampleApproval({ approvalId: "apr_1" }));
    const outcome = await commit(
      ledger,
      { op: "update_approval", expect: { revision: 0 }, row },
      { op: "append_notice", notice: sampleNotice() },
    );
    expect(outcome).toEqual(refused);
    expect((await ledger.listDeliveries("acme", {}, 10)).items).toEqual([]);
  });
}

function deliveryCases(ledgerCase: LedgerCase): void {
  ledgerCase("a delivery moves while it is pending, and not any more after its end", async ({ ledger, reopen }) => {
    await addHooks(ledger, sampleWebhook({ webhookId: "whk_1" }));
    await notify(ledger, { at: 100 });
    const delivery = await only(ledger);
    const put = (row: Delivery) => commit(ledger, { op: "put_delivery", row });
    const failed = { ...delivery, attempts: 1, nextAt: 900, lastStatus: 503, lastError: "busy — später" };
    expect(await put(failed)).toEqual(applied);
    expect(await only(ledger)).toEqual(failed);
    expect(await dueWords(ledger, 899)).toEqual([]);
    expect(await ledger.nextDeliveryAt()).toBe(900);
    const delivered = {
      ...failed,
      state: "delivered",
      attempts: 2,
      nextAt: null,
      endedAt: 901,
      lastStatus: 204,
      lastError: null,
    } as const;
    expect(await put(delivered)).toEqual(applied);
    expect(await put({ ...failed, attempts: 3 })).toEqual(applied);
    expect(await put({ ...delivered, state: "dead" })).toEqual(applied);
    expect(await put({ ...failed, deliveryId: "dlv_unknown" })).toEqual(applied);
    expect(await ledger.nextDeliveryAt()).toBeUndefined();
    expect(await dueWords(ledger, dayStart)).toEqual([]);
    expect(await only(await reopen())).toEqual(delivered);
  });

  ledgerCase("due deliveries come earliest first, of all tenants, and no more than asked", async ({ ledger }) => {
    const foreign = sampleWebhook({ webhookId: "whk_1", tenant: "globex", url: "https://globex.example" });
    await addHooks(ledger, sampleWebhook({ webhookId: "whk_1" }), foreign);
    await notify(ledger, { at: 300, type: "approval.voted" });
    await notify(ledger, { at: 100, type: "approval.requested", tenant: "globex" });
    await notify(ledger, { at: 200, type: "approval.approved" });
    // The same instant: in the order in which they were told.
    await notify(ledger, { at: 200, type: "approval.edited" });
    expect(await ledger.nextDeliveryAt()).toBe(100);
    const due = async (until: number, limit: number) =>
      (await ledger.dueDeliveries(until, limit)).map(({ delivery, webhook }) => {
        expect([webhook.tenant, webhook.webhookId]).toEqual([delivery.tenant, delivery.webhookId]);
        return `${webhook.url} ${delivery.notice.type}`;
      });
    const own = "https://hooks.example/signalbox?to=finance";
    const all = [
      "https://globex.example approval.requested",
      `${own} approval.approved`,
      `${own} approval.edited`,
      `${own} approval.voted`,
    ];
    expect(await due(99, 10)).toEqual([]);
    expect(await due(200, 10)).toEqual(all.slice(0, 3));
    expect(await due(300, 10)).toEqual(all);
    expect(await due(300, 2)).toEqual(all.slice(0, 2));
  });

  ledgerCase("deliveries are listed newest first, filtered, page by page while others come in", async ({ ledger }) => {
    await addHooks(ledger, sampleWebhook({ webhookId: "whk_1" }), sampleWebhook({ webhookId: "whk_2", types: ["b"] }));
    // Both webhooks want b.
    for (const type of ["a", "b", "c", "b", "e"]) await notify(ledger, { type });
    const list = async (filter: Parameters<Ledger["listDeliveries"]>[1]) =>
      words((await ledger.listDeliveries("acme", filter, 100)).items);
    expect(await list({ webhookId: "whk_1" })).toEqual(["whk_1 e", "whk_1 b", "whk_1 c", "whk_1 b", "whk_1 a"]);
    expect(await list({ webhookId: "whk_2" })).toEqual(["whk_2 b", "whk_2 b"]);
    const [newest] = (await ledger.listDeliveries("acme", { webhookId: "whk_1" }, 1)).items;
    const dead = { ...(newest as Delivery), state: "dead", nextAt: null, endedAt: 9 } as const;
    await commit(ledger, { op: "put_delivery", row: dead });
    expect(await list({ state: "dead" })).toEqual(["whk_1 e"]);
    expect(await list({ state: "delivered" })).toEqual([]);
    expect(await list({ webhookId: "whk_2", state: "pending" })).toEqual(["whk_2 b", "whk_2 b"]);
    expect(await list({ webhookId: "whk_2", state: "dead" })).toEqual([]);

    const whole = await list({});
    expect(whole.map((word) => word.split(" ")[1])).toEqual(["e", "b", "b", "c", "b", "b", "a"]);
    const met: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await ledger.listDeliveries("acme", {}, 2, cursor);
      met.push(...words(page.items));
      cursor = page.next;
      await notify(ledger, { type: "later" });
    } while (cursor !== undefined);
    expect(met).toEqual(whole);
    await expect(ledger.listDeliveries("acme", {}, 2, "%%%")).rejects.toMatchObject({ code: "invalid_input" });
  });
}

export function noticeCases(ledgerCase: LedgerCase): void {
  webhookCases(ledgerCase);
  toldCases(ledgerCase);
  deliveryCases(ledgerCase);
}
