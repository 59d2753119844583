import { describe, expect, test } from "vitest";
import {
  ASKING,
  EVERYWHERE,
  GATED,
  Place,
  pending,
  type Script,
  until,
  type Where,
  waiting_owner,
} from "../support/peers.js";
import { approve } from "../support/session.js";

type Told = { revision_of_session: number; variant: string; type: string };

/** An owner whose Turn waits at a gate, and somebody beside it. */
async function waiting(where: Where, script: Script = GATED) {
  const { place, owner, interaction_id } = await waiting_owner("agent", script);
  const beside = await place.peer(where, ["I am not the owner."]);
  const turn_id = await beside.ask("get");
  return { place, owner, beside, interaction_id, turn_id };
}

describe.each(EVERYWHERE)("Beside the owner of a Session, in another %s", (where) => {
  test("all of it is seen, and nothing of it is taken", async () => {
    const { owner, beside, turn_id, place } = await waiting(where);
    expect(turn_id).toBe(await owner.ask("turn_id"));
    for (const query of ["status", "interactions", "messages", "snapshot"])
      expect(await beside.ask(query)).toEqual(await owner.ask(query));
    expect(place.entered()).toEqual([]);
    await beside.ask("close");
    expect(await beside.try("status")).toMatchObject({ refused: "SESSION_CLOSED" });
    expect(await owner.ask("status")).toMatchObject({ state: "running" });
  });

  test("an answer goes on at the owner, and every Mutation is seen once and in order", async () => {
    const { place, owner, beside, interaction_id } = await waiting(where);
    const before = (await owner.ask<Told[]>("seen")).length;
    const answered = await beside.ask("respond", approve(interaction_id));
    expect(answered).toMatchObject({ interaction_id, status: "resolved" });
    expect(await beside.ask("active")).toEqual(await owner.ask("finished"));
    expect(await owner.ask("finished")).toMatchObject({ status: "completed", text: "Done." });
    expect(place.entered()).toEqual(["gated"]);
    expect(await owner.try("respond", approve(interaction_id))).toMatchObject({
      refused: "INTERACTION_TERMINAL",
    });
    const all = await owner.ask<Told[]>("seen");
    expect(all.map((told) => told.revision_of_session)).toEqual(all.map((_, index) => index + 1));
    expect(
      await until(async () => {
        const seen = await beside.ask<Told[]>("seen");
        return seen.length >= all.length - before && seen;
      }),
    ).toEqual(all.slice(before));
  });

  test("of an answer here and one there, one wins and the other gets its answer", async () => {
    const { place, owner, beside, interaction_id } = await waiting(where);
    const deny = { interaction_id, response: { type: "approval", outcome: "denied" } };
    const replies = await Promise.all([
      owner.try("respond", approve(interaction_id)),
      beside.try("respond", deny),
    ]);
    expect(replies.filter((reply) => reply.refused === undefined)).toHaveLength(1);
    expect(replies.filter((reply) => reply.refused === "INTERACTION_TERMINAL")).toHaveLength(1);
    expect(await owner.ask("finished")).toMatchObject({ status: "completed" });
    expect(place.entered()).toEqual(replies[0]?.refused === undefined ? ["gated"] : []);
  });

  test("a prompt joins the owner's Turn, and a request of one's own is answered there", async () => {
    const { owner, beside, interaction_id } = await waiting(where);
    const voted = await beside.ask<string>("request");
    await owner.ask("respond", {
      interaction_id: voted,
      response: { type: "vote", outcome: "resolved", payload: 1 },
    });
    expect(await beside.ask("answered")).toMatchObject({ status: "resolved", interaction_id: voted });
    expect(await beside.ask("prompt", { query: "And this" })).toBe(await owner.ask("turn_id"));
    await owner.ask("respond", approve(interaction_id));
    expect(await beside.ask("finished")).toMatchObject({ status: "completed", text: "Done." });
    expect(await beside.ask("finished")).toEqual(await owner.ask("finished"));
  });

  test("a stop ends the owner's Turn at once, its tool and what is queued with it", async () => {
    const { place, owner, beside } = await waiting(where, [
      [
        { call: "patient", input: {} },
        { call: "gated", input: {} },
      ],
    ]);
    await until(async () => place.entered().includes("patient"));
    await beside.ask("prompt", { query: "Later" });
    const turn_id = await owner.ask("turn_id");
    expect(await beside.ask("stop")).toEqual({
      stopped: true,
      turn_id,
      cancelled_prompts: 1,
      reason: "stopped",
    });
    expect(await owner.ask("finished")).toMatchObject({ status: "stopped" });
    expect(await beside.ask("finished")).toMatchObject({ status: "stopped" });
    expect(await owner.ask("interactions")).toEqual([]);
    expect(await beside.ask("stop")).toMatchObject({ stopped: false, reason: "idle" });
  });

  test("a mode that is set rules from the owner's next checkpoint on", async () => {
    const { owner, beside, interaction_id } = await waiting(where);
    await beside.ask("set", { config: { security: { approval_mode: "always-allow" } } });
    const security = { approval_mode: "always-allow", effective_approval_mode: "ask" };
    expect(await owner.ask("status")).toMatchObject({ security });
    await owner.ask("respond", approve(interaction_id));
    await owner.ask("finished");
    expect(await beside.ask("status")).toMatchObject({
      security: { approval_mode: "always-allow", effective_approval_mode: "always-allow" },
    });
  });

  test("what the owner lets go is gone on with", async () => {
    const { place, owner, beside, interaction_id } = await waiting(where);
    await owner.ask("detach");
    expect(await owner.ask("finished")).toMatchObject({ status: "detached" });
    await beside.ask("respond", approve(interaction_id));
    expect(await beside.ask("active")).toMatchObject({ status: "completed", text: "I am not the owner." });
    expect(place.entered()).toEqual(["gated"]);
  });

  test("an idle Session belongs to whoever prompts it", async () => {
    const place = new Place();
    const here = await place.peer("agent", ["One.", "Three."]);
    await here.ask("create");
    const there = await place.peer(where, ["Two."]);
    await there.ask("get");
    for (const [peer, text] of [
      [here, "One."],
      [there, "Two."],
      [here, "Three."],
    ] as const) {
      await peer.ask("prompt", { query: "Go" });
      expect(await peer.ask("finished")).toMatchObject({ status: "completed", text });
    }
    expect(await there.ask("messages")).toEqual(await here.ask("messages"));
    expect(await here.ask("messages")).toHaveLength(6);
  });
});

/** Waits for longer than a lease: until an owner that shows no life has lost its Session to another. */
async function a_stopped_owner_is_replaced(lease_seconds: number) {
  const { place, owner, interaction_id } = await waiting_owner("process", GATED, lease_seconds);
  owner.signal("SIGSTOP");
  const beside = await place.peer("agent", ["Taken over."], lease_seconds);
  await beside.ask("get");
  await beside.ask("respond", approve(interaction_id));
  await beside.ask("active");
}

describe("An owner in another process", () => {
  test("that is killed is replaced by itself, and its answer of an earlier day still counts", async () => {
    const { place, owner, interaction_id } = await waiting_owner("process");
    const beside = await place.peer("agent", ["Taken over."]);
    await beside.ask("get");
    owner.signal("SIGKILL");
    await beside.ask("respond", approve(interaction_id));
    expect(await beside.ask("active")).toMatchObject({ status: "completed", text: "Taken over." });
    expect(place.entered()).toEqual(["gated"]);
  });

  test("that was killed is replaced before a Session is given to whoever opens it", async () => {
    const { place, owner, interaction_id } = await waiting_owner("process", ASKING);
    owner.signal("SIGKILL");
    const next = await place.peer("agent", ["Gone on."]);
    await until(async () => (await next.ask<string[]>("claim"))[0]);
    await next.ask("get");
    await next.ask("respond", approve(interaction_id));
    expect(await next.ask("active")).toMatchObject({ status: "completed", text: "Gone on." });
    expect(place.entered()).toEqual(["asks", "asks"]);
  });

  test("that is stopped for longer than its lease is taken over, and is told when it wakes", async () => {
    const { place, owner, interaction_id } = await waiting_owner("process", GATED, 1);
    const acknowledged = await owner.ask("messages");
    owner.signal("SIGSTOP");
    const beside = await place.peer("agent", ["Taken over."], 1);
    await beside.ask("get");
    expect(await beside.ask("messages")).toEqual(acknowledged);
    await beside.ask("respond", approve(interaction_id));
    expect(await beside.ask("active")).toMatchObject({ status: "completed", text: "Taken over." });
    owner.signal("SIGCONT");
    expect(await owner.ask("finished")).toMatchObject({ status: "detached" });
    expect(await owner.try("prompt", { query: "More" })).toMatchObject({ refused: "LEASE_LOST" });
    expect(place.entered()).toEqual(["gated"]);
    // It can open the Session again.
    await owner.ask("get");
    expect(await owner.ask("messages")).toEqual(await beside.ask("messages"));
  });

  test("that lives is left alone by one that has waited for longer than the lease", async () => {
    const { place, owner, interaction_id } = await waiting_owner("process", GATED, 0.3);
    const beside = await place.peer("agent", ["Taken over."], 0.3);
    await beside.ask("get");
    await a_stopped_owner_is_replaced(0.3);
    await beside.ask("respond", approve(interaction_id));
    expect(await owner.ask("finished")).toMatchObject({ status: "completed", text: "Done." });
  });

  test("an Agent without a model never takes over, and what it answers is gone on with by the next", async () => {
    const { place, owner, interaction_id } = await waiting_owner("process");
    const beside = await place.peer("agent");
    await beside.ask("get");
    const followed = beside.ask("active");
    owner.signal("SIGKILL");
    await beside.ask("respond", approve(interaction_id));
    expect(await beside.ask("claim")).toEqual([]);
    expect(place.entered()).toEqual([]);
    const next = await place.peer("agent", ["Gone on."]);
    expect(await until(async () => (await next.ask<string[]>("claim"))[0])).toBe("s");
    await next.ask("get");
    await until(async () => (await next.ask<{ state: string }>("status")).state === "idle");
    expect(place.entered()).toEqual(["gated"]);
    expect(await followed).toMatchObject({ status: "completed", text: "Gone on." });
  });
});

describe.each(EVERYWHERE)("A listener to an Agent in another %s", (where) => {
  test("hears Sessions it has not opened, each Mutation once and in order", async () => {
    const place = new Place();
    const listening = await place.peer(where);
    await listening.ask("listen");
    const owner = await place.peer("agent", GATED);
    await owner.ask("create");
    await owner.ask("prompt", { query: "Go" });
    await owner.ask("respond", approve(await pending(owner)));
    await owner.ask("finished");
    const all = await owner.ask<Told[]>("seen");
    const heard = await until(async () => {
      const heard = await listening.ask<Told[]>("heard");
      return heard.length >= all.length && heard;
    });
    expect(heard).toEqual(all);
  });
});
