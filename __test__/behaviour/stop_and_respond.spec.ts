import type { Mutation, Session, SessionError, ToolPart } from "@downcity/agent";
import { next_interaction } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import { interactions_of } from "../support/fold.js";
import { answer, approve, asking_tool, calls_of, deny, open, pending_of, run } from "../support/session.js";
import { on_each_store, type Store } from "../support/stores.js";

const ACT = [[{ call: "act", input: { n: 1 } }], "Done."];

function pending_in(mutation: Mutation) {
  if (mutation.variant !== "part") return undefined;
  return interactions_of(mutation.part).find(({ status }) => status === "pending");
}

/** Each way in which stop() and respond() can come together; gives back what became of the answer. */
const WAYS: { [name: string]: (session: Session, id: string) => Promise<PromiseSettledResult<unknown>[]> } = {
  "stop first, in one tick": (session, id) =>
    Promise.allSettled([session.stop(), session.respond(approve(id))]).then(([, answered]) => [answered]),
  "respond first, in one tick": (session, id) =>
    Promise.allSettled([session.respond(approve(id)), session.stop()]).then(([answered]) => [answered]),
  "stop, awaited, then respond": async (session, id) => {
    await session.stop();
    return Promise.allSettled([session.respond(approve(id))]);
  },
  "respond, awaited, then stop": async (session, id) => {
    const answered = await Promise.allSettled([session.respond(approve(id))]);
    await session.stop();
    return answered;
  },
  "stop a microtask after respond": async (session, id) => {
    const answered = session.respond(approve(id));
    await null;
    await session.stop();
    return Promise.allSettled([answered]);
  },
  "respond a microtask after stop": async (session, id) => {
    const stopped = session.stop();
    await null;
    const answered = await Promise.allSettled([session.respond(approve(id))]);
    await stopped;
    return answered;
  },
  "stop between two answers": (session, id) =>
    Promise.allSettled([session.respond(approve(id)), session.stop(), session.respond(deny(id))]).then(
      ([first, , second]) => [first, second],
    ),
  "stop inside the callback that tells of the answer": async (session, id) => {
    const stopped = new Promise<void>((resolve, reject) => {
      const unsubscribe = session.subscribe((mutation) => {
        if (mutation.variant !== "part" || mutation.part.type !== "tool") return;
        if (mutation.part.state === "waiting-user") return;
        unsubscribe();
        session.stop().then(() => resolve(), reject);
      });
    });
    const answered = await Promise.allSettled([session.respond(approve(id))]);
    await stopped;
    return answered;
  },
  "respond inside the callback that tells of the stop": async (session, id) => {
    const answered = new Promise<PromiseSettledResult<unknown>[]>((resolve) => {
      const unsubscribe = session.subscribe(() => {
        unsubscribe();
        resolve(Promise.allSettled([session.respond(approve(id))]));
      });
    });
    await session.stop();
    return answered;
  },
};

on_each_store("stop() and respond()", (store) => {
  test.each(Object.keys(WAYS))(
    "%s: exactly one of approved and run, or cancelled and not run",
    async (way) => {
      const { tool: act, runs, decisions } = asking_tool();
      const { session, observer } = await open(store, ACT, { tools: { act } });
      const turn = await session.prompt({ query: "Go" });
      const { interaction_id } = await next_interaction(session);
      const ends = (await WAYS[way]?.(session, interaction_id)) ?? [];
      expect((await turn.finished).status).toBe("stopped");
      const won = ends.filter(({ status }) => status === "fulfilled");
      expect(won.length).toBeLessThanOrEqual(1);
      const [call] = await calls_of(session);
      const [interaction] = call?.interactions ?? [];
      expect(interaction?.status).toBe(won.length === 1 ? "resolved" : "cancelled");
      if (won.length === 0) {
        expect(interaction).toMatchObject({ cancel_reason: "turn_stopped" });
        expect(decisions).toEqual([]);
        expect(runs).toEqual([]);
        expect(call).toMatchObject({ state: "failed", error_code: "stopped" });
      }
      for (const end of ends) {
        if (end.status === "fulfilled") continue;
        const { code, interaction: committed } = end.reason as SessionError;
        expect(code).toBe("INTERACTION_TERMINAL");
        expect(committed).toEqual(interaction);
      }
      expect(await session.interactions()).toEqual([]);
      expect((await session.status()).state).toBe("idle");
      await observer.agrees();
      expect((await run(session, "Again")).text).toBe("Done.");
    },
  );

  test("the same again in 100 Turns with random moments", { timeout: 60_000 }, async () => {
    await race_often(store, 100);
  });

  test("stopping inside the callback that announces the first of three cancels all three", async () => {
    const { tool: act, runs } = asking_tool();
    const script = [[{ call: "act" }, { call: "act" }, { call: "act" }], "Next."];
    const { session, observer } = await open(store, script, { tools: { act } });
    let stopping: ReturnType<Session["stop"]> | undefined;
    session.subscribe((mutation) => {
      if (pending_in(mutation)) stopping ??= session.stop();
    });
    const turn = await session.prompt({ query: "Go" });
    expect((await turn.finished).status).toBe("stopped");
    expect(await stopping).toEqual({
      stopped: true,
      turn_id: turn.id,
      cancelled_prompts: 0,
      reason: "stopped",
    });
    expect(runs).toEqual([]);
    const calls = await calls_of(session);
    expect(calls.map(({ state }) => state)).toEqual(["failed", "failed", "failed"]);
    const ends = calls.flatMap(({ interactions }) => interactions ?? []);
    expect(ends.length).toBeGreaterThan(0);
    expect(ends.every(({ status }) => status === "cancelled")).toBe(true);
    const seen = observer.mutations.length;
    expect((await run(session, "Again")).text).toBe("Next.");
    const later = observer.mutations.slice(seen);
    expect(later.some(pending_in)).toBe(false);
  });
});

on_each_store("Answering from inside a subscriber", (store) => {
  const question = { questions: [{ question_id: "why", question: "Why?", type: "text" }] };
  const SCRIPT = [[{ call: "act" }, { call: "ask", input: question }], "Done."];

  /** The answer to whatever it is. */
  function input_for(pending: NonNullable<ReturnType<typeof pending_in>>) {
    if (pending.type === "approval") return approve(pending.interaction_id);
    const question_id = pending.payload.questions[0]?.question_id ?? "";
    return answer(pending.interaction_id, [{ question_id, value: "because" }]);
  }

  type Listener = (session: Session, pending: NonNullable<ReturnType<typeof pending_in>>) => unknown;
  const listeners: { [name: string]: Listener } = {
    "a plain callback": (session, pending) => void session.respond(input_for(pending)),
    "an async callback": async (session, pending) => {
      await session.respond(input_for(pending));
    },
    "a callback that reads interactions() first": async (session, pending) => {
      const listed = await session.interactions();
      expect(listed.map(({ interaction_id }) => interaction_id)).toContain(pending.interaction_id);
      await session.respond(input_for(pending));
    },
    "a callback that waits for a later tick": async (session, pending) => {
      await new Promise(setImmediate);
      await session.respond(input_for(pending));
    },
  };

  test.each(Object.keys(listeners))("works from %s", async (name) => {
    const { tool: act, runs } = asking_tool();
    const { session } = await open(store, SCRIPT, { tools: { act, ask: AskQuestionsTool } });
    const answered = new Set<string>();
    const work: unknown[] = [];
    session.subscribe((mutation) => {
      const pending = pending_in(mutation);
      if (!pending || answered.has(pending.interaction_id)) return;
      answered.add(pending.interaction_id);
      work.push(listeners[name]?.(session, pending));
    });
    expect((await run(session)).text).toBe("Done.");
    await Promise.all(work);
    expect(answered.size).toBe(2);
    expect(runs).toHaveLength(1);
  });

  test("an Interaction that nobody heard of is listed and can be answered", async () => {
    const { tool: act } = asking_tool();
    const { session } = await open(store, SCRIPT, { tools: { act, ask: AskQuestionsTool }, observed: false });
    const turn = await session.prompt({ query: "Go" });
    for (const pending of await pending_of(session, 2)) {
      expect(pending).toMatchObject({ turn_id: turn.id, status: "pending" });
      await session.respond(input_for(pending));
    }
    expect((await turn.finished).success).toBe(true);
  });
});

async function race_often(store: Store, rounds: number): Promise<void> {
  const { tool: act, runs } = asking_tool();
  const steps = (prompt: readonly { role: string }[]) =>
    prompt.at(-1)?.role === "tool" ? "Done." : [{ call: "act" }];
  const { session, observer } = await open(store, steps, { tools: { act } });
  const ticks = async (count: number) => {
    for (let tick = 0; tick < count; tick += 1) await null;
  };
  let approved = 0;
  for (let round = 0; round < rounds; round += 1) {
    const turn = await session.prompt({ query: `Go ${round}` });
    const { interaction_id } = await next_interaction(session);
    const before = runs.length;
    const stopping = ticks(round % 7).then(() => session.stop());
    const answering = ticks((round * 3) % 5).then(() => session.respond(approve(interaction_id)));
    const [stopped, answered] = await Promise.allSettled([stopping, answering]);
    const { status } = await turn.finished;
    expect(stopped.status).toBe("fulfilled");
    if (answered.status === "fulfilled") approved += 1;
    else expect(runs).toHaveLength(before);
    const call = (await session.messages({ limit: 1 })).items[0]?.parts.find(
      ({ type }) => type === "tool",
    ) as ToolPart;
    expect(call?.interactions?.[0]?.status).toBe(answered.status === "fulfilled" ? "resolved" : "cancelled");
    expect(["stopped", "completed"]).toContain(status);
  }
  await observer.agrees();
  expect(runs.length).toBeLessThanOrEqual(approved);
}
