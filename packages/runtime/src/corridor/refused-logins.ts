// Who keeps asking with credentials that are refused is told to wait. A credential that is good is never held up by it.
import { SignalboxError, timeInWords } from "@signalbox/protocol";
import { Buckets, type Wanted } from "../schedule/buckets.ts";
import { keyIdPartOf } from "../tenancy/directory.ts";
import type { Clock, Meters } from "./ports.ts";

export const loginBounds = {
  /** Of one key, told by the part that is no secret; all that look like no key count as one. */
  perKeyPerMinute: 60,
  perKeyBurst: 100,
  /** Of all together: made-up keys are each another one. */
  allPerMinute: 6_000,
  allBurst: 1_000,
} as const;

const perKey = { perMinute: loginBounds.perKeyPerMinute, burst: loginBounds.perKeyBurst };
const ofAll = { perMinute: loginBounds.allPerMinute, burst: loginBounds.allBurst };

export class RefusedLogins {
  readonly #ports: { readonly clock: Clock; readonly meters: Meters };
  readonly #buckets = new Buckets();

  constructor(ports: { readonly clock: Clock; readonly meters: Meters }) {
    this.#ports = ports;
  }

  /** @returns what to answer instead of the refusal, which it names; undefined while there are few */
  tooMany(token: string | undefined, refusal: SignalboxError): SignalboxError | undefined {
    const wanted: readonly Wanted[] = [
      { limitKey: "key", subject: keyIdPartOf(token) ?? "", rate: perKey },
      { limitKey: "all", subject: "", rate: ofAll },
    ];
    const taken = this.#buckets.take(wanted, Math.floor(this.#ports.clock.monotonic()));
    if (taken.ok) return undefined;
    this.#ports.meters.count("limit_refusals_total", { scope: "login", limit: "rate" });
    const afterS = Math.ceil(taken.waitMs / 1_000);
    return new SignalboxError("rate_limited", `too many refused logins (${refusal.message}); come again in ${timeInWords(afterS * 1_000)}`, {
      details: { scope: "login", refused_as: refusal.code, retry_after_s: afterS },
    });
  }
}
