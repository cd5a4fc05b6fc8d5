// Which failures of a start are waited for, for how long, and what is said meanwhile.
import { expect, test } from "vitest";
import { HandClock, settled } from "../../../../../test/support/hand-clock.ts";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { whenServerAnswers } from "./await-server.ts";
import { asLedgerError } from "./store-errors.ts";

const url = "postgres://signalbox:secret@db.internal:5433/fleet";

function failure(code: string, message = `it failed with ${code}`): Error {
  return asLedgerError(Object.assign(new Error(message), { code }));
}

function world(waitMs: number) {
  const clock = new HandClock(0);
  const said: string[] = [];
  const tried: number[] = [];
  let fails: Error | undefined = failure("ECONNREFUSED", "connect ECONNREFUSED 10.0.0.7:5433");
  const say = (fields: object, message: string): void => void said.push(`${message} ${JSON.stringify(fields)}`);
  const stop = new AbortController();
  const opened = whenServerAnswers(url, { waitMs, clock, signal: stop.signal, log: { info: say, warn: say, error: say } }, async () => {
    tried.push(clock.now());
    if (fails !== undefined) throw fails;
    return "opened";
  });
  opened.catch(() => undefined);
  return { clock, said, tried, opened, stop, answers: () => (fails = undefined), failsWith: (error: Error) => (fails = error) };
}

test("it is tried with longer and longer pauses until the server answers; what it waits for is said once", async () => {
  const { clock, said, tried, opened, answers } = world(60_000);
  await settled();
  await clock.pass(8_000);
  answers();
  await clock.pass(2_000);
  expect(await opened).toBe("opened");
  expect(tried).toEqual([0, 200, 600, 1_400, 3_000, 5_000, 7_000, 9_000]);
  expect(said).toEqual([
    'PostgreSQL does not answer; the start waits for it {"server":"db.internal:5433/fleet","reason":"connect ECONNREFUSED 10.0.0.7:5433","waits_ms":60000}',
    'PostgreSQL answers, and the start goes on {"waited_ms":9000}',
  ]);
});

test("after the limit it gives up, with the reason and the next step; a long wait is said again seldom", async () => {
  const { clock, said, tried, opened } = world(60_000);
  await settled();
  await clock.pass(60_000);
  const error = await opened.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(LedgerUnavailable);
  expect(error).toMatchObject({
    message: "PostgreSQL at db.internal:5433/fleet did not answer for 60 s (connect ECONNREFUSED 10.0.0.7:5433).",
    next: "start it, or correct the address in --ledger or SIGNALBOX_LEDGER; --ledger-wait says how long a start waits for it",
  });
  expect(tried.at(-1)).toBe(60_000);
  expect(said).toHaveLength(3);
});

test("without a wait it is tried once", async () => {
  const { tried, opened, said } = world(0);
  await expect(opened).rejects.toThrow("PostgreSQL at db.internal:5433/fleet does not answer (connect ECONNREFUSED 10.0.0.7:5433).");
  expect([tried, said]).toEqual([[0], []]);
});

test.each([
  ["a wrong password", failure("28P01")],
  ["a user that does not exist", failure("28000")],
  ["a database that does not exist", failure("3D000")],
  ["a server without TLS that is asked for it", asLedgerError(new Error("The server does not support SSL connections"))],
  ["a schema that is too new", new LedgerUnavailable("The ledger has schema 99.")],
])("%s is not waited for", async (_, error) => {
  const { clock, tried, opened, failsWith } = world(60_000);
  await settled();
  failsWith(error);
  await clock.pass(200);
  await expect(opened).rejects.toBe(error);
  expect(tried).toEqual([0, 200]);
});

test.each([
  ["a server that starts up", "57P03"],
  ["one that shuts down", "57P01"],
  ["a name that is not known yet", "EAI_AGAIN"],
])("%s is waited for", async (_, code) => {
  const { clock, opened, failsWith, answers } = world(60_000);
  failsWith(failure(code));
  await clock.pass(500);
  answers();
  await clock.pass(1_000);
  expect(await opened).toBe("opened");
});

test("a stop ends the wait at once, and leaves no timer", async () => {
  const { clock, opened, stop, tried } = world(60_000);
  await settled();
  await clock.pass(300);
  stop.abort(new Error("interrupted"));
  await expect(opened).rejects.toThrow("interrupted");
  await clock.pass(10_000);
  expect([tried, clock.timers]).toEqual([[0, 200], 0]);
});
