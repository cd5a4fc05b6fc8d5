// One run on the real ledger: one replica on SQLite, a clock by hand, and a disk that is full for a while.
import type { Rows } from "./history.ts";
import { asked } from "../support/corridor.ts";
import { Governed } from "../support/governed.ts";
import { furnish } from "./books.ts";
import { Clients } from "./clients.ts";
import { findings, type Outcome } from "./findings.ts";
import { History } from "./history.ts";
import { amount0, houses, type House } from "./rules.ts";
import type { Scenario } from "./scenario.ts";
import { SimWorkerStream, type Execution } from "./sim-worker.ts";

/** One house with its ledger; many runs one after the other, each about a call of its own. */
export class SqliteStand {
  readonly #governed: Governed;
  readonly #house: House;
  readonly #executions: Execution[] = [];

  private constructor(governed: Governed, house: House) {
    this.#governed = governed;
    this.#house = house;
  }

  static async open(index: number): Promise<SqliteStand> {
    const house = houses[index];
    if (house === undefined) throw new Error(`there is no house ${index}`);
    const governed = await Governed.open();
    await furnish(governed, house);
    const stand = new SqliteStand(governed, house);
    const worker = new SimWorkerStream({
      after: (ms, run) => void governed.clock.after(ms, run),
      below: (bound) => bound - 1,
      executions: stand.#executions,
    });
    governed.runtime.driver.attach(worker, { tenant: "acme", principal: "service:worker" });
    worker.begin("w1");
    return stand;
  }

  close(): Promise<void> {
    return this.#governed.close();
  }

  async run(scenario: Scenario): Promise<Outcome> {
    const { clock, ledger, runtime } = this.#governed;
    const startAt = clock.now();
    this.#executions.length = 0;
    const { callId, approvalId } = await this.#governed.parked(amount0, asked());
    const first = (await ledger.approval("acme", approvalId))?.approval;
    if (first === undefined) throw new Error("the call parked without an approval");
    const history = new History(() => clock.now());
    const doors = {
      callId,
      service: () => runtime.service,
      onCrash: () => undefined,
      after: (ms: number, run: () => void) => void clock.after(ms, run),
    };
    const clients = new Clients(doors, history, { approvalId, argsHash: first.argsHash });
    clients.follow({ ...scenario, plans: scenario.plans.map((plan) => ({ ...plan, replica: 0, again: "here" })) });
    this.#fill(scenario);
    await this.#governed.pass(6_000);
    ledger.full = false;
    await this.#governed.pass(60_000);
    const call = await ledger.getCall("acme", callId);
    if (call === undefined) throw new Error("the call is gone");
    const rows = await this.#rowsOf(callId);
    return findings({
      house: this.#house,
      operations: history.operations,
      first,
      approvals: rows.map(({ approval }) => approval),
      votes: rows.flatMap(({ votes }) => votes),
      notices: undefined,
      call,
      executions: this.#executions,
      mayBeLost: false,
      problems: clients.odd,
      startAt,
    });
  }

  #fill({ misfortunes, startMs, spreadMs }: Scenario): void {
    const { clock, ledger } = this.#governed;
    for (const { at, forMs } of misfortunes) {
      clock.after(startMs + Math.floor((at * spreadMs) / 1_000), () => {
        ledger.full = true;
        clock.after(forMs, () => {
          ledger.full = false;
        });
      });
    }
  }

  async #rowsOf(callId: string): Promise<readonly Rows[]> {
    const { ledger } = this.#governed;
    const { items } = await ledger.listApprovals({ tenant: "acme", callId }, 100);
    const all = await Promise.all(items.map(({ approvalId }) => ledger.approval("acme", approvalId)));
    return all.filter((one) => one !== undefined);
  }
}
