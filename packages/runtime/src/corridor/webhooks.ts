// Plugs webhooks together: what administrators ask of them, and the deliverer that carries notices.
import type { Ledger } from "../ledger/port.ts";
import type { WebhookService } from "../service-governance.ts";
import type { Clock, Chance, Hash, Log, Meters } from "./ports.ts";
import type { Refusals } from "./refusals.ts";
import type { Seal, WebhookDoor } from "./webhook-ports.ts";
import { webhookService } from "./webhooks-admin.ts";
import { Deliverer } from "./webhooks-deliverer.ts";

export interface WebhookPorts {
  readonly replica: string;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly hash: Hash;
  /** Base64url without padding. */
  base64url(bytes: Uint8Array): string;
  readonly meters: Meters;
  readonly log: Log;
  readonly refusals: Refusals;
  readonly door: WebhookDoor;
  readonly seal: Seal;
}

export interface Webhooks {
  readonly service: WebhookService;
  /** Goes on with the deliveries of the ledger; after recovery. */
  start(): void;
  /** Another replica delivers: what is under way goes on, and nothing new begins. */
  rest(): void;
  /** After every commit that appended a notice. */
  poke(): void;
  /** Before the ledger is closed. */
  stop(): Promise<void>;
}

export function createWebhooks(ports: WebhookPorts): Webhooks {
  const deliverer = new Deliverer(ports);
  return {
    service: webhookService(ports),
    start: () => deliverer.start(),
    rest: () => deliverer.rest(),
    poke: () => deliverer.poke(),
    stop: () => deliverer.stop(),
  };
}
