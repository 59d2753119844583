/** `@ai-sdk/anthropic` against a server that wants signed thinking back as it was. */
import { Agent, with_approval } from "@downcity/agent";
import { next_interaction, spy_tool } from "@downcity/agent/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AnthropicReply, AnthropicService, type Block } from "../support/anthropic-server.js";
import { ask, CALLS, journey, REASON, simple, TEXTS } from "../support/journey.js";
import { type HttpRefusal, ModelServer } from "../support/model-server.js";
import {
  LINES,
  with_provider_options,
  with_provider_tool,
  without_reasoning,
} from "../support/provider-lines.js";
import { memory_store, on_each_store, sqlite_store } from "../support/stores.js";

type Steps = (AnthropicReply | HttpRefusal)[];

describe.each(LINES)("@ai-sdk/anthropic, specification $specification", ({ specification, load }) => {
  async function start(steps: Steps) {
    const server = await ModelServer.start(new AnthropicService(), steps);
    onTestFinished(() => server.stop());
    const packages = await load();
    const provider = packages.anthropic.createAnthropic({ baseURL: server.base_url, apiKey: "none" });
    const model = with_provider_options(provider("claude-sonnet-4-5"), {
      anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } },
    });
    return { server, model };
  }

  const thought = (n: number): Block => ({
    type: "thinking",
    thinking: `Thought ${n} \u{1f389}`,
    signature: `signature-${n}==`,
  });
  const SHORT: Block = { type: "thinking", thinking: "Hm", signature: "signature==" };
  const use = (name: string, id: string, input: object): Block => ({ type: "tool_use", id, name, input });
  const text = (words: string): Block => ({ type: "text", text: words });

  const JOURNEY: Steps = [
    {
      blocks: [
        thought(1),
        { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" },
        text(TEXTS[0]),
        use("read", "toolu_1", CALLS.read),
        // Thought between the calls, and one of which nothing is shown but its signature.
        { type: "thinking", thinking: "", signature: "signature-of-nothing==" },
        use("write", "toolu_2", CALLS.write),
        use("remove", "toolu_3", CALLS.remove),
      ],
    },
    { blocks: [thought(2), use("write", "toolu_4", CALLS.write_again)] },
    { blocks: [thought(3), text(TEXTS[2])] },
    { blocks: [text(TEXTS[3])] },
  ];

  on_each_store("around the pauses", (store) => {
    it("thinking, its signatures and parallel calls go back as they came", async () => {
      const { server, model } = await start(JOURNEY);
      await journey(store, model);
      expect(server.faults).toEqual([]);
      const messages = server.requests.at(-1)?.messages ?? [];
      expect(messages.map(({ role }) => role)).toEqual([
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
      ]);
      const result = (id: string, content: unknown) =>
        expect.objectContaining({ type: "tool_result", tool_use_id: id, content });
      expect(messages[2]?.content).toEqual([
        result("toolu_1", "content"),
        result("toolu_2", '{"ok":true}'),
        result("toolu_3", expect.stringContaining(REASON)),
      ]);
      expect(JSON.stringify(messages[1])).toContain(JSON.stringify(CALLS.write));
    });
  });

  it("the server does refuse thinking without its signature", async () => {
    const { server, model } = await start(JOURNEY);
    const { session } = await simple(without_reasoning(model), memory_store);
    const result = await ask(session);
    expect(result).toMatchObject({ status: "failed", error: expect.stringMatching(/cannot be modified/) });
    expect(server.requests).toHaveLength(2);
  });

  it("what the service searched itself goes back with its results, and stays its own", async () => {
    const found = { type: "web_search_result", url: "https://example.org", title: "T", page_age: null };
    const search: Block = {
      type: "server_tool_use",
      id: "srvtoolu_1",
      name: "web_search",
      input: { query: "q" },
    };
    const { server, model } = await start([
      {
        blocks: [
          thought(1),
          search,
          {
            type: "web_search_tool_result",
            tool_use_id: "srvtoolu_1",
            content: [{ ...found, encrypted_content: "ZW5j" }],
          },
          text("Found it."),
          use("spy", "toolu_1", {}),
        ],
      },
      { blocks: [thought(2), text("Done.")] },
      { blocks: [text("Later.")] },
    ]);
    const web_search = (await load()).anthropic.anthropic.tools.webSearch_20250305({ maxUses: 1 });
    const { session, spy } = await simple(model, memory_store, { web_search });
    expect(await ask(session)).toMatchObject({ success: true, text: "Done." });
    expect((await ask(session, "And?")).text).toBe("Later.");
    expect(spy.inputs).toEqual([{}]);
    expect(server.faults).toEqual([]);
    expect(server.requests[0]?.tools).toContainEqual(
      expect.objectContaining({ type: "web_search_20250305", name: "web_search", max_uses: 1 }),
    );
    const { items } = await session.messages();
    const parts = items.flatMap((message): { type: string }[] => message.parts);
    expect(parts).toContainEqual(
      expect.objectContaining({ tool_name: "web_search", provider_executed: true, state: "completed" }),
    );
    expect(parts).toContainEqual(expect.objectContaining({ type: "source", url: "https://example.org" }));
  });

  // The package of AI SDK 5 leaves such an error out.
  it.skipIf(specification === "v2")("a search that failed goes back as the service's own error", async () => {
    const search: Block = {
      type: "server_tool_use",
      id: "srvtoolu_1",
      name: "web_search",
      input: { query: "q" },
    };
    const content = { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" };
    const { server, model } = await start([
      {
        blocks: [
          thought(1),
          search,
          { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content },
          text("No luck."),
        ],
      },
      { blocks: [text("Later.")] },
    ]);
    const tool = { id: "anthropic.web_search_20250305", name: "web_search", args: { maxUses: 1 } };
    const searching = with_provider_tool(model, { ...tool, type: "provider" });
    const { session } = await simple(searching, memory_store);
    expect((await ask(session)).text).toBe("No luck.");
    expect((await ask(session, "And?")).text).toBe("Later.");
    expect(server.faults).toEqual([]);
  });

  // The package of AI SDK 5 does not know who called a tool.
  describe.skipIf(specification === "v2")("code that the service runs and that calls a tool of ours", () => {
    const code: Block = {
      type: "server_tool_use",
      id: "srvtoolu_1",
      name: "code_execution",
      input: { code: "print(await spy())" },
    };
    const caller = { type: "code_execution_20250825", tool_id: "srvtoolu_1" };
    const ran = (stdout: string): Block => ({
      type: "code_execution_tool_result",
      tool_use_id: "srvtoolu_1",
      content: { type: "code_execution_result", stdout, stderr: "", return_code: 0, content: [] },
    });
    const tool = {
      type: "provider",
      id: "anthropic.code_execution_20250825",
      name: "code_execution",
      args: {},
    };
    const programmatic = async (steps: Steps) => {
      const server = await ModelServer.start(new AnthropicService(), steps);
      onTestFinished(() => server.stop());
      const packages = await load();
      const provider = packages.anthropic.createAnthropic({ baseURL: server.base_url, apiKey: "none" });
      return { server, model: with_provider_tool(provider("claude-sonnet-4-5"), tool) };
    };
    const called = (id: string): Block => ({ type: "tool_use", id, name: "spy", input: {}, caller });

    it("its result comes after ours, and goes back where it came", async () => {
      const { server, model } = await programmatic([
        { blocks: [text("Let me count."), code, called("toolu_1")] },
        { blocks: [called("toolu_2")] },
        { blocks: [ran("42"), text("It is 42.")] },
        { blocks: [text("Yes.")] },
      ]);
      const { session, spy } = await simple(model, memory_store);
      expect(await ask(session)).toMatchObject({ success: true, text: "It is 42." });
      expect((await ask(session, "Sure?")).text).toBe("Yes.");
      expect(spy.inputs).toEqual([{}, {}]);
      expect(server.faults).toEqual([]);
      const { items } = await session.messages();
      const parts = items.flatMap(
        (message): { type: string; text?: string; step_id?: string }[] => message.parts,
      );
      expect(parts).toContainEqual(
        expect.objectContaining({
          tool_name: "code_execution",
          state: "completed",
          output: expect.objectContaining({ stdout: "42" }),
          result_step_id: parts.find(({ text }) => text === "It is 42.")?.step_id,
        }),
      );
      expect(server.requests.at(-1)?.messages.map(({ role }) => role)).toEqual([
        ...["user", "assistant", "user", "assistant", "user", "assistant", "user"],
      ]);
    });

    it("its result counts also when the Session was opened anew meanwhile", async () => {
      const { server, model } = await programmatic([
        { blocks: [code, called("toolu_1")] },
        { blocks: [ran("42"), text("It is 42.")] },
        { blocks: [text("Yes.")] },
      ]);
      const place = sqlite_store.place();
      const open = () => {
        const agent = new Agent({
          id: "code",
          storage: place.storage(),
          model,
          tools: { spy: with_approval(spy_tool()) },
        });
        onTestFinished(() => agent.dispose());
        return agent;
      };
      const agent = open();
      const session = await agent.sessions.create();
      await session.prompt({ query: "go" });
      const { interaction_id } = await next_interaction(session);
      await agent.detach();
      const later = await open().sessions.get(session.id);
      const turn = later.active_turn();
      const payload = { decision: "approved" as const };
      await later.respond({ interaction_id, response: { type: "approval", outcome: "resolved", payload } });
      expect(await turn?.finished).toMatchObject({ success: true, text: "It is 42." });
      expect((await ask(later, "Sure?")).text).toBe("Yes.");
      expect(server.faults).toEqual([]);
    });
  });

  it("an error within the stream: what came is kept, no call is run, and the next turn is taken", async () => {
    const { server, model } = await start([
      {
        blocks: [thought(1), text("Half"), use("spy", "toolu_1", {})],
        error: { after: 3, type: "overloaded_error", message: "Overloaded" },
      },
      { blocks: [thought(2), text("Whole.")] },
      { blocks: [text("Later.")] },
    ]);
    const { session, spy } = await simple(model, memory_store);
    await ask(session);
    expect(spy.inputs).toEqual([]);
    expect((await ask(session, "Still there?")).success).toBe(true);
    expect(server.faults).toEqual([]);
  });

  it("an overloaded service is asked again, also where it says so within the stream", async () => {
    const overloaded = { blocks: [], error: { after: 0, type: "overloaded_error", message: "Overloaded" } };
    const { server, model } = await start([
      { status: 529, message: "Overloaded" },
      overloaded,
      { blocks: [text("Fine.")] },
    ]);
    const { session } = await simple(model, memory_store);
    expect(await ask(session)).toMatchObject({ success: true, text: "Fine." });
    expect(server.requests).toHaveLength(3);
  });

  it.each([
    // message_start, ping, the four events of the thought and the three of an empty call.
    ["ends", { end_after: 9 }],
    ["is cut", { cut_after: 9 }],
  ])("a stream that %s before it says why runs no call", async (_name, how) => {
    const { server, model } = await start([
      { blocks: [SHORT, use("spy", "toolu_1", {}), text("more")], ...how },
      { blocks: [text("Whole.")] },
    ]);
    const { session, spy } = await simple(model, memory_store);
    expect(await ask(session)).toMatchObject({ success: true, text: "Whole." });
    expect(spy.inputs).toEqual([]);
    expect(server.faults).toEqual([]);
  });

  it.each([
    ["end_turn", "completed"],
    ["stop_sequence", "completed"],
    ["max_tokens", "completed"],
    ["refusal", "completed"],
    ["brand_new", "completed"],
  ])("the reason %s ends a reply of text", async (stop_reason, status) => {
    const { model } = await start([{ blocks: [text("Words.")], stop_reason }]);
    const { session } = await simple(model, memory_store);
    expect(await ask(session)).toMatchObject({ status, text: "Words.", usage: { input_tokens: 12 } });
  });
});
