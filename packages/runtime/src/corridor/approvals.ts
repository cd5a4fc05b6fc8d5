// Carries approvals out: reads one, lets the machine step it, and stores what follows together with what becomes of its call.
import { makeId, SignalboxError } from "@signalbox/protocol";
import { isParked, isTerminal, type Call, type RoutingOutcome } from "../call/types.ts";
import type { ApprovedArgs, Happening } from "../call/machine.ts";
import type { Clearance } from "../dispatch/types.ts";
import type { ApprovalHappening, ApprovalReply, ApprovalStep, VoteCast } from "../policy/approval/machine.ts";
import { openApproval } from "../policy/approval/open.ts";
import { stepApproval } from "../policy/approval/step.ts";
import type { Approval, ApprovalRequirements, ApprovalWithVotes } from "../policy/approval/types.ts";
import { approves, unitOf, type ApprovalUnit } from "./approval-unit.ts";
import { argsOf, hashedArgs } from "./args.ts";
import { lookAgain, type GovernorPorts } from "./governor.ts";
import { judgeEdit, type JudgedEdit } from "./edits.ts";
import { judgeTrigger } from "./triggers.ts";
import type { Driver } from "./driver.ts";
import { Locks } from "./locks.ts";
import type { Chance, Hash, Log, Meters } from "./ports.ts";

export interface ApprovalPorts extends GovernorPorts {
  readonly driver: Driver;
  readonly chance: Chance;
  readonly hash: Hash;
  readonly meters: Meters;
  readonly log: Log;
  /** Called after a commit with notices in it. */
  readonly noticed: () => void;
  /** Told of every approval that was closed here, once that is stored. */
  readonly closed?: (approval: Approval) => void;
}

/** Steps on one approval that may lose against another writer before the person is asked to try again. */
const triesMax = 10;
/** Approvals that one sweep closes before it looks at the clock again. */
const sweepMax = 100;
/** How long a sweep waits after the ledger could not be read or written. */
const sweepAgainMs = 1_000;
/** A timer cannot wait longer; it looks and waits on. */
const timerMsMax = 6 * 3_600_000;

/** What a word on an approval came to. */
export interface Moved {
  readonly after: ApprovalWithVotes;
  readonly reply: ApprovalReply;
}

/** What a unit rests on beside its guards. */
interface Looked {
  /** The approval that the call was under when it was read. */
  readonly under?: string | null;
  /** What the call was found to be allowed under, when it goes on. */
  readonly clearance?: Clearance | undefined;
}

export class Approvals {
  readonly #ports: ApprovalPorts;
  readonly #locks = new Locks();
  #armedFor = Number.POSITIVE_INFINITY;
  #disarm: () => void = () => {};
  #stopped = false;

  constructor(ports: ApprovalPorts) {
    this.#ports = ports;
  }

  newId(): string {
    return makeId("apr", this.#ports.clock.now(), this.#ports.chance.bytes(10));
  }

  /** @throws SignalboxError approval_not_found · conflict · ledger_unavailable */
  async cast(tenant: string, approvalId: string, cast: VoteCast): Promise<Moved> {
    return this.#locks.run(`${tenant}\n${approvalId}`, () => this.#vote(tenant, approvalId, cast));
  }

  async #vote(tenant: string, approvalId: string, cast: VoteCast): Promise<Moved> {
    let event: ApprovalHappening = { type: "vote", cast };
    let edit: JudgedEdit | undefined;
    for (let tries = 0; tries < triesMax; tries++) {
      const all = await this.#read(tenant, approvalId);
      const step = this.#step(all, event);
      const asksToValidate = step.effects.find((effect) => effect.type === "revalidate");
      if (asksToValidate !== undefined) {
        const call = await this.#callOf(all);
        edit = await judgeEdit(this.#ports, call, asksToValidate.edit, cast.voter);
        event = edit.ok
          ? { type: "edit_accepted", cast, accepted: edit.accepted, requirements: edit.requirements }
          : { type: "edit_denied", cast, error: edit.error };
        continue;
      }
      const moved = await this.#carryOut(all, event, step, edit);
      if (moved !== undefined) return moved;
    }
    throw new SignalboxError("conflict", "others are voting on this approval at the same time; look at it again and try once more");
  }

  /** Ends the approval of a call that ends or goes on by another way, in one unit with it. */
  async endWithCall(call: Call, happening: Happening): Promise<void> {
    for (let tries = 0; tries < triesMax; tries++) {
      const { approvalId } = this.#inMemory(call);
      if (approvalId === null) return;
      const done = await this.#locks.run(`${call.tenant}\n${approvalId}`, () => this.#endWith(call, approvalId, happening));
      if (done) return;
    }
    throw new Error("the approval of a call that ends changes all the time");
  }

  /** @returns false when the call or its question is another by now: look again */
  async #endWith(call: Call, approvalId: string, happening: Happening): Promise<boolean> {
    const all = await this.#readStored(call.tenant, approvalId);
    // While this one was being read or waited for, another role may have been asked in its place, or the call has gone on.
    const now = this.#inMemory(call);
    if (now.approvalId !== approvalId) return false;
    if (!isParked(now)) {
      // A wish to cancel meets it like any other call that runs; all else was about its wait.
      if (happening.type === "cancel") this.#ports.driver.happen(call.tenant, call.callId, happening);
      return true;
    }
    const open = all !== undefined && all.approval.state === "pending";
    const step = open ? this.#step(all, cancelOf(happening, call)) : undefined;
    const unit = step === undefined ? nothing : unitOf(all?.approval, step, null);
    const done = await this.#commit(call.tenant, { ...unit, call: { callId: call.callId, happening } }, { under: approvalId });
    return done !== "again" && done !== "other_question";
  }

  #inMemory(call: Call): Call {
    return this.#ports.hub.find(call.tenant, call.callId) ?? call;
  }

  /** A rule may want people to be asked about a routing outcome; once, however often and wherever it is heard of. */
  async trigger(call: Call, outcome: RoutingOutcome): Promise<void> {
    return this.#locks.run(`${call.tenant}\n${call.callId}`, () => this.#triggered(call, outcome));
  }

  async #triggered(call: Call, outcome: RoutingOutcome): Promise<void> {
    const { hub, clock } = this.#ports;
    const { tenant, callId } = call;
    const requirements = await judgeTrigger(this.#ports, call, outcome);
    if (requirements === null || !(await this.#askAbout(call, outcome, requirements))) hub.untriggered(tenant, callId, clock.now());
  }

  async #askAbout(call: Call, outcome: RoutingOutcome, requirements: ApprovalRequirements): Promise<boolean> {
    const { ledger, clock, hash } = this.#ports;
    const kind = call.state === "indeterminate" ? "resolve" : "call";
    let under = call.approvalId;
    if (kind === "resolve") {
      // Another look at it, here or at another replica, may have asked meanwhile; or somebody has resolved it.
      const now = (await ledger.getCall(call.tenant, call.callId)) ?? call;
      const before = now.approvalId === null ? undefined : await ledger.approval(call.tenant, now.approvalId);
      if (now.state !== "indeterminate" || before?.approval.state === "pending") return true;
      under = now.approvalId;
    }
    const approvalId = this.newId();
    const opened = openApproval(
      {
        tenant: call.tenant,
        approvalId,
        project: call.project,
        subject: { kind, callId: call.callId, sessionId: call.sessionId === "" ? null : call.sessionId },
        tool: call.tool,
        version: call.version,
        requester: call.principal,
        onBehalfOf: call.onBehalfOf,
        args: hashedArgs(hash, argsOf(call)),
        requirements,
      },
      clock.now(),
    );
    if (!opened.reply.ok) return false;
    const unit = unitOf(undefined, opened, null);
    const data = unit.call?.happening.type === "asked" ? unit.call.happening.data : {};
    const queued = outcome === "no_handler" || outcome === "capacity_exhausted" ? outcome : null;
    const happening: Happening = { type: "asked", approvalId, outcome: queued, args: null, data };
    const asked = (await this.#commit(call.tenant, { ...unit, call: { callId: call.callId, happening } }, { under })) === "stored";
    if (asked) this.dueBy(opened.after.approval.expiresAt);
    return asked;
  }

  /** Closes what is over, and waits for the next stored instant; to be called at start and after every opening. */
  async sweep(): Promise<void> {
    const { ledger, clock, log } = this.#ports;
    if (this.#stopped) return;
    try {
      let failed = false;
      for (const { tenant, approvalId } of await ledger.dueApprovals(clock.now(), sweepMax)) {
        // One that cannot be closed must not keep the others open.
        await this.#locks.run(`${tenant}\n${approvalId}`, () => this.#expire(tenant, approvalId)).catch((error: unknown) => {
          failed = true;
          log.error({ reason: String(error), approval_id: approvalId }, "an approval that is over could not be closed; it is tried again");
        });
      }
      const next = (await ledger.nextApprovalAt()) ?? Number.POSITIVE_INFINITY;
      // One that was opened while this was read may be over sooner.
      this.dueBy(failed ? clock.now() + sweepAgainMs : next);
    } catch (error) {
      log.error({ reason: String(error) }, "approvals that are over could not be read; it is tried again");
      this.dueBy(clock.now() + sweepAgainMs);
    }
  }

  async #expire(tenant: string, approvalId: string): Promise<void> {
    for (let tries = 0; tries < triesMax; tries++) {
      const all = await this.#read(tenant, approvalId);
      const event: ApprovalHappening = { type: "due" };
      if ((await this.#carryOut(all, event, this.#step(all, event), undefined)) !== undefined) return;
    }
    throw new Error("others write this approval at the same time");
  }

  /** What it was about is gone: nobody need be asked any more. One that is closed stays as it is. */
  async withdraw(tenant: string, approvalId: string, by: string): Promise<void> {
    return this.#locks.run(`${tenant}\n${approvalId}`, async () => {
      const event: ApprovalHappening = { type: "cancel", by, reason: "session_ended", requestId: "" };
      for (let tries = 0; tries < triesMax; tries++) {
        const all = await this.#read(tenant, approvalId);
        if (all.approval.state !== "pending" || (await this.#carryOut(all, event, this.#step(all, event), undefined)) !== undefined) return;
      }
      throw new Error("others write this approval at the same time");
    });
  }

  /** An admission has opened an approval. */
  opened(expiresAt: number): void {
    this.dueBy(expiresAt);
    this.#ports.noticed();
  }

  /** Looks again by `at` (wall clock, ms since 1970) at the latest. */
  dueBy(at: number): void {
    if (at < this.#armedFor) this.#arm(at);
  }

  #arm(at: number): void {
    const { clock } = this.#ports;
    this.#disarm();
    this.#armedFor = at;
    if (this.#stopped || at === Number.POSITIVE_INFINITY) return;
    const ms = Math.min(Math.max(0, at - clock.now()), timerMsMax);
    this.#disarm = clock.after(ms, () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      void this.sweep();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }

  #step(all: ApprovalWithVotes, event: ApprovalHappening): ApprovalStep {
    return stepApproval(all, event, this.#ports.clock.now(), this.newId());
  }

  /** @returns undefined when somebody else was first: read and step again */
  async #carryOut(
    all: ApprovalWithVotes,
    event: ApprovalHappening,
    planned: ApprovalStep,
    edit: JudgedEdit | undefined,
  ): Promise<Moved | undefined> {
    const { clock, meters } = this.#ports;
    const { tenant } = all.approval;
    const checked = await this.#leaving(all, event, planned);
    const { step, clearance } = checked;
    if (!step.changed && step.effects.length === 0) return { after: step.after, reply: step.reply };
    // An edit that came too late, or changed nothing, was judged all the same: what runs then is what people saw.
    const taken = edit?.ok === true && event.type === "edit_accepted" && step.after.approval.round > all.approval.round;
    const unit = unitOf(all.approval, step, taken ? approvedArgs(edit, event.cast) : null);
    const withRecord = taken ? { ...unit, writes: [...unit.writes, edit.record] } : unit;
    const done = await this.#commit(tenant, withRecord, { under: all.approval.approvalId, clearance });
    if (done === "not_open" || done === "other_question") await this.#notOpenHere(all);
    if (done !== "stored") return undefined;
    const { approval } = step.after;
    if (step.changed && approval.closedAt !== null) {
      meters.observe("approval_wait_seconds", (approval.closedAt - approval.openedAt) / 1_000, { outcome: approval.outcome ?? "" });
    }
    for (const effect of step.effects) if (effect.type === "open") this.dueBy(effect.row.expiresAt);
    if (step.changed && approval.closedAt !== null) this.#ports.closed?.(approval);
    if (approval.state === "pending") this.dueBy(Math.max(approval.expiresAt, clock.now()));
    return { after: step.after, reply: step.reply };
  }

  /** A call that would go on is looked at first: people can approve only what may run today. */
  async #leaving(
    all: ApprovalWithVotes,
    event: ApprovalHappening,
    step: ApprovalStep,
  ): Promise<{ readonly step: ApprovalStep; readonly clearance: Clearance | undefined }> {
    const approved = approves(step);
    if (approved === undefined) return { step, clearance: undefined };
    const call = await this.#callOf(all);
    const look = await lookAgain(this.#ports, call, step.after.approval.argsJson);
    if (look.ok) return { step, clearance: look.clearance };
    if (event.type !== "vote" && event.type !== "edit_accepted" && event.type !== "due") return { step, clearance: undefined };
    return { step: this.#step(all, { type: "recheck_failed", error: look.error, instead: event }), clearance: undefined };
  }

  /** Another replica has the call in memory, or nobody has: what its row says decides. */
  async #notOpenHere(all: ApprovalWithVotes): Promise<void> {
    const call = await this.#callOf(all);
    // It was read after the approval, which an escalation closes in the unit in which the call gets the next one.
    if (isTerminal(call.state) || call.approvalId !== all.approval.approvalId) await this.#orphaned(all);
    else if (isParked(call)) await this.#ports.driver.adopt(call);
  }

  /** Its call has ended, or is under another question, without it; that must not be, but nobody shall be asked about it for ever. */
  async #orphaned(all: ApprovalWithVotes): Promise<void> {
    const step = this.#step(all, { type: "cancel", by: "runtime", reason: "call_ended", requestId: "" });
    const done = await this.#commit(all.approval.tenant, { ...unitOf(all.approval, step, null), call: null }, {});
    // Not stored: it ended with its call, in one unit of another replica, after it was read here.
    if (done !== "stored") return;
    this.#ports.log.error({ approval_id: all.approval.approvalId }, "the call of an open approval had ended or was under another; the approval was cancelled");
  }

  /** One unit: the approval and its votes, and the call, all or nothing. */
  async #commit(tenant: string, unit: ApprovalUnit, { under, clearance }: Looked): Promise<"stored" | "again" | "other_question" | "not_open"> {
    const { driver, ledger } = this.#ports;
    const { call, guards, writes } = unit;
    let stored: boolean;
    let other = false;
    if (call === null) {
      stored = (await ledger.commit({ writes: [...guards, ...writes] })).applied;
    } else {
      const done = await driver.decide(tenant, call.callId, call.happening, { guards, writes, ...(under === undefined ? {} : { under }) }, clearance);
      if (done === "not_open") return "not_open";
      stored = done === "stored";
      other = done === "other_question";
      // What stands in memory and not in the ledger yet decided: the next reading must see it.
      if (!stored) await ledger.flush();
    }
    if (stored && unit.notices > 0) this.#ports.noticed();
    if (other) return "other_question";
    return stored ? "stored" : "again";
  }

  async #read(tenant: string, approvalId: string): Promise<ApprovalWithVotes> {
    const all = await this.#ports.ledger.approval(tenant, approvalId);
    if (all === undefined) throw notFound();
    return all;
  }

  /** The call may know of a question that is still on its way to the ledger: it is opened in a unit that waits there. */
  async #readStored(tenant: string, approvalId: string): Promise<ApprovalWithVotes | undefined> {
    const { ledger } = this.#ports;
    const all = await ledger.approval(tenant, approvalId);
    if (all !== undefined) return all;
    await ledger.flush();
    return ledger.approval(tenant, approvalId);
  }

  async #callOf({ approval }: ApprovalWithVotes): Promise<Call> {
    const { callId } = approval.subject;
    const call = callId === null ? undefined : await this.#ports.ledger.getCall(approval.tenant, callId);
    if (call === undefined) throw new SignalboxError("internal", "the call of this approval is not in the ledger");
    return call;
  }
}

const nothing: Omit<ApprovalUnit, "call"> = { guards: [], writes: [], notices: 0 };

export function notFound(): SignalboxError {
  return new SignalboxError("approval_not_found", "there is no such approval; 'signalbox approvals list' shows those that are open");
}

function cancelOf(happening: Happening, call: Call): ApprovalHappening {
  const { requestId } = call;
  if (happening.type === "cancel") return { type: "cancel", by: happening.by, reason: "call_ended", requestId };
  if (happening.type === "resolve") return { type: "cancel", by: happening.by, reason: "resolved", requestId };
  // People who reject come by their votes; here it is a tool that was taken away, or a caller who may no longer.
  const reason = happening.type === "rejected" ? "barred" : "waited_too_long";
  return { type: "cancel", by: "runtime", reason, requestId };
}

function approvedArgs(edit: Extract<JudgedEdit, { ok: true }>, cast: VoteCast): ApprovedArgs {
  const { timeoutMs, resultBytesMax, accepted } = edit;
  return { argsJson: accepted.argsJson, editedBy: cast.voter, timeoutMs, resultBytesMax };
}
