// `signalbox webhooks`: who outside hears of approvals, and what became of each delivery.
import type { Delivery, DeliveryState } from "@signalbox/client";
import { Option } from "commander";
import type { Command } from "commander";
import { givenOnly, pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { facts } from "../table.ts";
import { plainLine } from "../text.ts";
import { relativeText } from "../times.ts";

interface PageOptions {
  readonly limit?: string;
  readonly cursor?: string;
}

interface DeliveryOptions extends PageOptions {
  readonly webhook?: string;
  readonly state?: DeliveryState;
}

const typesText = (types: readonly string[]): string => (types.length === 0 ? "(all)" : types.join(" "));

export function addWebhooks(program: Command, runs: Runs): void {
  const webhooks = program.command("webhooks").description("tell other programs of approvals, signed");
  runs.online<{ readonly type?: readonly string[] }>(
    webhooks
      .command("add")
      .description("add a webhook and print its signing secret, this once")
      .argument("<url>", "where notices are sent")
      .option("--type <types...>", "these notices only: approval.requested, approval.approved …"),
    addWebhook,
  );
  runs.online<PageOptions>(
    pageOptions(webhooks.command("list").description("every webhook; secrets are never shown again")),
    listWebhooks,
  );
  runs.online(webhooks.command("remove").description("send it nothing any more").argument("<webhook-id>"), remove);
  runs.online<DeliveryOptions>(
    pageOptions(
      webhooks
        .command("deliveries")
        .description("what was sent, and what became of it")
        .option("--webhook <webhook-id>", "to this webhook only")
        .addOption(new Option("--state <state>", "in this state only").choices(["pending", "delivered", "dead"])),
    ),
    listDeliveries,
  );
}

async function addWebhook(
  session: OnlineSession,
  [url = ""]: readonly string[],
  { type }: { readonly type?: readonly string[] },
): Promise<Outcome> {
  const webhook = await session.client.webhooks.add({ url, ...givenOnly({ types: type }) }, session);
  session.print(webhook, () =>
    facts(
      [
        ["webhook", webhook.webhook_id],
        ["url", webhook.url],
        ["notices", typesText(webhook.types)],
        ["secret", webhook.secret],
      ],
      session.paint.dim,
    ),
  );
  session.remark("the secret is shown this once; the receiver checks each delivery's signature with it");
}

async function listWebhooks(session: OnlineSession, _args: readonly string[], options: PageOptions): Promise<Outcome> {
  const page = await session.client.webhooks.list(pageFlags(options), session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "WEBHOOK", cell: (one) => one.webhook_id },
      { title: "URL", cell: (one) => one.url, shrinks: true },
      { title: "NOTICES", cell: (one) => typesText(one.types), shrinks: true },
      { title: "CREATED", cell: (one) => relativeText(Date.parse(one.created_at), now) },
      { title: "BY", cell: (one) => one.created_by, shrinks: true },
    ]),
  );
  remarkMore(session, page);
}

async function remove(session: OnlineSession, [id = ""]: readonly string[]): Promise<Outcome> {
  await session.client.webhooks.remove(id, session);
  session.print({ webhook_id: id, removed: true }, () => `${plainLine(id)} is removed\n`);
}

async function listDeliveries(
  session: OnlineSession,
  _args: readonly string[],
  options: DeliveryOptions,
): Promise<Outcome> {
  const query = { ...givenOnly({ webhook_id: options.webhook, state: options.state }), ...pageFlags(options) };
  const page = await session.client.webhooks.deliveries(query, session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "DELIVERY", cell: (one) => one.delivery_id },
      { title: "WEBHOOK", cell: (one) => one.webhook_id },
      { title: "NOTICE", cell: (one) => one.type },
      { title: "APPROVAL", cell: (one) => one.approval_id },
      { title: "STATE", cell: (one) => one.state, paint: (text, one) => paintState(session, one)(text) },
      { title: "TRIES", cell: (one) => String(one.attempts), align: "right" },
      { title: "LAST", cell: lastText, shrinks: true },
      { title: "NEXT", cell: (one) => (one.next_at === null ? "" : relativeText(Date.parse(one.next_at), now)) },
    ]),
  );
  remarkMore(session, page);
}

function paintState({ paint }: OnlineSession, { state }: Delivery): (text: string) => string {
  if (state === "delivered") return paint.green;
  return state === "dead" ? paint.red : paint.yellow;
}

function lastText({ last_status: status, last_error: error }: Delivery): string {
  return [status === null ? [] : [`HTTP ${status}`], error === null ? [] : [error]].flat().join(": ");
}
