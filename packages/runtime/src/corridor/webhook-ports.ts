// What webhooks need of the world: a door that posts, dials only where it may and signs, and a seal that keeps secrets shut in the ledger.

export interface WebhookPost {
  /** http or https, without credentials. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Ends the attempt; its reason is an Error whose message says why. */
  readonly signal: AbortSignal;
}

/** What came of one attempt; `status` null: no answer, for the reason in `error`. */
export type WebhookAnswer =
  | { readonly status: number; /** The header `Retry-After` as it came. */ readonly retryAfter: string | null }
  | { readonly status: null; readonly error: string };

export interface WebhookDoor {
  /** Resolves, also when the signal aborts; follows no redirect. */
  send(post: WebhookPost): Promise<WebhookAnswer>;
  /** Why this host (as `URL.hostname` tells it) is known, without a look-up, to be refused at every attempt. */
  hostProblem(hostname: string): string | undefined;
  /** HMAC-SHA-256 of the UTF-8 text, as base64. @param keyBase64 the secret without its prefix */
  sign(keyBase64: string, text: string): string;
}

/** `about` is bound to what is sealed: a text that was moved to another place does not open there. */
export interface Seal {
  seal(about: readonly string[], text: string): string;
  /** undefined: it was made by another key, for another place, or is damaged. */
  open(about: readonly string[], sealed: string): string | undefined;
}
