// What tenants do, in equal words: each act is tried by several of them at the same moment, and some reach for what is not theirs.
import type { Random } from "../../walk/random.ts";
import { mark, type Watch } from "./canary.ts";
import type { Answer, Ask, Asking, Tenant } from "./house.ts";

export interface Moment {
  readonly tenant: Tenant;
  /** Somebody else's things to reach for. */
  readonly other: Tenant;
  readonly watch: Watch;
  /** The same for all who do this now: keys, request ids, paths, inputs that must be equal. */
  readonly n: number;
  /** Which of the two projects, and which door. */
  readonly app: Ask;
  readonly random: Random;
}

export interface Act {
  readonly name: string;
  readonly share: number;
  readonly run: (moment: Moment) => Promise<void>;
}

const kept = 40;
const remember = <T>(list: T[], item: T): void => {
  list.push(item);
  if (list.length > kept) list.shift();
};

const idsOf = (n: number) => ({ "x-request-id": `req-${n}`, traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` });
const contextOf = ({ tenant, n }: Moment) => ({
  correlation_id: `corr-${n}`,
  workflow_id: `flow-${n}`,
  note: mark(tenant.index),
});

function invoke(moment: Moment, tool: string, input: unknown, more: object = {}): Promise<Answer> {
  const body = { tool, input, context: contextOf(moment), ...more };
  return moment.app({ method: "POST", path: "/v1/executions", body, headers: idsOf(moment.n) });
}

const get = (path: string): Asking => ({ method: "GET", path });
const own = ({ tenant, n }: Moment) => ({ mark: mark(tenant.index), n });

/** Says what it should have been, when it is not. */
function expectStatus({ watch, tenant }: Moment, what: string, answer: Answer, ...wanted: readonly number[]): boolean {
  if (wanted.includes(answer.status)) return true;
  watch.wrong(`${what} of ${tenant.name} answered ${answer.status}, not ${wanted.join(" or ")}: ${answer.text}`);
  return false;
}

function keepCall({ tenant }: Moment, { body }: Answer): string {
  const id = String(body["execution_id"]);
  remember(tenant.calls, id);
  return id;
}

async function work(moment: Moment): Promise<void> {
  const input = own(moment);
  const answer = await invoke(moment, "work", input);
  if (!expectStatus(moment, "work", answer, 200)) return;
  keepCall(moment, answer);
  if (!answer.text.includes(input.mark)) moment.watch.wrong(`work answered another input than its own: ${answer.text}`);
}

/** The same key everywhere, and often twice in one tenant. */
async function idempotent(moment: Moment): Promise<void> {
  const key = `order-${moment.n % 50}`;
  const answer = await invoke(moment, "work", { of: key }, { idempotency_key: key });
  if (expectStatus(moment, "idempotent", answer, 200, 202)) keepCall(moment, answer);
}

/** Inputs are equal in all tenants, so that nothing but the tenant tells their results apart. */
async function pure(moment: Moment): Promise<void> {
  const answer = await invoke(moment, moment.random.pick(["pure", "shared"]), { n: moment.n % 40 });
  expectStatus(moment, "pure", answer, 200);
}

async function later(moment: Moment): Promise<void> {
  const answer = await invoke(moment, "work", own(moment), { mode: "async" });
  if (!expectStatus(moment, "async", answer, 200, 202)) return;
  const id = keepCall(moment, answer);
  expectStatus(moment, "read", await moment.app(get(`/v1/executions/${id}`)), 200);
  const { tenant, random } = moment;
  // One that has ended, most often: its record has what came out of it.
  const earlier = random.pick(tenant.calls);
  expectStatus(moment, "read", await tenant.admin(get(`/v1/executions/${earlier}`)), 200);
  expectStatus(moment, "events", await moment.app(get(`/v1/executions/${id}/events?limit=50`)), 200);
}

async function echo(moment: Moment): Promise<void> {
  expectStatus(moment, "echo", await invoke(moment, "echo", own(moment)), 200);
}

async function talk(moment: Moment): Promise<void> {
  const answer = await invoke(moment, "talk", own(moment), { stream: true });
  expectStatus(moment, "stream", answer, 200);
}

/** Comes to the stream of a call that is under way, or over. */
async function follow(moment: Moment): Promise<void> {
  const answer = await invoke(moment, "talk", own(moment), { mode: "async" });
  if (!expectStatus(moment, "talk", answer, 200, 202)) return;
  const id = keepCall(moment, answer);
  expectStatus(moment, "follow", await moment.app(get(`/v1/executions/${id}/stream`)), 200, 204);
}

async function stop(moment: Moment): Promise<void> {
  const answer = await invoke(moment, "slow", own(moment), { mode: "async" });
  if (!expectStatus(moment, "slow", answer, 200, 202)) return;
  const id = keepCall(moment, answer);
  expectStatus(moment, "cancel", await moment.app({ method: "POST", path: `/v1/executions/${id}/cancel` }), 200, 202);
}

async function fails(moment: Moment): Promise<void> {
  expectStatus(moment, "fails", await invoke(moment, "fails", own(moment)), 422);
}

async function asks(moment: Moment): Promise<void> {
  const { tenant } = moment;
  const answer = await invoke(moment, "asks", own(moment));
  if (!expectStatus(moment, "asks", answer, 202)) return;
  keepCall(moment, answer);
  const id = String(answer.body["approval_id"]);
  const told = await tenant.admin(get(`/v1/approvals/${id}`));
  if (!expectStatus(moment, "approval", told, 200)) return;
  remember(tenant.approvals, { id, argsHash: String(told.body["args_hash"]) });
}

/** Each voter's project is `default`: what was asked in the other one is not its business. */
async function vote(moment: Moment): Promise<void> {
  const { tenant, random } = moment;
  const open = tenant.approvals.shift();
  if (open === undefined) return asks(moment);
  // For the requester and the audit.
  const comment = `seen ${mark(tenant.index, "told")}`;
  const yes = random.chance(0.7);
  const edit = yes && random.chance(0.3) ? { args: own(moment) } : {};
  const body = { decision: yes ? "approve" : "reject", args_hash: open.argsHash, comment, ...edit };
  const answer = await tenant.boss({ method: "POST", path: `/v1/approvals/${open.id}/votes`, body });
  expectStatus(moment, "vote", answer, 200, 404, 409);
}

async function lists(moment: Moment): Promise<void> {
  const { tenant, random } = moment;
  const path = random.pick([
    "/v1/executions",
    "/v1/approvals",
    "/v1/tools",
    "/v1/tools:pins",
    "/v1/policies",
    "/v1/keys",
    "/v1/grants",
    "/v1/projects",
    "/v1/webhooks",
    "/v1/webhooks:deliveries",
    "/v1/audit",
    "/v1/workers",
    "/v1/freezes",
    "/v1/status",
    "/v1/tenants",
    "/v1/limits",
    "/v1/usage",
  ]);
  const paged = path !== "/v1/status";
  const answer = await tenant.admin(get(paged ? `${path}?limit=${random.pick([1, 25, 100])}` : path));
  expectStatus(moment, path, answer, 200);
  const next = answer.body["next_cursor"];
  if (typeof next !== "string") return;
  tenant.cursors.set(path, next);
  expectStatus(
    moment,
    `${path} further`,
    await tenant.admin(get(`${path}?limit=5&cursor=${encodeURIComponent(next)}`)),
    200,
  );
}

/** Text of one's own, which is what others put too, but for the mark. */
async function files(moment: Moment): Promise<void> {
  const { tenant, app, n } = moment;
  const equal = n % 2 === 0;
  const body = equal ? `equal in all tenants ${n % 10}` : `mine ${mark(tenant.index)}`;
  const headers = { "content-type": "application/octet-stream" };
  const answer = await tenant.admin({ method: "PUT", path: "/v1/files", body, headers });
  if (!expectStatus(moment, "put", answer, 200)) return;
  if (!equal) remember(tenant.files, String(answer.body["digest"]));
  expectStatus(moment, "list", await invoke({ ...moment, app }, "fs.list", { prefix: "notes/" }), 200);
}

/** The same paths in every workspace. */
async function workspace(moment: Moment): Promise<void> {
  const { index, name } = moment.tenant;
  // Some have a mark in their very name: lists show names alone.
  const path = moment.n % 4 === 0 ? `notes/${mark(index)}.txt` : `notes/${moment.n % 5}.txt`;
  const content = `of ${name}: ${mark(index)}`;
  const wrote = await invoke(moment, "fs.write", { path, content });
  if (!expectStatus(moment, "fs.write", wrote, 200, 422)) return;
  expectStatus(moment, "fs.read", await invoke(moment, "fs.read", { path }), 200, 422);
}

async function explain(moment: Moment): Promise<void> {
  const body = { tool: moment.random.pick(["asks", "work"]), input: own(moment), principal: "service:app" };
  expectStatus(
    moment,
    "explain",
    await moment.tenant.admin({ method: "POST", path: "/v1/policies:explain", body }),
    200,
  );
}

async function keys(moment: Moment): Promise<void> {
  const { tenant, n } = moment;
  const body = {
    label: `made ${mark(tenant.index, "told")}`,
    principal: `service:made-${n % 9}`,
    scopes: ["tools:read"],
  };
  const made = await tenant.admin({ method: "POST", path: "/v1/keys", body });
  if (!expectStatus(moment, "key", made, 201)) return;
  const id = String(made.body["key_id"]);
  expectStatus(moment, "revoke", await tenant.admin({ method: "DELETE", path: `/v1/keys/${id}` }), 200);
}

async function toolPage(moment: Moment): Promise<void> {
  const tool = moment.random.pick(["work", "pure", "talk"]);
  expectStatus(moment, "tool", await moment.app(get(`/v1/tools/${tool}`)), 200);
}

/** Reaches for things of another tenant by their very ids: there is nothing, as for an id that nobody has. */
async function foreign(moment: Moment): Promise<void> {
  const { tenant, other, random } = moment;
  const call = random.pick(other.calls);
  const approval = random.pick(other.approvals);
  const reach: readonly (Asking | undefined)[] = [
    ...(call === undefined
      ? []
      : [
          get(`/v1/executions/${call}`),
          get(`/v1/executions/${call}/events`),
          get(`/v1/executions/${call}/stream`),
          { method: "POST", path: `/v1/executions/${call}/cancel` } as const,
          { method: "POST", path: `/v1/executions/${call}/resolve`, body: { verdict: "fail" } } as const,
        ]),
    ...(approval === undefined
      ? []
      : [
          get(`/v1/approvals/${approval.id}`),
          {
            method: "POST",
            path: `/v1/approvals/${approval.id}/votes`,
            body: { decision: "approve", args_hash: approval.argsHash },
          } as const,
        ]),
    { method: "DELETE", path: `/v1/keys/${other.keyId}` },
    { method: "DELETE", path: `/v1/grants/${other.grantId}` },
    { method: "DELETE", path: `/v1/webhooks/${other.webhookId}` },
    get(`/v1/tenants/${other.name}`),
  ];
  const asking = random.pick(reach);
  if (asking !== undefined) expectStatus(moment, `foreign ${asking.path}`, await tenant.admin(asking), 404);
}

const sealedLists: ReadonlySet<string> = new Set([
  "/v1/executions",
  "/v1/approvals",
  "/v1/tools",
  "/v1/policies",
  "/v1/audit",
  "/v1/webhooks:deliveries",
  "/v1/usage",
]);

/** What is not asked for by an id: content by its digest, the rest of a list, a name in a filter, a body that names a tenant. */
async function reachFurther(moment: Moment): Promise<void> {
  const { tenant, other, random } = moment;
  const file = random.pick(other.files);
  const [path, cursor] = random.pick([...other.cursors]) ?? [];
  const call = random.pick(other.calls);
  const body = { tool: "work", input: {}, tenant: other.name };
  const tries: readonly (() => Promise<void>)[] = [
    async () =>
      void expectStatus(
        moment,
        "another's name",
        await tenant.admin({ method: "POST", path: "/v1/executions", body }),
        403,
      ),
    async () => {
      if (path === undefined || cursor === undefined) return;
      const answer = await tenant.admin(get(`${path}?limit=100&cursor=${encodeURIComponent(cursor)}`));
      // A list that is handed over whole goes on behind a name, whoever has it; in others a cursor is good for its own tenant.
      expectStatus(moment, `another's cursor at ${path}`, answer, sealedLists.has(path) ? 400 : 200);
    },
    async () => {
      const files = [{ path: "main.js", ref: file ?? "", mode: "0644" }];
      if (file === undefined) return;
      expectStatus(
        moment,
        "another's file",
        await tenant.admin({ method: "PUT", path: "/v1/packages", body: { files } }),
        400,
      );
    },
    async () =>
      void expectStatus(
        moment,
        "another's audit",
        await tenant.admin(get(`/v1/audit?execution_id=${call ?? "exec_none"}`)),
        200,
      ),
    async () =>
      void expectStatus(
        moment,
        "suspend",
        await tenant.admin({ method: "PUT", path: `/v1/tenants/${other.name}`, body: { suspended: true } }),
        403,
      ),
    async () =>
      void expectStatus(
        moment,
        "freeze",
        await tenant.admin({ method: "POST", path: "/v1/freezes", body: { tenant: other.name } }),
        403,
      ),
  ];
  await random.pick(tries)();
}

/** Shares add up to 100; what takes long has a small one. */
export const acts: readonly Act[] = [
  { name: "work", share: 20, run: work },
  { name: "idempotent", share: 9, run: idempotent },
  { name: "pure", share: 9, run: pure },
  { name: "later", share: 6, run: later },
  { name: "echo", share: 4, run: echo },
  { name: "talk", share: 5, run: talk },
  { name: "follow", share: 4, run: follow },
  { name: "stop", share: 2, run: stop },
  { name: "fails", share: 3, run: fails },
  { name: "asks", share: 3, run: asks },
  { name: "vote", share: 4, run: vote },
  { name: "lists", share: 7, run: lists },
  { name: "files", share: 3, run: files },
  { name: "workspace", share: 4, run: workspace },
  { name: "explain", share: 2, run: explain },
  { name: "keys", share: 2, run: keys },
  { name: "toolPage", share: 2, run: toolPage },
  { name: "foreign", share: 8, run: foreign },
  { name: "reachFurther", share: 3, run: reachFurther },
];

export function pickAct(random: Random): Act {
  let at = random.below(acts.reduce((sum, { share }) => sum + share, 0));
  for (const act of acts) {
    if (at < act.share) return act;
    at -= act.share;
  }
  throw new Error("the shares were counted wrongly");
}
