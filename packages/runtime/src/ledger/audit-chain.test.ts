// What the hash chain binds, and that every break of it has its name.
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { AuditRecord } from "./audit.ts";
import {
  anchorMac,
  auditFields,
  auditRecord,
  auditValues,
  canonicalText,
  firstPrevHash,
  headMac,
  linkHash,
  linkOf,
  verifyLane,
  type AuditHead,
  type LaneWitnesses,
} from "./audit-chain.ts";

const hmac = (text: string): string => createHmac("sha256", "k".repeat(32)).update(text).digest("hex");
const otherHmac = (text: string): string => createHmac("sha256", "o".repeat(32)).update(text).digest("hex");

const place = { tenant: "acme", lane: "r1" };

function chain(length: number, key = hmac): AuditRecord[] {
  const records: AuditRecord[] = [];
  let prevHash = firstPrevHash;
  for (let seq = 1; seq <= length; seq += 1) {
    const draft = {
      ...place,
      seq,
      ts: 1_000 + seq,
      project: "shop",
      principal: "user:ada",
      action: "call.settled",
      status: "succeeded",
    };
    const hash = linkHash(key, prevHash, canonicalText(auditValues(draft, draft.lane, seq)));
    records.push({ ...draft, prevHash, hash });
    prevHash = hash;
  }
  return records;
}

const headOf = (records: readonly AuditRecord[]): AuditHead => ({
  ...place,
  seq: records.length,
  hash: records.at(-1)?.hash ?? "",
});

function witnesses(records: readonly AuditRecord[], key = hmac): LaneWitnesses {
  const head = headOf(records);
  return { head: { ...head, mac: headMac(key, head) }, anchored: undefined };
}

function kinds(records: readonly AuditRecord[], known: LaneWitnesses): string[] {
  return verifyLane(records, place, known, hmac).problems.map((problem) => `${problem.kind} ${problem.seq}`);
}

describe("the canonical text", () => {
  test("is every stored fact in a fixed order", () => {
    const text = canonicalText(
      auditValues(
        {
          tenant: "acme",
          ts: 5,
          project: "shop",
          principal: "user:ada",
          action: "call.settled",
          attempt: 2,
          policy: { ids: ["a"], decision: "allow" },
        },
        "r1",
        7,
      ),
    );
    expect(text).toBe(
      '["acme","r1",7,5,"shop","user:ada",null,"call.settled",null,null,null,null,null,2,' +
        'null,null,null,null,null,null,null,null,"{\\"decision\\":\\"allow\\",\\"ids\\":[\\"a\\"]}",null,null,null,null,null,null,null]',
    );
  });

  test("does not depend on the order of keys, nor on keys that are undefined", () => {
    const draft = { tenant: "acme", ts: 5, project: "", principal: "p", action: "a" };
    const one = auditValues({ ...draft, details: { b: 1, a: { d: undefined, c: [2, { f: 1, e: 2 }] } } }, "r1", 1);
    expect(one[auditFields.findIndex(([field]) => field === "details")]).toBe('{"a":{"c":[2,{"e":2,"f":1}]},"b":1}');
  });

  test("names each fact in its place", () => {
    const facts = auditFields.map(([field, kind], at) => {
      const value = kind === "text" ? `${field} é` : kind === "number" ? at : { [field]: [at] };
      return [field, value] as const;
    });
    const record = Object.fromEntries(facts) as unknown as AuditRecord;
    const stored = facts.map(([, value]) => (typeof value === "object" ? JSON.stringify(value) : value));
    expect(auditValues(record, record.lane, record.seq)).toEqual(stored);
  });

  test("rebuilds the record it was made of", () => {
    const [record] = chain(1) as [AuditRecord];
    expect(auditRecord(auditValues(record, "r1", 1), record.prevHash, record.hash)).toEqual(record);
    expect(linkOf(record).text).toBe(canonicalText(auditValues(record, "r1", 1)));
  });
});

describe("macs", () => {
  test("bind a head to its tenant, lane, seq and hash, and differ from a record's and an anchor's", () => {
    const head = { ...place, seq: 1, hash: "ab" };
    const macs = [
      headMac(hmac, head),
      headMac(hmac, { ...head, tenant: "acm", lane: "er1" }),
      headMac(hmac, { ...head, seq: 2 }),
      headMac(hmac, { ...head, hash: "ac" }),
      anchorMac(hmac, [head]),
      anchorMac(hmac, []),
      linkHash(hmac, "head", '["acme","r1",1,"ab"]'),
    ];
    expect(new Set(macs).size).toBe(7);
  });

  // These three were made with openssl dgst -sha256 -hmac.
  test("are HMACs of texts that anybody can rebuild", () => {
    const heads = [
      { tenant: "acme", lane: "r2", seq: 4, hash: "cd" },
      { tenant: "acme", lane: "r1", seq: 1, hash: "ab" },
    ] as const;
    expect([linkHash(hmac, firstPrevHash, '["acme"]'), headMac(hmac, heads[1]), anchorMac(hmac, heads)]).toEqual([
      "fd850f3e4c7692c455f4fee75377e277300defa181c8c3aebc84fba3d049095a",
      "908b7981956faca1997475ec9d7dc6cc5b737b8be80de88ee5a918af9a67d712",
      "47f7d9f34ca80d5ae5db395edc4e6b814c3f7af15bc100944ee00bb27482eb8e",
    ]);
  });

  test("an anchor's does not depend on the order of its heads", () => {
    const heads = ["a", "b", "c"].map((tenant) => ({ tenant, lane: "r1", seq: 1, hash: "ab" }));
    expect(anchorMac(hmac, heads)).toBe(anchorMac(hmac, heads.toReversed()));
  });
});

describe("a lane", () => {
  const records = chain(5);
  const known = witnesses(records);

  test("that is whole has no problems", () => {
    expect(verifyLane(records, place, { ...known, anchored: headOf(records.slice(0, 3)) }, hmac)).toEqual({
      records: 5,
      problems: [],
    });
    expect(verifyLane([], place, { head: undefined, anchored: undefined }, hmac)).toEqual({ records: 0, problems: [] });
  });

  test("names an edited record", () => {
    expect(
      kinds(
        records.map((record) => (record.seq === 3 ? { ...record, status: "failed" } : record)),
        known,
      ),
    ).toEqual(["edited 3"]);
    expect(
      kinds(
        records.map((record) => (record.seq === 3 ? { ...record, cache: "hit" } : record)),
        known,
      ),
    ).toEqual(["edited 3"]);
  });

  test("names missing records: the first, one inside, the last", () => {
    expect(kinds(records.slice(1), known)).toEqual(["missing 1"]);
    expect(
      kinds(
        records.filter((record) => record.seq !== 3),
        known,
      ),
    ).toEqual(["missing 3"]);
    expect(kinds(records.slice(0, 3), known)).toEqual(["cut_tail 4"]);
    expect(kinds([], known)).toEqual(["cut_tail 1"]);
  });

  test("names a head that is missing, edited, old, or of another lane", () => {
    expect(kinds(records, { ...known, head: undefined })).toEqual(["head_missing 5"]);
    expect(kinds(records, { ...known, head: { ...headOf(records), mac: "00" } })).toEqual(["head_edited 5"]);
    expect(kinds(records, witnesses(records.slice(0, 3)))).toEqual(["head_edited 3"]);
    const foreign = { ...headOf(records), tenant: "globex" };
    expect(kinds(records, { ...known, head: { ...foreign, mac: headMac(hmac, foreign) } })).toEqual(["head_edited 5"]);
  });

  test("names an anchor that knows more, also when the head was cut back with the tail", () => {
    const cut = records.slice(0, 3);
    expect(kinds(cut, { ...witnesses(cut), anchored: headOf(records) })).toEqual(["anchor_ahead 4"]);
    expect(kinds([], { head: undefined, anchored: headOf(records) })).toEqual(["anchor_ahead 1"]);
    expect(kinds(records, { ...known, anchored: { ...headOf(records), hash: "00" } })).toEqual(["anchor_ahead 5"]);
  });

  test("that was written anew without the key is found at its first record", () => {
    const forged = chain(5, otherHmac);
    expect(kinds(forged, witnesses(forged, otherHmac))).toEqual(["edited 1", "head_edited 5"]);
  });

  test("that holds a record of another lane is found", () => {
    const moved = records.map((record) => ({ ...record, tenant: "globex" }));
    expect(
      verifyLane(moved, { ...place, tenant: "globex" }, { head: undefined, anchored: undefined }, hmac).problems[0],
    ).toMatchObject({
      kind: "edited",
      seq: 1,
    });
  });
});
