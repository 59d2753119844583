/** `@ai-sdk/openai` (responses) with an MCP server that the service calls itself, once a person has agreed. */
import { Agent, type Session } from "@downcity/agent";
import { next_interaction } from "@downcity/agent/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { ask, simple } from "../support/journey.js";
import { ModelServer } from "../support/model-server.js";
import { LINES } from "../support/provider-lines.js";
import {
  type Item,
  type ResponsesBody,
  type ResponsesReply,
  ResponsesService,
} from "../support/responses-server.js";
import { memory_store, on_each_store, type Place, sqlite_store } from "../support/stores.js";

const ROOM = { day: "Mon", room: 1 };
const server_label = "rooms";
const offer: Item = {
  type: "mcp_list_tools",
  id: "mcpl_1",
  server_label,
  tools: [{ name: "book", input_schema: { type: "object" } }],
};
const thought = (n: number): Item => ({
  type: "reasoning",
  id: `rs_${n}`,
  summary: ["hm"],
  encrypted_content: `encrypted-${n}==`,
});
const request = (n: number, input: object = ROOM): Item => ({
  type: "mcp_approval_request",
  id: `mcpr_${n}`,
  server_label,
  name: "book",
  arguments: JSON.stringify(input),
});
const run = (n: number, input: object = ROOM, output = `booked ${n}`): Item => ({
  type: "mcp_call",
  id: `mcp_${n}`,
  approval_request_id: `mcpr_${n}`,
  server_label,
  name: "book",
  arguments: JSON.stringify(input),
  output,
});
const message = (n: number, text: string): Item => ({ type: "message", id: `msg_${n}`, text });

const approve = { type: "approval", outcome: "resolved", payload: { decision: "approved" } } as const;
const deny = { type: "approval", outcome: "denied", reason: "too early" } as const;

const answers = ({ input }: ResponsesBody) => input.filter(({ type }) => type === "mcp_approval_response");
const answer = (n: number, approved: boolean) => ({
  type: "mcp_approval_response",
  approval_request_id: `mcpr_${n}`,
  approve: approved,
});
async function calls_of(session: Session) {
  const { items } = await session.messages();
  return items.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool" ? [part] : [])));
}

const with_approvals = LINES.filter(({ specification }) => specification !== "v2");

describe.each(with_approvals)("MCP approvals, specification $specification", ({ load }) => {
  async function start(...steps: (Item[] | ResponsesReply)[]) {
    const replies = steps.map((step): ResponsesReply => (Array.isArray(step) ? { output: step } : step));
    const server = await ModelServer.start(new ResponsesService(), replies);
    onTestFinished(() => server.stop());
    const { openai } = await load();
    const provider = openai.createOpenAI({ baseURL: server.base_url, apiKey: "none" });
    const rooms = {
      serverLabel: server_label,
      serverUrl: "https://rooms.invalid",
      requireApproval: "always",
    };
    const tools = { rooms: provider.tools.mcp(rooms as Parameters<typeof provider.tools.mcp>[0]) };
    return { server, model: provider.responses("gpt-5-mini"), tools };
  }
  type Started = Awaited<ReturnType<typeof start>>;

  function open(place: Place, { model, tools }: Started) {
    const agent = new Agent({ id: "mcp", storage: place.storage(), model, tools });
    onTestFinished(() => agent.dispose());
    return agent;
  }

  on_each_store("a call that is approved in another process", (store) => {
    it("is run by the service, and its result goes back in every request after", async () => {
      const started = await start(
        [offer, thought(1), request(1)],
        [run(1), message(1, "It is yours.")],
        [message(2, "You are welcome.")],
      );
      const { server } = started;
      const place = store.place();
      const first = open(place, started);
      const session = await first.sessions.create();
      const asked = ask(session, "A room, please.");
      const { interaction_id, payload, source } = await next_interaction(session);
      expect({ payload, source }).toMatchObject({
        payload: { operation: "tool", validated_input: ROOM },
        source: { type: "tool", tool_name: "mcp.book" },
      });
      await first.detach();
      expect((await asked).status).toBe("detached");

      const later = await open(place, started).sessions.get(session.id);
      expect(await calls_of(later)).toMatchObject([{ state: "waiting-user" }]);
      const handle = await later.active_turn();
      await later.respond({ interaction_id, response: approve });
      expect(await handle?.finished).toMatchObject({ status: "completed", text: "It is yours." });
      expect(await calls_of(later)).toMatchObject([
        {
          state: "completed",
          output: { type: "call", output: "booked 1" },
          provider_approval: { approval_id: "mcpr_1", approved: true },
          result_metadata: { openai: { itemId: "mcp_1" } },
        },
      ]);
      expect((await ask(later, "Thanks.")).text).toBe("You are welcome.");
      expect(server.faults).toEqual([]);
      expect(server.requests.map(answers)).toEqual([[], [answer(1, true)], [answer(1, true)]]);
      const last = server.requests.at(-1)?.input.map(({ id, type, role }) => id ?? type ?? role);
      expect(last).toEqual(["user", "rs_1", "mcpr_1", "mcp_approval_response", "mcp_1", "assistant", "user"]);
    });
  });

  it("an answer that a process beside the owner gives is gone on with by the owner", async () => {
    const started = await start([request(1)], [run(1), message(1, "It is yours.")]);
    const place = sqlite_store.place();
    const owner = await open(place, started).sessions.create();
    const asked = ask(owner);
    const { interaction_id } = await next_interaction(owner);
    const guest = await open(place, started).sessions.get(owner.id);
    expect(await calls_of(guest)).toMatchObject([{ state: "waiting-user" }]);
    await guest.respond({ interaction_id, response: approve });
    expect(await asked).toMatchObject({ status: "completed", text: "It is yours." });
    expect(started.server.requests.map(answers)).toEqual([[], [answer(1, true)]]);
    expect(started.server.faults).toEqual([]);
  });

  it("a denied call is not run, and the service is told so from then on", async () => {
    const started = await start([request(1)], [message(1, "As you like.")], [message(2, "Later.")]);
    const { session } = await simple(started.model, memory_store, started.tools);
    const asked = ask(session);
    const { interaction_id } = await next_interaction(session);
    await session.respond({ interaction_id, response: deny });
    expect((await asked).text).toBe("As you like.");
    expect(await calls_of(session)).toMatchObject([{ state: "failed", error_code: "denied" }]);
    expect((await ask(session, "And now?")).text).toBe("Later.");
    expect(started.server.faults).toEqual([]);
    expect(started.server.requests.map(answers)).toEqual([[], [answer(1, false)], [answer(1, false)]]);
  });

  it("two calls alike, one approved and one denied, are told apart", async () => {
    const started = await start([request(1), request(2)], [run(2), message(1, "One of them.")]);
    const { session } = await simple(started.model, memory_store, started.tools);
    const asked = ask(session);
    await next_interaction(session);
    const [first, second] = await session.interactions();
    await session.respond({ interaction_id: second?.interaction_id ?? "", response: approve });
    await session.respond({ interaction_id: first?.interaction_id ?? "", response: deny });
    expect((await asked).text).toBe("One of them.");
    expect(await calls_of(session)).toMatchObject([
      { state: "failed", error_code: "denied" },
      { state: "completed", output: { output: "booked 2" } },
    ]);
    expect(started.server.faults).toEqual([]);
    expect(started.server.requests.map(answers)).toEqual([[], [answer(1, false), answer(2, true)]]);
  });

  it("a call that asks again with the same arguments is asked about again", async () => {
    const started = await start([request(1)], [run(1), request(2)], [run(2), message(1, "Twice.")]);
    const { session } = await simple(started.model, memory_store, started.tools);
    const asked = ask(session);
    const first = await next_interaction(session);
    await session.respond({ interaction_id: first.interaction_id, response: approve });
    const second = await next_interaction(session);
    await session.respond({ interaction_id: second.interaction_id, response: approve });
    expect((await asked).text).toBe("Twice.");
    expect((await calls_of(session)).map(({ output }) => output)).toMatchObject([
      { output: "booked 1" },
      { output: "booked 2" },
    ]);
    expect(started.server.faults).toEqual([]);
  });

  it("a Turn that is stopped while it asks leaves nothing that the service could run later", async () => {
    const started = await start([thought(1), request(1)], [message(1, "Fine.")]);
    const { session } = await simple(started.model, memory_store, started.tools);
    const asked = ask(session);
    await next_interaction(session);
    await session.stop();
    expect((await asked).status).toBe("stopped");
    expect((await ask(session, "Something else.")).text).toBe("Fine.");
    expect(started.server.faults).toEqual([]);
    expect(started.server.requests.map(answers)).toEqual([[], [answer(1, false)]]);
  });

  it("a run whose answer broke off is neither referred to nor run again", async () => {
    // response.created, the two events of the run, and a part of the message.
    const broken = { output: [run(1), message(1, "It is yours, from nine")], cut_after: 5 };
    const started = await start([thought(1), request(1)], broken, [message(2, "Sorry.")]);
    const { session } = await simple(started.model, memory_store, started.tools);
    const asked = ask(session);
    const { interaction_id } = await next_interaction(session);
    await session.respond({ interaction_id, response: approve });
    expect((await asked).status).toBe("failed");
    expect(await calls_of(session)).toMatchObject([{ state: "completed", output: { output: "booked 1" } }]);
    expect((await ask(session, "And?")).text).toBe("Sorry.");
    expect(started.server.faults).toEqual([]);
    expect(started.server.requests.map(answers)).toEqual([[], [answer(1, true)], [answer(1, false)]]);
  });

  it("what was asked in an answer that broke off is not asked here, and not answered there", async () => {
    // response.created, the two events of the request.
    const broken = { output: [request(1), message(1, "Half a sentence that")], cut_after: 5 };
    const started = await start(broken, [message(2, "Again.")]);
    const { session } = await simple(started.model, memory_store, started.tools);
    expect(await ask(session)).toMatchObject({ status: "completed", text: "Again." });
    expect(await session.interactions()).toEqual([]);
    expect(await calls_of(session)).toMatchObject([{ state: "failed", error_code: "not_run" }]);
    expect(started.server.requests.map(answers)).toEqual([[], []]);
    expect(started.server.faults).toEqual([]);
  });

  it("always-allow answers by itself", async () => {
    const started = await start([request(1)], [run(1), message(1, "Done.")]);
    const { session } = await simple(started.model, memory_store, started.tools);
    await session.set({ security: { approval_mode: "always-allow" } });
    expect((await ask(session)).text).toBe("Done.");
    expect(await calls_of(session)).toMatchObject([{ state: "completed" }]);
    expect((await calls_of(session))[0]).not.toHaveProperty("interactions");
    expect(started.server.requests.map(answers)).toEqual([[], [answer(1, true)]]);
    expect(started.server.faults).toEqual([]);
  });

  it("the server does refuse an approval that is not there", () => {
    const service = new ResponsesService();
    const body = (input: ResponsesBody["input"]): ResponsesBody => ({ model: "m", store: true, input });
    const faults = (...input: ResponsesBody["input"]): string[] =>
      service.faults(body(input), { authorization: "Bearer none" }, "/v1/responses");
    service.events({ output: [request(1)] }, body([]));
    const reference = { type: "item_reference", id: "mcpr_1" };
    expect(faults(reference)).toEqual([expect.stringContaining("does not have an approval")]);
    expect(faults(answer(1, true))).toEqual([expect.stringContaining("is open")]);
    expect(faults(reference, answer(1, true))).toEqual([]);
  });
});
