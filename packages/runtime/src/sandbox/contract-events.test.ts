// What a tool says while it runs: four kinds of lines, each inside its bound; any other line is refused with a reason.
import fc from "fast-check";
import { expect, test } from "vitest";
import { eventReader, type BoxEvent } from "./contract-events.ts";

const read = (line: string, declared: readonly string[] = ["invoice.created"]): BoxEvent | undefined =>
  eventReader(declared).read(line);

test.each<[string, BoxEvent]>([
  ['{"progress":40}', { type: "progress", percent: 40, message: "" }],
  ['{"progress":0}', { type: "progress", percent: 0, message: "" }],
  [' { "progress" : {"percent":99.5,"message":"reading"} } ', { type: "progress", percent: 99.5, message: "reading" }],
  ['{"partial":"line 1\\n"}', { type: "partial", json: '"line 1\\n"' }],
  ['{"partial":{"id":12345678901234567890}}', { type: "partial", json: '{"id":12345678901234567890}' }],
  ['{"partial":null}', { type: "partial", json: "null" }],
  ['{"log":"two\\r\\nlines"}', { type: "log", line: "two lines" }],
  [
    '{"log":{"level":"info","rows":10000000000000000000001}}',
    { type: "log", line: '{"level":"info","rows":10000000000000000000001}' },
  ],
  [
    '{"emit":{"type":"invoice.created","payload":{"id":1}}}',
    { type: "emit", eventType: "invoice.created", payloadJson: '{"id":1}' },
  ],
  ['{"emit":{"type":"invoice.created"}}', { type: "emit", eventType: "invoice.created", payloadJson: "null" }],
])("%s", (line, event) => {
  expect(read(line)).toEqual(event);
});

const none = "the line is not an object with one of progress, partial, log or emit";
const percent = "progress is not a number from 0 to 100, nor an object with one as percent";

test.each([
  ["", /^the line is not one JSON object: /],
  ["hello", /^the line is not one JSON object: /],
  ['{"log":"x"}{"log":"y"}', /^the line is not one JSON object: /],
  ["[".repeat(100_000), /nested deeper than 64 levels/],
  [`{"partial":${"[".repeat(70)}${"]".repeat(70)}}`, /nested deeper than 64 levels/],
  ['{"log":"\\ud800"}', /^the line is not one JSON object: /],
  ["null", none],
  ["1", none],
  ["12345678901234567890", none],
  ['"log"', none],
  ['["log"]', none],
  ["{}", none],
  ['{"log":"a","partial":"b"}', none],
  ['{"result":1}', "the line is none of progress, partial, log or emit"],
  ['{"__proto__":{"log":"x"}}', "the line is none of progress, partial, log or emit"],
  ['{"constructor":1}', "the line is none of progress, partial, log or emit"],
  ['{"progress":-1}', percent],
  ['{"progress":101}', percent],
  ['{"progress":1e999}', percent],
  ['{"progress":12345678901234567890}', percent],
  ['{"progress":"40"}', percent],
  ['{"progress":null}', percent],
  ['{"progress":{}}', percent],
  ['{"progress":{"percent":1,"message":2}}', "the message of progress is not text"],
  ['{"emit":"invoice.created"}', "emit is not an object with type and payload"],
  ['{"emit":{"payload":1}}', "emit has no type"],
  ['{"emit":{"type":"invoice.created","payload":1,"tenant":"beta"}}', "emit has more than type and payload"],
  ['{"emit":{"type":"invoice.paid","payload":1}}', "emit has a type that the manifest does not declare under events"],
  [
    `{"emit":{"type":"invoice.created","payload":"${"x".repeat(262_143)}"}}`,
    "the payload of emit is larger than 262144 bytes",
  ],
  [`{"partial":"${"x".repeat(65_535)}"}`, "partial is larger than 65536 bytes"],
  [`{"log":"${"é".repeat(139_300)}"}`, "the line is longer than 278528 bytes"],
])("%.60s is refused", (line, reason) => {
  const event = read(line);
  expect(event).toEqual({ type: "refused", reason: reason instanceof RegExp ? expect.stringMatching(reason) : reason });
});

test("long texts are cut, the rest stands", () => {
  const progress = read(`{"progress":{"percent":1,"message":"${"x".repeat(5_000)}"}}`);
  expect(progress).toEqual({ type: "progress", percent: 1, message: `${"x".repeat(999)}…` });
  const log = read(`{"log":"${"日".repeat(60_000)}"}`);
  expect(log?.type === "log" && Buffer.byteLength(log.line)).toBe(65_535);
});

test("a log line of spaces takes no time", () => {
  const startedAtMs = performance.now();
  expect(read(`{"log":"${" ".repeat(270_000)}"}`)?.type).toBe("log");
  expect(performance.now() - startedAtMs).toBeLessThan(1_000);
});

test("after ten thousand lines one word, and then silence", () => {
  const reader = eventReader([]);
  for (let i = 0; i < 10_000; i++) expect(reader.read('{"log":"x"}')?.type).toBe("log");
  expect(reader.read('{"log":"x"}')).toEqual({ type: "refused", reason: "more than 10000 lines: the rest is dropped" });
  expect(reader.read('{"log":"x"}')).toBeUndefined();
});

test("no line makes it throw, and no reason repeats the line", () => {
  const anyLine = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.json(),
    fc.json().map((json) => `{"emit":${json}}`),
    fc.json().map((json) => `{"progress":${json}}`),
  );
  fc.assert(
    fc.property(anyLine, (line) => {
      const event = read(`${line}`);
      expect(event).toBeDefined();
    }),
    { numRuns: 1_000 },
  );
  expect(read('{"log":"SECRET"} SECRET')).not.toMatchObject({ reason: expect.stringContaining("SECRET") });
});
