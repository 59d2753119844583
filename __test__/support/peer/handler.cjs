// What a peer does when it is asked: an Agent and one Session of it, in whatever process or thread this runs.
const { appendFileSync, existsSync } = require("node:fs");
const { Agent, sqlite, with_approval } = require("@downcity/agent");
const { ScriptedModel } = require("@downcity/agent/testing");

const ANY = { type: "object" };

/** Tools that write down each time they are entered. */
function tools_of(file) {
  const enter = (name) => appendFileSync(`${file}.entered`, `${name}\n`);
  const quick = async () => {
    enter("gated");
    return "gated";
  };
  const gated = with_approval({ input_schema: ANY, execute: quick });
  const patient = {
    input_schema: ANY,
    execute: (_, { abort_signal }) => {
      enter("patient");
      return new Promise((resolve) => abort_signal.addEventListener("abort", () => resolve("aborted")));
    },
  };
  const asks = {
    input_schema: ANY,
    resume: "replay",
    execute: async (_, { interactions }) => {
      enter("asks");
      const asking = interactions.approval.request({ payload: { operation: "tool" } });
      const { approved } = await asking.catch((error) => {
        enter(`asks: ${error.code ?? error.name}`);
        throw error;
      });
      return { approved };
    },
  };
  /** Lets nothing else run in its process until it may. */
  const busy = {
    input_schema: ANY,
    execute: () => {
      enter("busy");
      while (!existsSync(`${file}.enough`));
      return "busy";
    },
  };
  return { gated, patient, asks, busy };
}

function make_handler() {
  let agent;
  let agent_model;
  let session;
  let turn;
  const seen = [];
  const heard = [];
  const model = (script) => (script === undefined ? undefined : new ScriptedModel(script));
  const refusal = (error) => ({ refused: error.code ?? error.name, message: error.message });
  const operations = {
    agent: ({ file, script, lease_seconds }) => {
      const storage = sqlite(file);
      agent_model = model(script);
      agent = new Agent({ id: "peer", model: agent_model, tools: tools_of(file), storage, lease_seconds });
    },
    create: async () => {
      session = await agent.sessions.create({ session_id: "s" });
      session.subscribe((mutation) => seen.push(mutation));
    },
    get: async () => {
      session = await agent.sessions.get("s");
      session.subscribe((mutation) => seen.push(mutation));
      return session.active_turn()?.id ?? null;
    },
    listen: async () => {
      agent.subscribe((mutation) => heard.push(mutation));
      // It has begun when what was asked after it is answered.
      await agent.sessions.list();
    },
    heard: () => heard,
    claim: async () => (await agent.sessions.claim()).map(({ id }) => id),
    prompt: async ({ query }) => {
      turn = await session.prompt({ query });
      return turn.id;
    },
    finished: () => turn.finished,
    active: () => session.active_turn()?.finished ?? null,
    turn_id: () => turn.id,
    respond: (input) => session.respond(input),
    request: async () => {
      const { active_turn_id: turn_id } = await session.status();
      const asked = await session.interactions.request({ type: "vote", turn_id, payload: {} });
      operations.answered = () => asked.result;
      return asked.interaction_id;
    },
    stop: () => session.stop(),
    set: ({ config }) => session.set(config),
    set_model: ({ script }) => session.set({ model: model(script) }),
    prompts: () => agent_model.prompts,
    status: () => session.status(),
    interactions: () => session.interactions(),
    messages: async () => (await session.messages()).items,
    snapshot: async () => {
      const watched = await session.watch(() => {});
      watched.unsubscribe();
      return watched.snapshot;
    },
    seen: () => seen,
    close: () => session.close(),
    detach: () => agent?.detach(),
    dispose: () => agent?.dispose(),
  };
  return async ({ op, input }) => {
    try {
      const value = await operations[op](input ?? {});
      return { value: value === undefined ? null : JSON.parse(JSON.stringify(value)) };
    } catch (error) {
      return refusal(error);
    }
  };
}

module.exports = { make_handler };
