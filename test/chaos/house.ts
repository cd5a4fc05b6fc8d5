// All processes of one story, what can be done to them, and how they are brought back.
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ask, policyDocument } from "../support/manifests.ts";
import { startNode, type Child } from "../support/processes.ts";
import { createAsker, type Asker } from "./ask.ts";
import { startReplica, type Replica } from "./replica.ts";
import { openStore, type Store } from "./store.ts";
import { asked, chaosManifests, chaosTools } from "./tools.ts";
import type { Entry, Planned, Story } from "./types.ts";
import type { ChaosWorkerConfig } from "./worker.ts";

export interface House {
  readonly urls: readonly string[];
  readonly adminKey: string;
  readonly approverKey: string;
  /** As the administrator, at whoever listens. */
  readonly admin: Asker;
  readonly store: Store;
  /** Returns at once; what it sets off, and takes back after a while, is awaited by `restore`. */
  strike(planned: Planned): void;
  /** Resolves when everything that was struck is back. @throws Error when something does not come back */
  restore(): Promise<void>;
  entries(): readonly Entry[];
  /** Workers and runtimes leave in good order. @throws Error when one does not */
  close(): Promise<void>;
  /** Whatever state it is in. */
  remove(): Promise<void>;
}

const workerFile = fileURLToPath(new URL("worker.ts", import.meta.url));
const readyMsMax = 60_000;
const setUpMsMax = 60_000;
const workerCapacity = 12;

export async function openHouse(story: Story, bin: string): Promise<House> {
  const folder = mkdtempSync(join(tmpdir(), `signalbox-chaos-${story.name}-`));
  const entriesFile = join(folder, "entries.jsonl");
  appendFileSync(entriesFile, "");
  const store = await openStore(story.ledger, folder);
  const replicas: Replica[] = [];
  const workers: Child[] = [];
  /** Of stopped workers, by their place. */
  const stopped = new Set<number>();
  const underWay = new Set<Promise<void>>();
  const removeAll = async (): Promise<void> => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await Promise.all(replicas.map((replica) => replica.kill()));
    await store.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    for (let number = 0; number < story.replicas; number++) {
      const replica = await startReplica({ args: store.argsOf(number), env: store.env, cwd: folder, bin });
      replicas.push(replica);
      // One after the other: the first one makes the tables and the keys.
      await replica.ready(readyMsMax);
    }
    const urls = replicas.map(({ url }) => url);
    const adminKey = store.adminKey();
    const admin = createAsker(urls, adminKey);
    const approverKey = await setUp(admin);
    const startWorker = (number: number): void => {
      const config: ChaosWorkerConfig = {
        addresses: replicas.map(({ grpc }) => grpc),
        key: adminKey,
        workerId: `chaos-${number}`,
        tools: chaosTools.map(({ name }) => name),
        capacity: workerCapacity,
        entriesFile,
      };
      workers[number] = startNode([workerFile, JSON.stringify(config)], { cwd: folder });
    };
    for (let number = 0; number < story.workers; number++) startWorker(number);
    await Promise.all(workers.map((worker) => worker.nextLine()));

    const blows: Readonly<Record<Planned["blow"], (planned: Planned) => Promise<void>>> = {
      "kill-runtime": async ({ target }) => replicas[target]?.restart(),
      async "kill-worker"({ target }) {
        if (stopped.has(target)) return;
        await workers[target]?.kill();
        startWorker(target);
      },
      async "stop-worker"({ target, forMs }) {
        const worker = workers[target];
        if (worker === undefined || stopped.has(target)) return;
        stopped.add(target);
        worker.signal("SIGSTOP");
        await wait(forMs);
        worker.signal("SIGCONT");
        stopped.delete(target);
      },
      async "cut-tcp"({ target, forMs }) {
        replicas[target]?.cut();
        await wait(forMs);
        replicas[target]?.mend();
      },
      "stop-store": () => store.strike("stop"),
      "kill-store": () => store.strike("kill"),
    };
    return {
      urls,
      adminKey,
      approverKey,
      admin,
      store,
      strike(planned) {
        const work = blows[planned.blow](planned).finally(() => underWay.delete(work));
        // Whoever waits for it hears of what went wrong.
        work.catch(() => undefined);
        underWay.add(work);
      },
      async restore() {
        await Promise.all(underWay);
        await Promise.all(replicas.map((replica) => replica.ready(readyMsMax)));
      },
      entries: () =>
        readFileSync(entriesFile, "utf8")
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line) as Entry),
      async close() {
        for (const worker of workers) worker.signal("SIGTERM");
        await Promise.all(workers.map((worker) => worker.ended));
        await Promise.all(replicas.map((replica) => replica.stop()));
      },
      remove: removeAll,
    };
  } catch (error) {
    await removeAll();
    throw error;
  }
}

/** Tools, one rule that asks, and somebody who may answer. @returns the key of that person */
async function setUp(admin: Asker): Promise<string> {
  const giveUp = AbortSignal.timeout(setUpMsMax);
  const put = async (path: string, body: unknown): Promise<void> => {
    const answer = await admin.until(giveUp, "PUT", path, body);
    if (answer.status !== 201) throw new Error(`PUT ${path} was answered ${answer.status} ${JSON.stringify(answer.body)}`);
  };
  for (const manifest of chaosManifests) await put("/v1/tools", manifest);
  await put("/v1/policies", policyDocument({ name: "chaos-asks", match: { tools: [asked] }, then: ask("operators") }));
  const key = { label: "chaos", principal: "user:approver", scopes: ["approvals:decide", "calls:read"], roles: ["operators"] };
  const { status, body } = await admin.until(giveUp, "POST", "/v1/keys", key);
  if (status !== 201) throw new Error(`no key was made: ${status} ${JSON.stringify(body)}`);
  return String(body["secret"]);
}
