// One run of the isolation fuzz: many tenants at once, equal in all names; every answer, handler, webhook and record is looked through for marks of others.
import { seeded, type Random } from "../../walk/random.ts";
import { pickAct } from "./acts.ts";
import { Watch } from "./canary.ts";
import { openHouse, type House, type Tenant } from "./house.ts";
import { lookThroughLedger, lookThroughStore, type Counts } from "./records.ts";

export interface FuzzOptions {
  readonly calls: number;
  readonly seed: number;
  readonly tenants?: number;
  /** Another build of the runtime than the one of this repository. */
  readonly bin?: string;
}

export interface FuzzResult {
  /** Empty = nothing of anybody's was met anywhere else. */
  readonly findings: readonly string[];
  /** Requests that were answered. */
  readonly asked: number;
  readonly acts: Readonly<Record<string, number>>;
  /** Own marks that were met, by where. */
  readonly met: Readonly<Record<string, number>>;
  readonly rows: Counts;
  readonly storedFiles: number;
  readonly delivered: number;
  readonly seconds: number;
}

/** Of these each does one thing with three tenants at the same moment. */
const lanes = 11;
const together = 3;

export async function fuzz({ calls, seed, tenants: count = 20, bin }: FuzzOptions): Promise<FuzzResult> {
  const began = performance.now();
  const watch = new Watch();
  const house = await openHouse({ tenants: count, watch, ...(bin === undefined ? {} : { bin }) });
  const acts: Record<string, number> = {};
  try {
    const goOn = (): boolean => house.asked() < calls && watch.findings.length === 0;
    await Promise.all(
      Array.from({ length: lanes }, (_, lane) =>
        walk(house, watch, { random: seeded(seed * 1_000 + lane), goOn, acts }),
      ),
    );
    await lookAround(house, watch);
    const indexOf = (name: string): number | null => house.tenants.find((one) => one.name === name)?.index ?? null;
    await house.close();
    const { dataDir } = house.stack;
    const rows = lookThroughLedger(dataDir, indexOf, watch);
    const storedFiles = lookThroughStore(dataDir, indexOf, watch);
    const { findings, met } = watch;
    const seconds = Math.round((performance.now() - began) / 100) / 10;
    return {
      findings,
      asked: house.asked(),
      acts,
      met: Object.fromEntries(met),
      rows,
      storedFiles,
      delivered: house.received.length,
      seconds,
    };
  } finally {
    await house.close().catch(() => undefined);
    house.stack.remove();
  }
}

interface Lane {
  readonly random: Random;
  readonly goOn: () => boolean;
  readonly acts: Record<string, number>;
}

async function walk({ tenants }: House, watch: Watch, { random, goOn, acts }: Lane): Promise<void> {
  while (goOn()) {
    const act = pickAct(random);
    const n = random.below(100_000);
    const project = random.below(2);
    const grpc = random.chance(0.15);
    const doing = sample(random, tenants).map((tenant) => {
      const apps = grpc ? tenant.grpcApps : tenant.apps;
      const app = apps[project] ?? tenant.admin;
      const moment = {
        tenant,
        other: another(random, tenants, tenant),
        watch,
        n,
        app,
        random: seeded(random.below(2 ** 31)),
      };
      acts[act.name] = (acts[act.name] ?? 0) + 1;
      return act
        .run(moment)
        .catch((error: unknown) => watch.wrong(`${act.name} of ${tenant.name} broke: ${String(error)}`));
    });
    await Promise.all(doing);
  }
}

function sample(random: Random, tenants: readonly Tenant[]): readonly Tenant[] {
  const from = random.below(tenants.length);
  const step = 1 + random.below(Math.max(1, Math.floor((tenants.length - 1) / together)));
  return Array.from(
    { length: Math.min(together, tenants.length) },
    (_, at) => tenants[(from + at * step) % tenants.length] as Tenant,
  );
}

function another(random: Random, tenants: readonly Tenant[], than: Tenant): Tenant {
  return tenants[(than.index + 1 + random.below(tenants.length - 1)) % tenants.length] as Tenant;
}

/** Everything that is left to be read from outside, when nothing happens any more. */
async function lookAround(house: House, watch: Watch): Promise<void> {
  const { stack, tenants } = house;
  for (const { admin } of tenants)
    for (const path of [
      "/v1/executions",
      "/v1/approvals",
      "/v1/audit",
      "/v1/tools",
      "/v1/webhooks:deliveries",
      "/v1/workers",
    ])
      await everyPage(admin, path);
  watch.look(null, "metrics", await house.metrics());
  watch.look(null, "logs", stack.logs());
}

async function everyPage(ask: Tenant["admin"], path: string): Promise<void> {
  for (let cursor = ""; ;) {
    const { body } = await ask({
      method: "GET",
      path: `${path}?limit=100${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
    });
    const next = body["next_cursor"];
    if (typeof next !== "string") return;
    cursor = next;
  }
}
