/** One unit of work: prompt, a step with one tool call, a pause, an approval, the tool, a second step, "done". */
import { Agent, define_agent_tool } from "@downcity/agent";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

export const approved = { type: "approval", outcome: "resolved", payload: { decision: "approved" } };

/** A model of specification v3 that answers at once, from constant parts. */
export function instant_model(parts_of) {
  return {
    specificationVersion: "v3",
    provider: "bench",
    modelId: "instant",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("Only streams are asked for.")),
    doStream: async ({ prompt }) => ({
      stream: stream_of(parts_of(prompt)),
    }),
  };
}

/** One part at a time, as it is asked for: a long queue inside a stream would be what is measured. */
function stream_of(parts) {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      if (next < parts.length) controller.enqueue(parts[next++]);
      else controller.close();
    },
  });
}

let calls = 0;

/** What the model answers: a call, and once that has its result, "done". */
export function turn_parts(prompt) {
  if (prompt.at(-1).role === "tool") {
    return [
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "done" },
      { type: "text-end", id: "0" },
      { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
    ];
  }
  calls += 1;
  return [
    { type: "tool-call", toolCallId: `call-${calls}`, toolName: "remove", input: '{"path":"/tmp/x"}' },
    { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage },
  ];
}

/** A tool that asks for an approval; it says when it is entered, and when it has its answer. */
export function asking_tool({ entered, answered }) {
  return define_agent_tool({
    description: "Removes a file.",
    input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    execute: async (input, { turn_id, tool_call_id, interactions }) => {
      entered?.();
      const decision = await interactions.approval.request({
        turn_id,
        tool_call_id,
        tool_name: "remove",
        payload: { operation: "tool", validated_input: input },
      });
      answered(tool_call_id);
      return { ok: decision.approved };
    },
  });
}

/** When the tool went on after its approval, by call. */
const went_on = new Map();

const remove = asking_tool({ answered: (tool_call_id) => went_on.set(tool_call_id, performance.now()) });

export function new_agent(storage) {
  return new Agent({ id: "bench", model: instant_model(turn_parts), tools: { remove }, storage });
}

/** An Agent whose model streams `count` fragments of four characters. */
export function new_streaming_agent(storage, count) {
  const delta = { type: "text-delta", id: "0", delta: "tok " };
  const parts = [
    { type: "text-start", id: "0" },
    ...Array.from({ length: count }, () => delta),
    { type: "text-end", id: "0" },
    { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
  ];
  return new Agent({ id: "bench", model: instant_model(() => parts), storage });
}

/** Waits for the card the way a host does: a subscriber that looks for something pending. */
export function on_pending(session) {
  const waiting = [];
  session.subscribe((mutation) => {
    if (mutation.variant !== "part" || mutation.part.type !== "tool") return;
    const pending = (mutation.part.interactions ?? []).find((item) => item.status === "pending");
    if (pending !== undefined) waiting.shift()?.(pending);
  });
  return () => new Promise((resolve) => waiting.push(resolve));
}

/** Runs a Turn to its pause. */
export async function pause(session, pending = on_pending(session)) {
  const asked = pending();
  const turn = await session.prompt({ query: "Delete temp.txt" });
  return { turn, interaction: await asked };
}

/** Runs a whole Turn; gives the milliseconds from `respond()` to the tool going on. */
export async function run_turn(session, pending) {
  const { turn, interaction } = await pause(session, pending);
  const asked_at = performance.now();
  await session.respond({ interaction_id: interaction.interaction_id, response: approved });
  const result = await turn.finished;
  if (result.text !== "done") throw new Error(`The Turn ended with ${JSON.stringify(result)}.`);
  const { tool_call_id } = interaction.source;
  const waited = went_on.get(tool_call_id) - asked_at;
  went_on.delete(tool_call_id);
  return waited;
}
