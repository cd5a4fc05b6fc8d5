// Adds, lists and removes a tenant's webhooks, each act stored together with its audit record.
import { fieldFault, makeId, SignalboxError } from "@signalbox/protocol";
import type { Ledger } from "../ledger/port.ts";
import type { Webhook } from "../ledger/webhooks.ts";
import type { WebhookService } from "../service-governance.ts";
import type { Asked } from "../tenancy/types.ts";
import { act } from "./admin.ts";
import { storable } from "./invoke.ts";
import type { Chance, Clock } from "./ports.ts";
import type { Refusals } from "./refusals.ts";
import { checkTypes, checkUrl, type Checked } from "./webhook-checks.ts";
import { webhookLimits } from "./webhook-limits.ts";
import { secretText } from "./webhook-message.ts";
import type { Seal, WebhookDoor } from "./webhook-ports.ts";

export interface WebhookAdminPorts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly refusals: Pick<Refusals, "requireScope">;
  /** Base64url without padding. */
  base64url(bytes: Uint8Array): string;
  readonly seal: Seal;
  readonly door: Pick<WebhookDoor, "hostProblem">;
}

export function webhookService(ports: WebhookAdminPorts): WebhookService {
  const { ledger, refusals } = ports;
  /** Additions under way, by tenant: they count towards its limit before they are stored. */
  const adding = new Map<string, number>();
  const mayAsk = (asked: Asked): Promise<void> => refusals.requireScope(asked.principal, "admin", asked.requestId);
  return {
    async addWebhook(asked, url, types) {
      await mayAsk(asked);
      const { tenant } = asked.principal;
      adding.set(tenant, (adding.get(tenant) ?? 0) + 1);
      try {
        return await add(ports, asked, { url, types, underWay: () => adding.get(tenant) ?? 0 });
      } finally {
        const left = (adding.get(tenant) ?? 0) - 1;
        if (left > 0) adding.set(tenant, left);
        else adding.delete(tenant);
      }
    },
    async listWebhooks(asked) {
      await mayAsk(asked);
      return storable(ledger.webhooks(asked.principal.tenant));
    },
    async removeWebhook(asked, webhookId) {
      await mayAsk(asked);
      const write = { op: "remove_webhook", tenant: asked.principal.tenant, webhookId, at: ports.clock.now() } as const;
      const removed = await act(ports, asked, "webhook.removed", write, { webhook_id: webhookId });
      if (!removed) throw new SignalboxError("webhook_not_found", "there is no such webhook");
    },
    async listDeliveries(asked, filter, limit, cursor) {
      await mayAsk(asked);
      return storable(ledger.listDeliveries(asked.principal.tenant, filter, limit, cursor));
    },
  };
}

interface Wanted {
  readonly url: string;
  readonly types: readonly string[];
  /** Additions of this tenant that are not finished, this one included. */
  underWay(): number;
}

async function add(ports: WebhookAdminPorts, asked: Asked, wanted: Wanted): Promise<{ webhook: Webhook; secret: string }> {
  const { tenant, name } = asked.principal;
  const url = good("url", checkUrl(wanted.url));
  const types = good("types", checkTypes(wanted.types));
  const problem = ports.door.hostProblem(url.hostname);
  if (problem !== undefined) throw invalid("url", problem);
  await requireRoom(ports, tenant, wanted);
  const now = ports.clock.now();
  const webhookId = makeId("whk", now, ports.chance.bytes(10));
  const secret = secretText(ports.base64url(ports.chance.bytes(webhookLimits.secretBytes)));
  const sealedSecret = ports.seal.seal([tenant, webhookId], secret);
  const webhook: Webhook = { tenant, webhookId, url: url.href, sealedSecret, types, createdAt: now, createdBy: name };
  // Its origin alone: path and query of many receivers are secrets in themselves, and more people read the audit.
  const details = { webhook_id: webhookId, origin: url.origin, types };
  if (!(await act(ports, asked, "webhook.created", { op: "insert_webhook", row: webhook }, details))) {
    throw new SignalboxError("conflict", "a webhook of this id exists already; try again");
  }
  return { webhook, secret };
}

/** Counts what is under way too, so that additions at the same time cannot pass the limit together. */
async function requireRoom(ports: WebhookAdminPorts, tenant: string, wanted: Wanted): Promise<void> {
  const { webhooksPerTenantMax } = webhookLimits;
  const stored = await storable(ports.ledger.webhooks(tenant));
  if (stored.length + wanted.underWay() <= webhooksPerTenantMax) return;
  throw new SignalboxError("conflict", `a tenant has at most ${webhooksPerTenantMax} webhooks; remove one first: signalbox webhooks remove <id>`, {
    details: { webhooks_per_tenant_max: webhooksPerTenantMax },
  });
}

function good<T>(field: string, checked: Checked<T>): T {
  if (checked.ok) return checked.value;
  throw invalid(field, checked.problem);
}

const invalid = (field: string, problem: string): SignalboxError => new SignalboxError("invalid_input", problem, { details: { fields: [fieldFault(`/${field}`, "format", problem)] } });
