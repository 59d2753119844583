/** One Session and several processes that each believe to know it: nobody overwrites what another has done. */
import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ASKING, EVERYWHERE, GATED, Place, pending, until, waiting_owner } from "../support/peers.js";
import { approve } from "../support/session.js";

/** Without an end, for peers that are prompted as often as others let them. */
const TALK = Array.from({ length: 30 }, (_, index) => `Answer ${index}.`);

type Told = { revision_of_session: number };
type Message = { role: string; sequence: number; parts: { text?: string }[] };

const deny = (interaction_id: string) => ({
  interaction_id,
  response: { type: "approval", outcome: "denied" },
});

const ascending = (list: number[]) => expect(list).toEqual(list.map((_, index) => index + 1));

describe.each(EVERYWHERE)("One that was idle while another %s worked", (where) => {
  test("sees its Turn, and is refused where it answers what the other has settled", async () => {
    const place = new Place();
    const idle = await place.peer("agent", ["I have read it."]);
    await idle.ask("create");
    const other = await place.peer(where, GATED);
    await other.ask("get");
    await other.ask("prompt", { query: "Go" });
    const interaction_id = await pending(other);
    const settled = await other.ask("respond", approve(interaction_id));
    expect(await other.ask("finished")).toMatchObject({ status: "completed" });
    await other.ask("dispose");

    for (const late of [approve(interaction_id), deny(interaction_id)])
      expect(await idle.try("respond", late)).toMatchObject({ refused: "INTERACTION_TERMINAL" });
    await idle.ask("prompt", { query: "And now?" });
    expect(await idle.ask("finished")).toMatchObject({ status: "completed", text: "I have read it." });
    const [prompt] = await idle.ask<{ role: string }[][]>("prompts");
    expect(prompt?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    const messages = await idle.ask<Message[]>("messages");
    ascending(messages.map(({ sequence }) => sequence));
    expect(JSON.stringify(messages)).toContain(JSON.stringify(settled));
    ascending((await idle.ask<Told[]>("seen")).map((told) => told.revision_of_session));
    expect(place.entered()).toEqual(["gated"]);
  });

  test("both prompt in the same instant, 20 times: each prompt is there once, and no Mutation is missing", async () => {
    const place = new Place();
    const one = await place.peer("agent", TALK);
    await one.ask("create");
    const two = await place.peer(where, TALK);
    await two.ask("get");
    for (let round = 0; round < 20; round += 1) {
      const peers = round % 2 === 0 ? [one, two] : [two, one];
      await Promise.all(peers.map((peer) => peer.ask("prompt", { query: `${round}` })));
      for (const peer of peers)
        expect(await peer.ask("finished")).toMatchObject({ status: "completed", success: true });
    }
    const messages = await one.ask<Message[]>("messages");
    ascending(messages.map(({ sequence }) => sequence));
    const said = messages.filter(({ role }) => role === "user").map(({ parts }) => parts[0]?.text);
    expect(said).toEqual(Array.from({ length: 40 }, (_, index) => `${Math.floor(index / 2)}`));
    const revisions = (await one.ask<Told[]>("seen")).map((told) => told.revision_of_session);
    ascending(revisions);
    const seen = async () => (await two.ask<Told[]>("seen")).map((told) => told.revision_of_session);
    await until(async () => (await seen()).length >= revisions.length);
    expect(await seen()).toEqual(revisions);
  });

  test("both answer in the same instant, 50 times: one wins, and what it said is done", async () => {
    const place = new Place();
    const rounds = Array.from({ length: 50 }, (_, round) => round);
    const owner = await place.peer(
      "agent",
      rounds.flatMap((n) => [[{ call: "gated", input: { n } }], "Done."]),
    );
    await owner.ask("create");
    const beside = await place.peer(where, []);
    await beside.ask("get");
    let approved = 0;
    for (const round of rounds) {
      await owner.ask("prompt", { query: `${round}` });
      const interaction_id = await pending(owner);
      await until(async () => (await pending(beside)) === interaction_id);
      const inputs = [approve(interaction_id), deny(interaction_id)];
      if (round % 3 === 0) inputs.reverse();
      const replies = await Promise.all([owner.try("respond", inputs[0]), beside.try("respond", inputs[1])]);
      const won = replies.find((reply) => reply.refused === undefined);
      expect(replies.map(({ refused }) => refused).sort()).toEqual(["INTERACTION_TERMINAL", undefined]);
      if (JSON.stringify(won).includes('"status":"resolved"')) approved += 1;
      expect(await owner.ask("finished")).toMatchObject({ status: "completed", text: "Done." });
      expect(place.entered()).toHaveLength(approved);
    }
    expect(JSON.stringify(await beside.ask("messages"))).toBe(JSON.stringify(await owner.ask("messages")));
  });

  test("a model cannot be set beside the owner, and is as soon as there is none", async () => {
    const { place, owner, interaction_id } = await waiting_owner("agent");
    const beside = await place.peer(where, []);
    await beside.ask("get");
    expect(await beside.try("set_model", { script: ["Set."] })).toMatchObject({ refused: "SESSION_BUSY" });
    await owner.ask("respond", approve(interaction_id));
    await owner.ask("finished");
    await beside.ask("set_model", { script: ["Set."] });
    await beside.ask("prompt", { query: "Go" });
    expect(await beside.ask("finished")).toMatchObject({ status: "completed", text: "Set." });
  });
});

/** A call of a tool that asks, owned by a process with a lease of a second. */
const asking = () => waiting_owner("process", ASKING, 1);

test("a call that waits in a stopped owner is told that it was taken over, and what it was told before counts", async () => {
  const { place, owner, interaction_id } = await asking();
  owner.signal("SIGSTOP");
  const beside = await place.peer("agent", ["Taken over."], 1);
  await beside.ask("get");
  const answered = await beside.ask("respond", approve(interaction_id));
  expect(await beside.ask("active")).toMatchObject({ status: "completed", text: "Taken over." });
  const messages = await beside.ask("messages");
  expect(JSON.stringify(messages)).toContain(JSON.stringify(answered));
  owner.signal("SIGCONT");
  expect(await owner.ask("finished")).toMatchObject({ status: "detached" });
  await until(async () => place.entered().length === 3);
  expect(place.entered()).toEqual(["asks", "asks", "asks: LEASE_LOST"]);
  expect(await beside.ask("messages")).toEqual(messages);
});

test("an owner that was killed is replaced before get() gives the Session", async () => {
  const { place, owner, interaction_id } = await asking();
  await owner.end();
  const next = await place.peer("agent", ["Gone on."], 60);
  expect(await next.ask("get")).toMatch(/^turn:/);
  await until(async () => place.entered().length === 2);
  await next.ask("respond", approve(interaction_id));
  expect(await next.ask("active")).toMatchObject({ status: "completed", text: "Gone on." });
  expect(place.entered()).toEqual(["asks", "asks"]);
});

test("an owner whose tool lets nothing else run for longer than its lease stays the owner", async () => {
  const place = new Place();
  const owner = await place.peer("process", [[{ call: "busy", input: {} }], "Done."], 1);
  await owner.ask("create");
  await owner.ask("prompt", { query: "Go" });
  const beside = await place.peer("agent", ["Taken over."], 1);
  await beside.ask("get");
  await until(async () => place.entered().includes("busy"));
  // By the time that an owner which is stopped has been replaced, the lease of one that beats is over too.
  const { place: elsewhere, owner: stopped, interaction_id } = await asking();
  stopped.signal("SIGSTOP");
  const another = await elsewhere.peer("agent", ["Taken over."], 1);
  await another.ask("get");
  await another.ask("respond", approve(interaction_id));
  await another.ask("active");
  expect(await beside.ask("status")).toMatchObject({ state: "running" });
  writeFileSync(`${place.file}.enough`, "");
  expect(await owner.ask("finished")).toMatchObject({ status: "completed", text: "Done." });
  expect(place.entered()).toEqual(["busy"]);
});

test("after detach() what waits in a tool never settles, and the next one has the answer", async () => {
  const { place, owner, interaction_id } = await waiting_owner("agent", ASKING);
  await owner.ask("detach");
  expect(await owner.ask("finished")).toMatchObject({ status: "detached" });
  const next = await place.peer("process", ["Gone on."]);
  await next.ask("get");
  await next.ask("respond", approve(interaction_id));
  expect(await next.ask("active")).toMatchObject({ status: "completed", text: "Gone on." });
  expect(place.entered()).toEqual(["asks", "asks"]);
});
