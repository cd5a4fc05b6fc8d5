// Two tenants behind one real door: one has one of everything, the other asks about it.
import { createHash } from "node:crypto";
import { createHttpDoor, type HttpDoor } from "../../../packages/runtime/src/adapters/http/server.ts";
import { routeTable } from "../../../packages/runtime/src/adapters/http/routes/table.ts";
import { asked } from "../../support/corridor.ts";
import { Governed } from "../../support/governed.ts";
import { accepted, register, result, started } from "../../support/hand-hub.ts";
import { HandStream } from "../../support/hand-stream.ts";
import { agentDocument, ask as demand, policyDocument, workerTool } from "../../support/manifests.ts";
import { ask, Works, type Asked, type Heard } from "./asking.ts";

/** What can be asked for, as the owner has it; beside each a twin of the same form that nobody has. */
export interface Ids {
  readonly settled: string;
  readonly queued: string;
  readonly parked: string;
  readonly approval: string;
  readonly key: string;
  readonly grant: string;
  readonly webhook: string;
  readonly tool: string;
  readonly policy: string;
  readonly agent: string;
  readonly session: string;
  readonly project: string;
  readonly principal: string;
  readonly tenant: string;
  readonly file: string;
  readonly packageRef: string;
  readonly idempotencyKey: string;
  /** Names that the asker may take for its own. */
  readonly ownName: string;
  readonly content: string;
}

export interface World {
  readonly owner: Ids;
  readonly nobody: Ids;
  /** Asked for first, so that what is remembered afterwards is remembered for both. */
  readonly spare: Ids;
  /** By list: a cursor that the owner got there. */
  readonly cursors: ReadonlyMap<string, string>;
  readonly works: Works;
  /** As the tenant that has none of it, and may do everything in its own. */
  asks(request: Asked): Promise<Heard>;
  asOwner(request: Asked): Promise<Heard>;
  close(): Promise<void>;
}

const nobodys = (prefix: string): string => `${prefix}_01KDY7MFG8ZZZZZZZZZZZZZZZZ`;
const refOf = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`;

/** Only the owner puts this; both put `content`. */
const code = 'module.exports = "code";';

const nobody: Ids = {
  settled: nobodys("exec"),
  queued: nobodys("exec"),
  parked: nobodys("exec"),
  approval: nobodys("apr"),
  key: nobodys("key"),
  grant: nobodys("grant"),
  webhook: nobodys("whk"),
  tool: "reveal-fines",
  policy: "never-heard",
  agent: "talk-nowhere",
  session: nobodys("sess"),
  project: "south",
  principal: "user:nobody",
  tenant: "nope",
  file: refOf("nobody put this"),
  packageRef: refOf("nor this"),
  idempotencyKey: "order-9",
  ownName: "its-own-two",
  content: "some words two",
};

const spare: Ids = {
  ...nobody,
  tool: "ration-bread",
  policy: "always-mute",
  agent: "help-no-body",
  project: "third",
  principal: "user:no-one",
  tenant: "none",
  file: refOf("put by no-one"),
  packageRef: refOf("nor packed by anyone"),
  idempotencyKey: "order-5",
  ownName: "its-own-six",
  content: "some words six",
};

const boxTool = (name: string) => ({
  ...workerTool(name),
  spec: {
    executor: { type: "sandbox", runtime: "node", entry: "main.js" },
    side_effect_class: "read_only",
    input: { type: "object" },
  },
});

/** Everything through the door, so that what is asked about is what the runtime makes itself. */
export async function buildWorld(): Promise<World> {
  const house = await Governed.open({ queueDepthPerTenantMax: 1_000 });
  const works = new Works();
  works.watch("ledger", house.ledger);
  works.watch("store", house.store);
  const door = createHttpDoor({ service: house.service, host: "127.0.0.1", port: 0 });
  const { port } = await door.listen();
  const operator = asked({ tenant: "platform", project: "default", name: "user:operator", scopes: new Set(["*"]) });
  const secretOf = async (tenant: string, principal: string): Promise<string> =>
    (await house.service.createTenant(operator, { tenant, admin: { principal } })).secret;
  const [owner, asker] = [await secretOf("acm2", "user:owner1"), await secretOf("beta", "user:asker1")];
  const by = (secret: string) => (request: Asked) => ask(port, secret, request);
  const made = await furnish(house, by(owner));
  await furnishAsker(house, by(asker));
  await deliveriesTried(house, by(owner));
  const cursors = await cursorsOf(by(owner));
  return {
    owner: { ...made, tenant: "acm2" },
    nobody,
    spare,
    cursors,
    works,
    asks: by(asker),
    asOwner: by(owner),
    close: () => closeAll(door, house),
  };
}

async function closeAll(door: HttpDoor, house: Governed): Promise<void> {
  await door.close(0);
  await house.close();
}

/** Nobody listens there; but until that is found out and written down, it would be work of the requests that are watched. */
async function deliveriesTried(house: Governed, does: Ask): Promise<void> {
  for (;;) {
    await house.settle();
    const { items } = await good(does({ method: "GET", path: "/v1/webhooks:deliveries" }));
    const deliveries = items as readonly { readonly attempts: number }[];
    if (deliveries.length > 0 && deliveries.every(({ attempts }) => attempts > 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

type Ask = (request: Asked) => Promise<Heard>;

async function good(heard: Promise<Heard>): Promise<Readonly<Record<string, unknown>>> {
  const { status, text } = await heard;
  if (status >= 300) throw new Error(`${status} ${text}`);
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}

async function storeCode(does: Ask): Promise<{ readonly file: string; readonly packageRef: string }> {
  const headers = { "content-type": "application/octet-stream" };
  const file = String((await good(does({ method: "PUT", path: "/v1/files", body: code, headers })))["digest"]);
  const files = [{ path: "main.js", ref: file, mode: "0644" }];
  const packageRef = String((await good(does({ method: "PUT", path: "/v1/packages", body: { files } })))["digest"]);
  return { file, packageRef };
}

/** One of everything, and two of what is listed in pages. */
async function furnish(house: Governed, does: Ask): Promise<Omit<Ids, "tenant">> {
  const put = (path: string, body: unknown) => good(does({ method: "PUT", path, body }));
  const post = (path: string, body: unknown = {}) => good(does({ method: "POST", path, body }));
  for (const project of ["north", "other"]) await put(`/v1/projects/${project}`, { environment: "production" });
  const tool = "charge-cards";
  for (const name of [tool, "ship-parcel", "its-own-one"])
    for (const version of ["1.0.0", "1.1.0"]) await put("/v1/tools?activate=true", workerTool(name, version));
  for (const name of [tool, "ship-parcel"]) {
    await post(`/v1/tools/${name}/pin`, { version: "1.0.0" });
    await post(`/v1/tools/${name}/disable`, { project: "other" });
  }
  const stored = await storeCode(does);
  await good(
    does({
      method: "PUT",
      path: "/v1/files",
      body: "some words one",
      headers: { "content-type": "application/octet-stream" },
    }),
  );
  await put(`/v1/tools?package=${stored.packageRef}`, boxTool("box-of-code"));
  for (const webhook of ["one", "two"]) await post("/v1/webhooks", { url: `http://127.0.0.1:9/${webhook}` });
  await put(
    "/v1/policies",
    policyDocument({ name: "needs-a-yes", match: { tools: ["ship-parcel"] }, then: demand("boss") }),
  );
  await put("/v1/policies", policyDocument({ name: "its-own-one", match: { tools: ["none"] }, then: demand("boss") }));
  for (const agent of ["desk-support", "ship-support", "its-own-one"])
    for (const version of ["1.0.0", "1.1.0"]) await put("/v1/agents", agentDocument(agent, version));
  await post("/v1/agents/desk-support/deploy", { version: "1.1.0" });
  const session = await post("/v1/sessions", { agent: "desk-support", project: "north", idempotency_key: "order-1" });
  await post("/v1/sessions", { agent: "desk-support" });
  for (const project of ["", "north"])
    await put("/v1/policies:defaults", { ...(project === "" ? {} : { project }), decision: "allow" });
  const key = await post("/v1/keys", {
    label: "k",
    principal: "user:fellow",
    scopes: ["tools:read"],
    project: "north",
  });
  const grant = await post("/v1/grants", { subject: "user:fellow", permissions: ["tool:invoke:*"] });
  for (const name of [tool, "ship-parcel"])
    await put("/v1/limits", { scope: "tool", subject: name, rate: { per_minute: 6_000, burst: 6_000 } });
  const worker = house.worker("w-one", { tenant: "acm2", tools: { [tool]: 9, "its-own-one": 9 } });
  house.worker("w-two", { tenant: "acm2", tools: { [tool]: 9 } });
  const invoke = async (name: string, more: object = {}) =>
    String((await post("/v1/executions", { tool: name, input: {}, mode: "async", ...more }))["execution_id"]);
  const settled = await invoke(tool, { idempotency_key: "order-1" });
  const second = await invoke("its-own-one", { version: "1.0.0" });
  await house.settle();
  for (const say of [accepted, started, result]) for (const id of [settled, second]) worker.say(say(id));
  await house.settle();
  for (const name of [tool, "ship-parcel"]) await post("/v1/freezes", { tool: name });
  const [queued, parked] = [await invoke(tool), await invoke("ship-parcel")];
  await invoke("ship-parcel");
  await house.settle();
  const record = await good(does({ method: "GET", path: `/v1/executions/${parked}` }));
  const hooks = (await good(does({ method: "GET", path: "/v1/webhooks" })))["items"] as {
    readonly webhook_id: string;
  }[];
  return {
    settled,
    queued,
    parked,
    approval: String(record["approval_id"]),
    key: String(key["key_id"]),
    grant: String(grant["grant_id"]),
    webhook: hooks[0]?.webhook_id ?? "",
    tool,
    policy: "needs-a-yes",
    agent: "desk-support",
    session: String(session["session_id"]),
    project: "north",
    principal: "user:fellow",
    idempotencyKey: "order-1",
    ownName: "its-own-one",
    content: "some words one",
    ...stored,
  };
}

/** What the asker needs to ask at all: a tool of each kind, and boxes to run it in. */
async function furnishAsker(house: Governed, does: Ask): Promise<void> {
  await good(does({ method: "PUT", path: "/v1/tools", body: workerTool("mine") }));
  const headers = { "content-type": "application/octet-stream" };
  const own = String((await good(does({ method: "PUT", path: "/v1/files", body: "// mine", headers })))["digest"]);
  const files = [{ path: "main.js", ref: own, mode: "0644" }];
  const packageRef = String((await good(does({ method: "PUT", path: "/v1/packages", body: { files } })))["digest"]);
  await good(does({ method: "PUT", path: `/v1/tools?package=${packageRef}`, body: boxTool("my-box") }));
  await good(does({ method: "PUT", path: "/v1/agents", body: agentDocument("my-desk") }));
  await good(does({ method: "POST", path: "/v1/agents/my-desk/deploy", body: { version: "1.0.0" } }));
  const boxes = new HandStream();
  house.runtime.driver.attach(boxes, { tenant: "platform", principal: "service:boxes" });
  boxes.say({ ...register("w-boxes", { tenant: "platform", tools: {} }), backends: ["native"] });
}

/** Of every list that has pages: what leads to the owner's second page. */
async function cursorsOf(does: Ask): Promise<ReadonlyMap<string, string>> {
  const cursors = new Map<string, string>();
  for (const route of routeTable) {
    if (route.scope === null || route.operation.query?.shape["cursor"] === undefined) continue;
    const path = route.path.replaceAll("::", ":");
    if (path.includes("/:")) continue;
    const { next_cursor: next } = await good(does({ method: route.method, path: `${path}?limit=1` }));
    if (typeof next === "string") cursors.set(path, next);
  }
  return cursors;
}
