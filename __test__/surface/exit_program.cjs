// Programs that end, or do not, by what is in flight. Run as a child by exit.spec.ts with the name of one.
const { Agent, memory, sqlite } = require("@downcity/agent");
const { next_interaction, ScriptedModel } = require("@downcity/agent/testing");

const [name, file] = process.argv.slice(2);
const asking = {
  input_schema: { type: "object" },
  execute: (_, context) => context.interactions.approval.request({ payload: { operation: "tool" } }),
};
const slow = {
  input_schema: { type: "object" },
  execute: () => new Promise((resolve) => setTimeout(resolve, 300, "slept").unref()),
};

async function open(script) {
  const storage = file ? sqlite(file) : memory();
  const agent = new Agent({ id: "exit", model: new ScriptedModel(script), tools: { asking, slow }, storage });
  const session = await agent.sessions.create({ session_id: "s" });
  session.subscribe(() => {});
  return { agent, session };
}

const programs = {
  async idle() {
    await open([]);
  },
  async finished() {
    const { session } = await open(["Hi."]);
    await (await session.prompt({ query: "x" })).finished;
  },
  async closed() {
    const { session, agent } = await open(["Hi."]);
    await (await session.prompt({ query: "x" })).finished;
    await agent.dispose();
  },
  async working() {
    const { session } = await open([[{ call: "slow", input: {} }], "Done."]);
    const turn = await session.prompt({ query: "x" });
    turn.finished.then(({ text }) => process.stdout.write(text));
  },
  /** Nobody waits for the Turn, and the tool's timer keeps no program alive. */
  async unheard() {
    const { session } = await open([[{ call: "slow", input: {} }], "Done."]);
    await session.prompt({ query: "x" });
  },
  async waiting() {
    const { session } = await open([[{ call: "asking", input: {} }], "Done."]);
    await session.prompt({ query: "x" });
    await next_interaction(session);
    // What Node waits for before it ends.
    process.stdout.write(process.getActiveResourcesInfo().includes("Timeout") ? "held" : "free");
  },
  async unreferenced() {
    const { agent, session } = await open([[{ call: "asking", input: {} }], "Done."]);
    await session.prompt({ query: "x" });
    await next_interaction(session);
    process.stdout.write("asked");
    agent.unref();
  },
};

programs[name]();
