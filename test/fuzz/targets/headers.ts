// Headers that the runtime reads: idempotency keys, Last-Event-ID, request ids, traces, credentials; each is taken as it was meant or refused.
import fc from "fast-check";
import { checkAnswer } from "../answer.ts";
import { House, type Heard } from "../house.ts";
import { spoiltText } from "../mutate.ts";
import { target } from "../target.ts";

interface Asked {
  readonly name: string;
  /** One character for each byte. */
  readonly value: string;
  /** The idempotency key in the body, where there is one. */
  readonly inBody: string | undefined;
}

const good: Readonly<Record<string, readonly string[]>> = {
  "idempotency-key": ["order-7", "a b", "k".repeat(255), "k".repeat(256), '"quoted"', "0"],
  "last-event-id": ["0", "1", "2", "999999999999999", "1000000000000000", "01", " 1 "],
  "x-request-id": ["abc", "req_01M8MXZG8JECBR5FSDQH21J9E9", "x".repeat(64), "x".repeat(65)],
  traceparent: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0-0-0"],
  authorization: ["Bearer alice", "bearer alice", "Bearer", "Basic YWxpY2U6eA==", "Bearer alice, Bearer bob"],
  "content-type": ["application/json", "application/json; charset=utf-8", "application/json; charset=latin1", "application/merge-patch+json", "text/yaml"],
};
const names = Object.keys(good);

export const headersTarget = target<Asked>({
  name: "headers",
  about: "headers that the runtime reads",
  async open() {
    const house = await House.open();
    const anyValue = (name: string) => spoiltText(good[name] ?? []).map((text) => sendable(text));
    return {
      inputs: fc
        .constantFrom(...names)
        .chain((name) => fc.record({ name: fc.constant(name), value: anyValue(name), inBody: fc.option(fc.constantFrom("order-7", "other"), { nil: undefined, freq: 2 }) })),
      check: (asked) => check(house, asked),
      write: ({ name, value, inBody }) => Buffer.from(`${name}\n${inBody ?? ""}\n${value}`, "latin1"),
      read(bytes) {
        const [name = "", inBody = "", ...value] = Buffer.from(bytes).toString("latin1").split("\n");
        return { name, value: sendable(value.join("\n")), inBody: inBody === "" ? undefined : inBody };
      },
      close: () => house.close(),
    };
  },
});

/** What a header may hold on the wire, and not more of it than a head. */
function sendable(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, "").slice(0, 8_000).trim();
}

async function check(house: House, { name, value, inBody }: Asked): Promise<void> {
  const body = { tool: "mirror", input: { same: true }, ...(inBody === undefined ? {} : { idempotency_key: inBody }) };
  const follows = name === "last-event-id";
  const heard = await house.ask({
    method: follows ? "GET" : "POST",
    path: follows ? `/v1/executions/${house.ids["call"]}/stream` : "/v1/executions",
    headers: { ...(follows ? {} : { "content-type": "application/json" }), [name]: value },
    body: follows ? undefined : Buffer.from(JSON.stringify(body)),
  });
  checkAnswer(house, heard);
  if (name === "idempotency-key") checkKey(heard, value, inBody);
  if (name === "x-request-id") checkRequestId(heard, value);
  if (name === "authorization" && heard.status < 300 && !/^bearer +alice$/i.test(value)) throw new Error(`is let in with ${value}`);
  if (follows && heard.status === 200 && !/^\d{0,15}$/.test(value)) throw new Error(`follows from ${value}`);
}

/** The call's key is the one that was sent, whole; two that differ are refused. */
function checkKey({ status, text }: Heard, value: string, inBody: string | undefined): void {
  if (status >= 300) return;
  const { idempotency_key: kept } = JSON.parse(text) as { readonly idempotency_key: string | null };
  if (kept !== value) throw new Error(`keeps the key ${String(kept)} in place of ${value}`);
  if (inBody !== undefined && inBody !== value) throw new Error("takes two keys that differ");
}

/** A request id is taken where it is a plain word, and replaced where it is not. */
function checkRequestId({ headers }: Heard, value: string): void {
  const told = String(headers["x-request-id"]);
  const plain = /^[A-Za-z0-9_.-]{1,64}$/.test(value);
  if (plain ? told !== value : !told.startsWith("req_")) throw new Error(`answers under ${told} to ${value}`);
}
