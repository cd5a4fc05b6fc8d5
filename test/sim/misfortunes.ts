// What goes wrong: processes die and stand still between any two effects, ways break, the store is away, tools are stopped.
import { tenant, tools } from "../walk/sim-rules.ts";
import type { SimReplica } from "./sim-replica.ts";
import type { SimWorld } from "./world.ts";

const kinds = ["crash", "freeze", "drain", "worker_dies", "worker_freezes", "link_breaks", "store_away", "way_away", "loss", "frozen_tool", "barred_tool", "cap"] as const;
type Kind = (typeof kinds)[number];

/** Effects from now at which a process meets its fate: each of those that a call takes has its turn. */
const effectsMax = 60;

export class Misfortunes {
  readonly #world: SimWorld;
  readonly counts: Partial<Record<Kind, number>> = {};
  #over = false;

  constructor(world: SimWorld) {
    this.#world = world;
  }

  strike(): void {
    const { random, replicas } = this.#world;
    const kind = random.pick(kinds);
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    const living = replicas.filter((one) => one !== undefined);
    if (living.length > 0) this.#ofReplica(kind, random.pick(living));
    this.#ofOthers(kind);
  }

  /** Everything that was broken for a while is whole again. */
  end(): void {
    this.#over = true;
    this.#world.store.rows.failing = false;
    for (const replica of this.#world.replicas) {
      if (replica === undefined) continue;
      replica.connection.away = false;
      replica.process.thaw();
    }
  }

  #later(ms: number, act: () => void): void {
    this.#world.time.after(ms, () => !this.#over && act());
  }

  #ofReplica(kind: Kind, replica: SimReplica): void {
    const { random, store } = this.#world;
    const { process, connection } = replica;
    const effects = 1 + random.below(effectsMax);
    if (kind === "crash") process.fate = { effects, befall: () => this.#world.crash(replica) };
    else if (kind === "freeze") {
      // Long enough that another takes its sessions over, more often where there are some.
      const short = random.chance(this.#world.hasSessions ? 0.2 : 0.5);
      const ms = short ? random.below(5_000) : random.below(60_000);
      process.fate = { effects, befall: () => process.freeze(ms) };
    } else if (kind === "drain") void this.#world.drain(replica).catch(() => undefined);
    else if (kind === "way_away") {
      connection.away = true;
      this.#later(random.below(6_000), () => {
        connection.away = false;
        store.loseWay(process);
      });
    }
  }

  #ofOthers(kind: Kind): void {
    const { random, workers, faults, store } = this.#world;
    const worker = random.pick(workers);
    if (kind === "worker_dies" && worker.up) {
      worker.kill();
      this.#world.time.after(random.below(20_000), () => !worker.up && worker.start());
    } else if (kind === "worker_freezes") worker.freeze(random.below(60_000));
    else if (kind === "link_breaks") worker.breakLink();
    else if (kind === "store_away") {
      store.rows.failing = true;
      this.#later(random.below(4_000), () => {
        store.rows.failing = false;
      });
    } else if (kind === "loss") {
      faults.lose = 0.2;
      store.faults.loseWakes = 0.7;
      this.#later(random.below(4_000), () => {
        faults.lose = 0.005;
        store.faults.loseWakes = 0.05;
      });
    } else if (kind === "frozen_tool") this.#freezeTool();
    else if (kind === "barred_tool") this.#barTool();
    else if (kind === "cap") this.#drawCap();
  }

  #drawCap(): void {
    const { random, store } = this.#world;
    this.#world.cap = random.chance(0.5) ? Number.POSITIVE_INFINITY : 2 + random.below(6);
    store.brakes();
  }

  #freezeTool(): void {
    const { random, store } = this.#world;
    const key = `${tenant} ${random.chance(0.3) ? "" : random.pick(Object.keys(tools))}`;
    store.freezes.add(key);
    store.brakes();
    this.#later(random.below(30_000), () => {
      store.freezes.delete(key);
      store.brakes();
    });
  }

  #barTool(): void {
    const { random, store, barred, time } = this.#world;
    const tool = random.pick(Object.keys(tools));
    barred.begin(tool, time.now());
    store.brakes();
    this.#later(random.below(8_000), () => {
      barred.end(tool, time.now());
      store.brakes();
    });
  }
}
