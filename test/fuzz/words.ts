// Work messages of chance, as data that a corpus file can hold, and as the bytes in which they would come: whole, poked or cut.
import { encodeRuntime, encodeWorker, type FromRuntime, type WorkerMessage } from "@signalbox/protocol";
import fc from "fast-check";

/** One frame: a message that may make sense, and what happened to its bytes on the way. */
export interface Frame<Message> {
  readonly say: Message;
  /** Places and values of bytes that were overwritten. */
  readonly pokes: readonly (readonly [at: number, value: number])[];
  /** Bytes that are missing at the end. */
  readonly cut: number;
}

/** Ids of calls stand as `#0`, `#1` … until they are known. */
const callId = fc.constantFrom("#0", "#0", "#1", "#2", "exec_01ARZ3NDEKTSV4RRFFQ69G5FAV", "", "x y");
const fence = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 3 }) }, fc.constantFrom(4, 9_007_199_254_740_991));
const lease = { callId, fence };
const text = fc.oneof(fc.constantFrom("", "ok", "a".repeat(3_000), "\ud800"), fc.string({ unit: "binary", maxLength: 20 }));
const name = fc.constantFrom("pay", "slow", "still", "", "t".repeat(129), "__proto__");
const json = fc.oneof(fc.constantFrom("null", "{}", '{"a":1}', "", "no", "[".repeat(200), '"\\ud800"', '{"__proto__":1}', `"${"x".repeat(2_000_000)}"`), fc.json());
const usage = fc.record({ durationMs: fc.constantFrom(0, 1.5, 1e9) });
const error = fc.record({ code: fc.constantFrom("no", "timeout", "malformed_message", "result_too_large", ""), message: text, retryable: fc.boolean(), detailsJson: json });
const held = fc.record({ ...lease, state: fc.constantFrom("accepted", "running", "done") });

export const anyWorkerMessage: fc.Arbitrary<WorkerMessage> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("accepted"), ...lease }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant("started"), ...lease }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant("result"), ...lease, status: fc.constantFrom("succeeded", "failed", "cancelled"), outputJson: json, error, usage }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("nack"), ...lease, reason: fc.constantFrom("retry_elsewhere", "reject"), code: text, message: text }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("heartbeat"), load: fc.constantFrom(0, 0.5, 1), inFlight: fc.array(held, { maxLength: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("output"), ...lease, seq: fc.integer({ min: 0, max: 4 }), channel: fc.constantFrom("stdout", "stderr", "partial", "log"), chunk: fc.uint8Array({ maxLength: 40 }) }) },
  fc.record({ type: fc.constant("progress"), ...lease, percent: fc.constantFrom(0, 50, 100, 101, -1), message: text }),
  fc.record({ type: fc.constant("emit"), ...lease, ordinal: fc.integer({ min: 0, max: 3 }), eventType: name, payloadJson: json }),
  fc.record({ type: fc.constant("secret_request"), ...lease, names: fc.array(name, { maxLength: 3 }) }),
  fc.record({
    type: fc.constant("register"),
    workerId: fc.constantFrom("hostile", "honest", ""),
    incarnation: fc.constantFrom("i1", "i2"),
    imageDigest: text,
    pool: name,
    labels: fc.dictionary(fc.constantFrom("zone", "__proto__"), text),
    handlers: fc.array(fc.record({ tool: name, version: fc.constantFrom("1.0.0", "2.0.0"), maxConcurrency: fc.integer({ min: 0, max: 20 }), descriptorHash: text }), { maxLength: 3 }),
    backends: fc.array(fc.constantFrom("native", "wasm", ""), { maxLength: 2 }),
    capacity: fc.integer({ min: 0, max: 20 }),
    inFlight: fc.array(held, { maxLength: 3 }),
  }),
  fc.constant({ type: "draining" }),
) as fc.Arbitrary<WorkerMessage>;

export const anyRuntimeMessage: fc.Arbitrary<FromRuntime> = fc.oneof(
  { weight: 8, arbitrary: fc.record({
    type: fc.constant("invoke"),
    ...lease,
    attempt: fc.integer({ min: 0, max: 3 }),
    idempotencyKey: fc.constantFrom("k", ""),
    tenant: fc.constantFrom("acme", "beta"),
    project: name,
    principal: name,
    tool: fc.constantFrom("charge", "read", "other"),
    version: fc.constantFrom("1.0.0", "2.0.0"),
    argsJson: json,
    contextJson: json,
    files: fc.array(fc.record({ path: text, digest: text, bytes: fc.nat() }), { maxLength: 2 }),
    timeoutMs: fc.constantFrom(1, 1_000, 86_400_001),
    deadlineAtMs: fc.nat(),
    sideEffectClass: fc.constantFrom("read_only", "idempotent_write", "non_idempotent_write", "irreversible_action"),
    needsGo: fc.boolean(),
    traceparent: text,
  }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant("go"), ...lease }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("cancel"), ...lease, graceMs: fc.constantFrom(0, 5_000), reason: fc.constantFrom("cancel", "timeout", "lost") }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("result_ack"), ...lease, verdict: fc.constantFrom("stored", "lease_lost") }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("registered"), leaseTtlMs: fc.constantFrom(0, 15_000), heartbeatMs: fc.constantFrom(0, 5_000), resync: fc.array(fc.record({ ...lease, verdict: fc.constantFrom("keep", "drop", "acked") }), { maxLength: 3 }), refused: fc.array(fc.record({ tool: name, version: name, reason: text }), { maxLength: 2 }) }) },
  fc.record({ type: fc.constant("secret_grant"), ...lease, secrets: fc.dictionary(name, text), refused: fc.array(name, { maxLength: 2 }) }),
  fc.constantFrom({ type: "heartbeat_ack" }, { type: "drain" }),
  fc.record({ type: fc.constant("go_away"), reason: text, reconnectTo: fc.constantFrom("", "replica-2:9090") }),
) as fc.Arbitrary<FromRuntime>;

export function framed<Message>(message: fc.Arbitrary<Message>): fc.Arbitrary<Frame<Message>> {
  const poke = fc.tuple(fc.nat(200), fc.integer({ min: 0, max: 255 }));
  return fc.record({
    say: message,
    pokes: fc.oneof({ weight: 6, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(poke, { maxLength: 4 }) }),
    cut: fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(20) }),
  });
}

export function workerBytes(frame: Frame<WorkerMessage>, ids: readonly string[]): Uint8Array {
  return poked(encoded(() => encodeWorker(named(frame.say, ids))), frame);
}

export function runtimeBytes(frame: Frame<FromRuntime>, ids: readonly string[]): Uint8Array {
  return poked(encoded(() => encodeRuntime(named(frame.say, ids))), frame);
}

/** A number that cannot stand on the wire was never sent: an empty frame comes in its place. */
function encoded(encode: () => Uint8Array): Uint8Array {
  try {
    return encode();
  } catch (error) {
    if (error instanceof RangeError) return new Uint8Array(0);
    throw error;
  }
}

function poked(bytes: Uint8Array, { pokes, cut }: Frame<unknown>): Uint8Array {
  const changed = Uint8Array.from(bytes);
  for (const [at, value] of pokes) if (changed.length > 0) changed[at % changed.length] = value;
  return cut === 0 ? changed : changed.subarray(0, Math.max(0, changed.length - cut));
}

function named<Message>(message: Message, ids: readonly string[]): Message {
  const fill = (value: unknown): unknown => {
    if (typeof value === "string") return /^#\d$/.test(value) ? (ids[Number(value[1])] ?? value) : value;
    if (value instanceof Uint8Array || typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(fill);
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one)]));
  };
  return fill(message) as Message;
}

/** JSON, but for bytes, which stand as Base64 under a name of their own. */
export function writeFrames(frames: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(frames, (_key, value: unknown) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value), 1));
}

export function readFrames<Message>(bytes: Uint8Array): readonly Frame<Message>[] {
  return JSON.parse(Buffer.from(bytes).toString(), (_key, value: unknown) => {
    if (typeof value !== "object" || value === null || !("base64" in value)) return value;
    return Uint8Array.from(Buffer.from(String(value.base64), "base64"));
  }) as readonly Frame<Message>[];
}
