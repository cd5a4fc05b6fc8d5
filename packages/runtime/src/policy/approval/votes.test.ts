// Who may vote, whose vote counts on which route, and when the votes are enough.
import { describe, expect, test } from "vitest";
import { castBy, opened, play, playAll, replyOf, voteBy } from "../../../../../test/support/approvals.ts";
import { isEnough, mayVote, peopleOf, progressOf } from "./votes.ts";

const two = (...names: string[]) => names.map((route) => ({ route, quorum: 2 }));

describe("who may vote", () => {
  test.each([
    ["somebody with the role", "user:bo", ["finance"], undefined],
    ["somebody with another role", "user:bo", ["sales"], { reason: "missing_role", routes: ["finance"] }],
    ["somebody with no role", "user:bo", [], { reason: "missing_role", routes: ["finance"] }],
    ["an agent, whatever its roles", "agent:other", ["finance"], { reason: "not_a_person" }],
    ["whom the agent called for", "user:ann", ["finance"], undefined],
  ])("%s", (_, voter, roles, refusal) => {
    expect(mayVote(opened().approval, { voter, roles })).toEqual(refusal);
  });

  test("distinct from the requester: neither who called nor for whom", () => {
    const { approval } = opened({ distinctFromRequester: true }, { requester: "user:cy", onBehalfOf: "user:ann" });
    expect(mayVote(approval, castBy("user:cy"))).toEqual({ reason: "requester_may_not_vote" });
    expect(mayVote(approval, castBy("user:ann"))).toEqual({ reason: "requester_may_not_vote" });
    expect(mayVote(approval, castBy("user:bo"))).toBeUndefined();
  });

  test("a route without a role is everybody who may decide", () => {
    const { approval } = opened({ routes: [{ route: "", quorum: 1 }] });
    expect(mayVote(approval, { voter: "user:bo", roles: [] })).toBeUndefined();
  });
});

describe("what is enough", () => {
  test("one route, two people", () => {
    const first = play(opened({ routes: two("finance") }), voteBy("user:bo"));
    expect(progressOf(first.after)).toEqual([{ route: "finance", quorum: 2, voters: ["user:bo"] }]);
    expect(first.after.approval.state).toBe("pending");
    const second = play(first.after, voteBy("user:cy"));
    expect(second.after.approval).toMatchObject({ state: "approved", closedBy: "user:cy" });
  });

  test("every route must be full; who has two roles counts once on each", () => {
    const routes = [
      { route: "finance", quorum: 2 },
      { route: "legal", quorum: 1 },
    ];
    const both = play(opened({ routes }), voteBy("user:bo", { roles: ["legal", "finance"] })).after;
    expect(progressOf(both)).toEqual([
      { route: "finance", quorum: 2, voters: ["user:bo"] },
      { route: "legal", quorum: 1, voters: ["user:bo"] },
    ]);
    expect(isEnough(progressOf(both))).toBe(false);
    const full = play(both, voteBy("user:cy")).after;
    expect(peopleOf(full)).toEqual(["user:bo", "user:cy"]);
    expect(full.approval.state).toBe("approved");
  });

  test("enough on one route alone is not enough", () => {
    const all = playAll(
      opened({ routes: two("finance", "legal") }),
      voteBy("user:bo"),
      voteBy("user:cy"),
      voteBy("user:di"),
    );
    expect(all.approval.state).toBe("pending");
    expect(progressOf(all).map(({ voters }) => voters.length)).toEqual([3, 0]);
  });

  test("one person with both roles answers two rules that each ask for one", () => {
    const routes = [
      { route: "finance", quorum: 1 },
      { route: "legal", quorum: 1 },
    ];
    const step = play(opened({ routes }), voteBy("user:bo", { roles: ["finance", "legal"] }));
    expect(step.after.approval.state).toBe("approved");
  });

  test("two rules that ask the same role: the larger quorum, not the sum", () => {
    const routes = [
      { route: "finance", quorum: 1 },
      { route: "finance", quorum: 2 },
    ];
    expect(opened({ routes }).approval.routes).toEqual([{ route: "finance", quorum: 2 }]);
  });

  test("the role that counts is the one held when voting", () => {
    const first = play(opened({ routes: two("finance") }), voteBy("user:bo")).after;
    expect(replyOf(play(first, voteBy("user:cy", { roles: ["sales"] })))).toBe("missing_role");
    expect(first.votes).toMatchObject([{ voter: "user:bo", roles: ["finance"] }]);
  });
});
