import { type AgentTool, with_approval } from "@downcity/agent";
import { next_interaction } from "@downcity/agent/testing";
import { tool as ai_tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  answer_next,
  approve,
  calls_of,
  deny,
  type OpenOptions,
  open,
  pending_of,
  reopen,
  results_in,
  run,
} from "../support/session.js";
import { on_each_store } from "../support/stores.js";

/** A tool that notes its runs, with a gate before it. */
function gated(options?: Parameters<typeof with_approval<AgentTool>>[1]) {
  const runs: unknown[] = [];
  const definition: AgentTool = {
    description: "Writes.",
    input_schema: { type: "object", properties: { path: { type: "string" } } },
    execute: (input) => {
      runs.push(input);
      return { wrote: true };
    },
  };
  return { tool: with_approval(definition, options), runs };
}

const WRITE = [{ call: "write", input: { path: "a" }, id: "call_w" }];

on_each_store("Gates", (store) => {
  test("a gate asks before the tool is entered, and approval enters it once", async () => {
    const { tool: write, runs } = gated();
    const { session, observer } = await open(store, [WRITE, "Done."], { tools: { write } });
    const turn = await session.prompt({ query: "Go" });
    const asked = await next_interaction(session);
    expect(asked).toMatchObject({
      type: "approval",
      source: { type: "tool", tool_call_id: "call_w", tool_name: "write" },
      payload: { operation: "tool", validated_input: { path: "a" }, tool_description: "Writes." },
    });
    expect(runs).toEqual([]);
    await session.respond(approve(asked.interaction_id));
    await turn.finished;
    expect(runs).toEqual([{ path: "a" }]);
    const states = observer.mutations.flatMap((mutation) =>
      mutation.variant === "part" && mutation.part.type === "tool" ? [mutation.part.state] : [],
    );
    expect(states).toEqual(["input-streaming", "ready", "waiting-user", "running", "completed"]);
  });

  test.each(["v2", "v3", "v4"] as const)(
    "a denial reaches a %s model as its specification has it, with the reason",
    async (specification) => {
      const { tool: write, runs } = gated();
      const read: AgentTool = { input_schema: { type: "object" }, execute: () => "content" };
      const options: OpenOptions = { tools: { write, read }, specification };
      const script = [[{ call: "read" }, ...WRITE], "I see.", "Second."];
      const opened = await open(store, script, options);
      const turn = await opened.session.prompt({ query: "Go" });
      await answer_next(opened.session, (id) => deny(id, "use /tmp instead"));
      await turn.finished;
      await run(opened.session);
      const again = await reopen(opened, ["Third."], options);
      await run(again.session);
      for (const prompt of [opened.model.prompts[1], opened.model.prompts[2], again.model.prompts[0]]) {
        const [content, denied] = results_in(prompt);
        expect(content?.output).toEqual({ type: "text", value: "content" });
        expect(denied?.output.type).toBe(specification === "v2" ? "error-text" : "execution-denied");
        const words = String(denied?.output.value ?? denied?.output.reason);
        expect(words).toContain("use /tmp instead");
        expect(words).toMatch(/not executed/);
      }
      expect(runs).toEqual([]);
      expect((await calls_of(again.session))[1]).toMatchObject({ state: "failed", error_code: "denied" });
    },
  );

  test("a denial without a reason still says something", async () => {
    const { tool: write } = gated();
    const { session, model } = await open(store, [WRITE, "I see."], { tools: { write } });
    const turn = await session.prompt({ query: "Go" });
    await answer_next(session, (id) => deny(id));
    await turn.finished;
    expect(results_in(model.prompts[1])[0]?.output.reason).toMatch(/\w/);
  });

  test("when() is asked once per call, and anything but a plain false asks a person", async () => {
    const seen: unknown[] = [];
    const answers: unknown[] = [false, async () => false, true, undefined, null, 0, "", async () => "no"];
    const when = async (input: unknown, info: { tool_call_id: string }) => {
      seen.push([input, info.tool_call_id]);
      const { n } = input as { n: number };
      const given = answers[n];
      return (typeof given === "function" ? await given() : given) as boolean;
    };
    const { tool: write, runs } = gated({ when });
    const calls = answers.map((_, n) => ({ call: "write", input: { n }, id: `call_${n}` }));
    const { session } = await open(store, [calls, "Done."], { tools: { write } });
    const turn = await session.prompt({ query: "Go" });
    const asked = await pending_of(session, 6);
    expect(asked.map(({ source }) => source.tool_call_id).sort()).toEqual(
      [2, 3, 4, 5, 6, 7].map((n) => `call_${n}`),
    );
    for (const { interaction_id } of asked) await session.respond(approve(interaction_id));
    await turn.finished;
    expect(runs).toHaveLength(answers.length);
    expect(seen).toHaveLength(answers.length);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("rule broken");
      },
    ],
    ["rejects", async () => Promise.reject(new Error("rule broken"))],
  ] as const)("a rule that %s fails the call, asks nobody and runs nothing", async (_, when) => {
    const { tool: write, runs } = gated({ when });
    const { session, model, observer } = await open(store, [WRITE, "I see."], { tools: { write } });
    expect((await run(session)).status).toBe("completed");
    expect(runs).toEqual([]);
    expect(observer.fold().pending).toEqual([]);
    const [call] = await calls_of(session);
    expect(call).toMatchObject({ state: "failed", error: expect.stringContaining("rule broken") });
    expect(call).not.toHaveProperty("interactions");
    expect(results_in(model.prompts[1])[0]?.output.type).toBe("error-text");
  });

  test("the schema is applied once, to the raw input, before the rule is asked", async () => {
    let transformed = 0;
    const schema = z.object({
      n: z.string().transform((text) => {
        transformed += 1;
        return Number(text);
      }),
      unit: z.string().default("C"),
      tags: z.string().transform((text) => text.split(",")),
      day: z.coerce.date(),
    });
    const seen: unknown[] = [];
    const runs: unknown[] = [];
    const write = with_approval(
      { input_schema: schema, execute: (input: unknown) => void runs.push(input) },
      { when: (input: unknown) => void seen.push(input) as unknown as boolean },
    );
    const input = { n: "3", tags: "a,b", day: "1970-01-01" };
    const { session } = await open(store, [[{ call: "write", input }], "Done."], { tools: { write } });
    const turn = await session.prompt({ query: "Go" });
    const asked = await next_interaction(session);
    expect(asked.payload).toMatchObject({
      validated_input: { n: 3, unit: "C", tags: ["a", "b"], day: "1970-01-01T00:00:00.000Z" },
    });
    await session.respond(approve(asked.interaction_id));
    await turn.finished;
    const parsed = { n: 3, unit: "C", tags: ["a", "b"], day: new Date(0) };
    expect(seen).toEqual([parsed]);
    expect(runs).toEqual([parsed]);
    expect(transformed).toBe(1);
    expect((await calls_of(session))[0]?.input).toEqual(input);
  });

  test("tools of the AI SDK are taken as they are, and needsApproval is a gate", async () => {
    const runs: unknown[] = [];
    const write = ai_tool({
      description: "Writes.",
      inputSchema: z.object({ path: z.string() }),
      needsApproval: ({ path }) => path !== "free",
      execute: (input) => {
        runs.push(input);
        return "wrote";
      },
    });
    const calls = ["asks", "free"].map((path) => ({ call: "write", input: { path }, id: `call_${path}` }));
    const { session, model } = await open(store, [calls, "Done."], { tools: { write } });
    const turn = await session.prompt({ query: "Go" });
    const asked = await next_interaction(session);
    expect(asked.source.tool_call_id).toBe("call_asks");
    await session.respond(approve(asked.interaction_id));
    await turn.finished;
    expect(runs).toHaveLength(2);
    expect(results_in(model.prompts[1]).map(({ output }) => output.value)).toEqual(["wrote", "wrote"]);
  });

  test("always-allow opens gates", async () => {
    const { tool: write, runs } = gated();
    const { session } = await open(store, [WRITE, "Done."], {
      tools: { write },
      session: { security: { approval_mode: "always-allow" } },
    });
    expect((await run(session)).text).toBe("Done.");
    expect(runs).toHaveLength(1);
    expect((await calls_of(session))[0]).not.toHaveProperty("interactions");
  });

  test("a denied call never runs later, whatever mode is set", async () => {
    const { tool: write, runs } = gated();
    const { session } = await open(store, [WRITE, "I see.", "Two.", "Three."], { tools: { write } });
    const turn = await session.prompt({ query: "Go" });
    await answer_next(session, (id) => deny(id, "no"));
    await turn.finished;
    await session.set({ security: { approval_mode: "always-allow" } });
    await run(session);
    await run(session);
    expect(runs).toEqual([]);
  });
});
