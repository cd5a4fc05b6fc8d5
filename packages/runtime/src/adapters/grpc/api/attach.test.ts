// Attaching to a session over gRPC: what must be said first, answers under their names, and refusals that leave the stream standing.
import { create, fromBinary, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { AttachRequestSchema, AttachResponseSchema, Sessions } from "@signalbox/protocol/v1/sessions";
import { expect, test } from "vitest";
import { codes, type Answered } from "../../../../../../test/support/grpc-caller.ts";
import { asBob, detailIn, openGrpcDoor } from "../../../../../../test/support/grpc-door.ts";
import { scriptedSession } from "../../../../../../test/support/scripted-sessions.ts";

const { attach } = Sessions.method;
const { sessionId } = scriptedSession;
const says = (fields: MessageInitShape<typeof AttachRequestSchema>): Uint8Array => toBinary(AttachRequestSchema, create(AttachRequestSchema, fields));
const told = ({ messages }: Answered): unknown[] =>
  messages.map((bytes) => {
    const one = fromBinary(AttachResponseSchema, bytes);
    return one.told.case === "event" ? Number(one.told.value.seq) : [one.ref, one.told.case];
  });

test("attaching tells the session, then its events from behind the number that was named", async () => {
  const { bytes, strays, service } = await openGrpcDoor({ getSession: async () => ({ session: { ...scriptedSession, state: "completed" }, reply: "Hello.", approvalIds: [], replayed: false }) });
  const answered = await bytes(attach, [says({ ref: "a", wish: { case: "attach", value: { sessionId, afterSeq: 1n } } })]);
  expect([told(answered), answered.status.code, strays]).toEqual([[["a", "session"], 2], codes.OK, []]);
  expect(service.reached.find(({ method }) => method === "followSession")?.args).toEqual([sessionId, 1]);
});

test.each([
  ["nothing", []],
  ["a message", [says({ wish: { case: "message", value: { text: "hi" } } })]],
  ["no wish", [says({ ref: "x" })]],
])("%s said first is refused", async (_, requests) => {
  const { bytes } = await openGrpcDoor();
  expect(detailIn((await bytes(attach, requests)).status).code).toBe("invalid_input");
});

test("whose credential is unknown hears nothing", async () => {
  const { bytes } = await openGrpcDoor();
  const answered = await bytes(attach, [says({ wish: { case: "attach", value: { sessionId } } })], { metadata: { ...asBob, authorization: "Bearer nobody" } });
  expect([answered.messages, answered.status.code]).toEqual([[], codes.UNAUTHENTICATED]);
});
