/** `@ai-sdk/openai` (responses) against a server that wants reasoning, calls and their results paired and in order. */
import { describe, expect, it, onTestFinished } from "vitest";
import { ask, CALLS, journey, REASON, simple, TEXTS } from "../support/journey.js";
import { type HttpRefusal, ModelServer } from "../support/model-server.js";
import { LINES, with_provider_options, without_reasoning } from "../support/provider-lines.js";
import { type Item, type ResponsesReply, ResponsesService } from "../support/responses-server.js";
import { memory_store, on_each_store } from "../support/stores.js";

type Steps = (ResponsesReply | HttpRefusal)[];

const reasoning = (n: number, ...summary: string[]): Item => ({
  type: "reasoning",
  id: `rs_${n}`,
  summary,
  encrypted_content: `encrypted-${n}==`,
});
const call = (n: number, name: string, input: object): Item => ({
  type: "function_call",
  id: `fc_${n}`,
  call_id: `call_${n}`,
  name,
  arguments: JSON.stringify(input),
});
const message = (n: number, text: string): Item => ({ type: "message", id: `msg_${n}`, text });

const JOURNEY: Steps = [
  {
    output: [
      reasoning(1, "First \u{1f389}", "then"),
      message(1, TEXTS[0]),
      call(1, "read", CALLS.read),
      // One that shows nothing and has only its encrypted form.
      reasoning(2),
      call(2, "write", CALLS.write),
      call(3, "remove", CALLS.remove),
    ],
  },
  { output: [reasoning(3, "again"), call(4, "write", CALLS.write_again)] },
  { output: [reasoning(4, "so"), message(2, TEXTS[2])] },
  { output: [message(3, TEXTS[3])] },
];

describe.each(LINES)("@ai-sdk/openai, specification $specification", ({ load }) => {
  async function start(steps: Steps, store: boolean) {
    const server = await ModelServer.start(new ResponsesService(), steps);
    onTestFinished(() => server.stop());
    const packages = await load();
    const provider = packages.openai.createOpenAI({ baseURL: server.base_url, apiKey: "none" });
    const options = { openai: { store, ...(store ? {} : { include: ["reasoning.encrypted_content"] }) } };
    return { server, model: with_provider_options(provider.responses("gpt-5-mini"), options) };
  }

  describe.each([
    ["kept by the service", true],
    ["sent encrypted", false],
  ])("reasoning that is %s", (_name, store) => {
    on_each_store("around the pauses", (place) => {
      it("goes back with its calls, in order, each call answered", async () => {
        const { server, model } = await start(JOURNEY, store);
        await journey(place, model);
        expect(server.faults).toEqual([]);
        expect(server.requests).toHaveLength(4);
        const results = server.requests.at(-1)?.input.filter(({ type }) => type === "function_call_output");
        expect(results).toMatchObject([
          { call_id: "call_1", output: "content" },
          { call_id: "call_2", output: '{"ok":true}' },
          { call_id: "call_3", output: expect.stringContaining(REASON) },
          { call_id: "call_4", output: '{"ok":true}' },
        ]);
      });
    });

    it("the server does refuse calls without their reasoning", async () => {
      const { model } = await start(JOURNEY, store);
      const { session } = await simple(without_reasoning(model), memory_store);
      expect(await ask(session)).toMatchObject({
        status: "failed",
        error: expect.stringContaining("without its required item"),
      });
    });
  });

  it("a response that fails on the way: no call is run, and the next turn is taken", async () => {
    const failed = { code: "invalid_prompt", message: "It failed." };
    const { server, model } = await start(
      [
        { output: [reasoning(1, "hm"), call(1, "spy", {})], failed },
        { output: [message(1, "Whole.")] },
        { output: [message(2, "Later.")] },
      ],
      false,
    );
    const { session, spy } = await simple(model, memory_store);
    await ask(session);
    expect(spy.inputs).toEqual([]);
    expect((await ask(session, "Still there?")).success).toBe(true);
    expect(server.faults).toEqual([]);
  });

  describe("a response that broke off, of which the service kept nothing", () => {
    it.each([
      // response.created, the two events of the thought, and a part of the message.
      ["ends", { end_after: 5 }],
      ["is cut", { cut_after: 5 }],
      ["fails", { failed: { code: "server_error", message: "It failed." } }],
    ])("is not referred to, where it %s in its text", async (_name, how) => {
      const { server, model } = await start(
        [
          { output: [reasoning(1), message(1, "Half a sentence that is not")], ...how },
          { output: [reasoning(2), message(2, "Whole.")] },
          { output: [reasoning(3), message(3, "Later.")] },
        ],
        true,
      );
      const { session } = await simple(model, memory_store);
      await ask(session);
      expect(await ask(session, "Again?")).toMatchObject({ success: true, text: "Whole." });
      expect(await ask(session, "And?")).toMatchObject({ success: true, text: "Later." });
      expect(server.faults).toEqual([]);
      const sent = JSON.stringify(server.requests.at(-1)?.input);
      expect(sent).toContain('"Half');
      // What the service does keep is referred to all the same.
      expect(sent).toContain('{"type":"item_reference","id":"rs_2"}');
    });

    it("is not referred to by its calls, which were not run", async () => {
      const failed = { code: "server_error", message: "It failed." };
      const { server, model } = await start(
        [
          { output: [reasoning(1), call(1, "spy", {})], failed },
          { output: [reasoning(2), message(1, "Whole.")] },
          { output: [message(2, "Later.")] },
        ],
        true,
      );
      const { session, spy } = await simple(model, memory_store);
      expect(await ask(session)).toMatchObject({ success: true, text: "Whole." });
      expect((await ask(session, "And?")).text).toBe("Later.");
      expect(spy.inputs).toEqual([]);
      expect(server.faults).toEqual([]);
    });
  });

  it("a busy service is asked again", async () => {
    const { server, model } = await start(
      [{ status: 500, message: "busy" }, { output: [message(1, "Fine.")] }],
      true,
    );
    const { session } = await simple(model, memory_store);
    expect(await ask(session)).toMatchObject({ success: true, text: "Fine.", usage: { total_tokens: 15 } });
    expect(server.requests).toHaveLength(2);
  });

  it.each([
    // response.created, and the three events of an empty call.
    ["ends", { end_after: 4 }],
    ["is cut", { cut_after: 4 }],
  ])(
    "a stream that %s after a whole call, before it says that it is complete, runs nothing",
    async (_name, how) => {
      const { server, model } = await start(
        [{ output: [call(1, "spy", {})], ...how }, { output: [message(1, "Whole.")] }],
        false,
      );
      const { session, spy } = await simple(model, memory_store);
      expect(await ask(session)).toMatchObject({ success: true, text: "Whole." });
      expect(spy.inputs).toEqual([]);
      expect(server.faults).toEqual([]);
    },
  );

  it("calls of an incomplete response are not run, and the model is told", async () => {
    const { server, model } = await start(
      [
        { output: [call(1, "spy", {})], incomplete: "max_output_tokens" },
        { output: [message(1, "Shorter.")] },
      ],
      false,
    );
    const { session, spy } = await simple(model, memory_store);
    expect(await ask(session)).toMatchObject({ success: true, text: "Shorter." });
    expect(spy.inputs).toEqual([]);
    expect(server.faults).toEqual([]);
  });
});
