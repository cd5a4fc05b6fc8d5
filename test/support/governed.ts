// A corridor with rules and people: policies published through the service, voters with keys and roles, workers that answer by hand.
import type { ApprovalDetail, NewVote, VoteAnswer } from "../../packages/runtime/src/service-governance.ts";
import { newTenant } from "../../packages/runtime/src/tenancy/tenant.ts";
import type { Asked } from "../../packages/runtime/src/tenancy/types.ts";
import { at0 } from "./calls.ts";
import { asked, Corridor } from "./corridor.ts";
import { policyDocument, type RuleText } from "./manifests.ts";

export { ask, deny, policyDocument, type RuleText } from "./manifests.ts";

/** The one who writes rules and tools in `acme`, and looks at everything. */
export const admin: Asked = asked({ name: "user:root", scopes: new Set(["*"]) });
/** Who may decide, and holds these roles by its key. */
export function voter(name: string, ...roles: readonly string[]): Asked {
  return asked({ name: `user:${name}`, keyId: `key_${name}`, scopes: new Set(["approvals:decide", "calls:read"]), roles });
}

export class Governed extends Corridor {
  /** A corridor in which user:ann may pay and has a key that is alive. */
  static async open(...args: ConstructorParameters<typeof Corridor>): Promise<Governed> {
    const governed = new Governed(...args);
    await governed.runtime.recover();
    if (args[1] === undefined) {
      await governed.project("acme", "shop", "production");
      await governed.key("user:ann");
      await governed.tool();
      await governed.grant(["*"]);
    }
    return governed;
  }

  async project(tenant: string, project: string, environment: string): Promise<void> {
    await this.ledger.commit({ writes: [{ op: "insert_tenant", row: newTenant(tenant, 1, at0) }] });
    const row = { tenant, project, environment, createdAt: at0 };
    await this.ledger.commit({ writes: [{ op: "put_project", row }] });
    this.runtime.policies.projectChanged(row);
  }

  async key(principal: string, more: { readonly expiresAt?: number; readonly roles?: readonly string[]; readonly tenant?: string } = {}): Promise<string> {
    const { expiresAt = null, roles = [], tenant = "acme" } = more;
    const keyId = `key_of_${principal}`;
    const row = { tenant, keyId, hash: `hash of ${tenant} ${principal}`, label: "", principal, project: "shop", scopes: ["tools:invoke"], roles, createdAt: at0, expiresAt, revokedAt: null, lastUsedAt: null } as const;
    await this.ledger.commit({ writes: [{ op: "insert_key", row }] });
    this.runtime.directory.changed(tenant);
    return keyId;
  }

  async policy(rule: RuleText, by: Asked = admin): Promise<void> {
    await this.service.publishPolicy(by, policyDocument(rule), {});
  }

  /** A call of `pay` that is expected to park. */
  async parked(amount = 1_500, by: Asked = asked()): Promise<{ readonly callId: string; readonly approvalId: string }> {
    const { call, progress } = await this.invoke({ input: { amount } }, by);
    if (progress !== "parked" || call.approvalId === null) throw new Error(`the call is ${call.state}, not parked`);
    return { callId: call.callId, approvalId: call.approvalId };
  }

  /** Time passes, and what that brings about has happened. */
  async pass(ms: number): Promise<void> {
    await this.clock.pass(ms);
    await this.settle();
  }

  approval(approvalId: string, by: Asked = admin): Promise<ApprovalDetail> {
    return this.service.getApproval(by, approvalId);
  }

  /** A vote on the arguments as they stand, unless another hash is given. */
  async vote(by: Asked, approvalId: string, vote: Partial<NewVote> = {}): Promise<VoteAnswer> {
    const argsHash = vote.argsHash ?? (await this.approval(approvalId)).approval.argsHash;
    const answer = await this.service.vote(by, approvalId, { decision: "approve", ...vote, argsHash });
    await this.settle();
    return answer;
  }

  async state(callId: string): Promise<string | undefined> {
    return (await this.ledger.getCall("acme", callId))?.state;
  }
}
