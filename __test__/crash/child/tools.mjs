/** Tools of every kind. Each tells when it is entered, what it was answered, and what it returns. */
import { with_approval } from "@downcity/agent";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { child, point, say, say_for_good, turns_of_the_loop } from "./facts.mjs";

const ANY = { type: "object" };

function make(name, act, options = {}) {
  const execute = async (input, context) => {
    const { session_id: s, tool_call_id: id, turn_id, resumed } = context;
    point("before:tool_entered");
    say_for_good({
      f: "entered",
      s,
      id,
      turn_id,
      tool: name,
      input,
      resumed,
      replay: options.resume === "replay",
    });
    point(resumed ? "resumed:tool_entered" : "after:tool_entered");
    const output = await act(input, context);
    say({ f: "returning", s, id, output });
    point("before:tool_result");
    return output;
  };
  return { description: `Does ${name}.`, input_schema: ANY, ...options, execute };
}

const plain = async ({ key, ticks }) => {
  await turns_of_the_loop(ticks);
  return { done: key };
};

/** Tells what a request came to: `position` counts the requests of a call. */
function got({ session_id, tool_call_id }, position, interaction_id, value) {
  say({ f: "got", s: session_id, id: tool_call_id, position, interaction_id, value });
  point("after:tool_answered");
}

async function approval(context, position, payload) {
  point("before:tool_request");
  const deciding = context.interactions.approval.request({ payload });
  point("during:tool_request");
  const decision = await deciding;
  got(context, position, decision.interaction_id, decision);
  return { approved: decision.approved };
}

async function answer(context, position, request) {
  point("before:tool_request");
  const asking = context.interactions.request(request);
  point("during:tool_request");
  const { interaction_id, result } = await asking;
  say({ f: "asked", s: context.session_id, id: context.tool_call_id, position, interaction_id });
  point("after:tool_request");
  const { response } = await result;
  got(context, position, interaction_id, response);
  return response;
}

const REQUESTS = {
  approval: (context, position) => approval(context, position, { operation: "tool", position }),
  question: (context, position) => {
    const options = [{ value: "a", label: "A" }];
    const questions = [
      { question: "Why?", type: "text" },
      { question: "Which?", type: "single_select", options, question_id: `which-${position}` },
      { question: "Which ones?", type: "multi_select", options },
    ];
    return answer(context, position, { type: "question", payload: { questions } });
  },
  form: (context, position) => {
    const response_schema = { type: "object", required: ["name"] };
    return answer(context, position, {
      type: "form",
      title: "A form",
      payload: { position },
      response_schema,
    });
  },
};

/** Asks what its input says, one after the other or all at once; the same whenever it is entered. */
async function replaying({ plan, at_once, ticks }, context) {
  await turns_of_the_loop(ticks);
  const ask = (kind, position) => REQUESTS[kind](context, position);
  if (at_once) return { got: await Promise.all(plan.map(ask)) };
  const list = [];
  for (const [position, kind] of plan.entries()) list.push(await ask(kind, position));
  return { got: list };
}

/** Takes the first of two answers; the other is cancelled when it ends. */
async function racing(_, context) {
  const requests = [REQUESTS.approval(context, 0), REQUESTS.approval(context, 1)];
  for (const request of requests) request.catch(() => {});
  return { first: await Promise.race(requests) };
}

const REPLAY = { resume: "replay" };

export const tools = {
  plain: make("plain", plain),
  broken: make("broken", () => {
    throw new Error("It does not work.");
  }),
  asking: make("asking", (_, context) => approval(context, 0, { operation: "tool" })),
  gated: with_approval(make("gated", plain)),
  ruled: with_approval(make("ruled", plain), {
    when: async ({ key, asks, ticks }, { session_id }) => {
      say({ f: "rule", s: session_id, key });
      await turns_of_the_loop(ticks);
      point("before:gate_recorded");
      return asks;
    },
  }),
  replaying: make("replaying", replaying, REPLAY),
  gated_replaying: with_approval(make("gated_replaying", replaying, REPLAY)),
  racing: make("racing", racing, REPLAY),
  /** Asks something else in each process. */
  drifting: make(
    "drifting",
    (_, context) => approval(context, 0, { operation: "tool", drift: child.number }),
    REPLAY,
  ),
  ask: AskQuestionsTool,
};
