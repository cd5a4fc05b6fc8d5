// What calls used, as whoever may read it asks for it: of one's own tenant, or for the platform's operator of any.
import { SignalboxError } from "@signalbox/protocol";
import type { UsageAnswer, UsageQuestion } from "../service-limits.ts";
import { platformTenant, type Asked } from "../tenancy/types.ts";
import { storable, type InvokePorts } from "./invoke.ts";

const all = "*";

export async function usage(
  ports: Pick<InvokePorts, "ledger" | "limits" | "refusals">,
  asked: Asked,
  question: UsageQuestion,
  limit: number,
  cursor?: string,
): Promise<UsageAnswer> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "usage:read", requestId);
  const { tenant: named = principal.tenant, ...narrow } = question;
  if (named !== principal.tenant && principal.tenant !== platformTenant) {
    const details = { field: "tenant", reason: "operator_only" };
    const error = new SignalboxError("forbidden", "only the platform's operator reads another tenant's usage", { details });
    await ports.refusals.refuse(principal, requestId, error, { details });
  }
  if (named !== all && named !== principal.tenant && (await storable(ports.ledger.tenant(named))) === undefined)
    throw new SignalboxError("tenant_not_found", "there is no such tenant");
  const page = await storable(ports.ledger.usage({ ...narrow, tenant: named === all ? null : named }, limit, cursor));
  return { ...page, timeZone: named === all ? null : ports.limits.book.zoneOf(named) };
}
