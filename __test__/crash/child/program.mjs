// Opens the Sessions of a file, works with them until it is killed, or brings them all to their end.
//   node program.mjs <folder> <seed> <number> work|finish
import { Agent, sqlite } from "@downcity/agent";
import { Dice } from "./dice.mjs";
import { call, child, favoured, point, say, turns_of_the_loop } from "./facts.mjs";
import { make_model } from "./model.mjs";
import { Person } from "./person.mjs";
import { tools } from "./tools.mjs";

const AT_ONCE = 4;
/** A Session with more Messages is left alone until the end: a snapshot shows the last 100. */
const FULL = 40;
const CLOSED = ["SESSION_CLOSED"];
const ACTIONS = { prompt: 60, look: 6, set: 10, stop: 5, request: 8, close: 4, withdraw: 3 };
if (favoured in ACTIONS) ACTIONS[favoured] += 60;

const dice = new Dice(child.seed, child.number);
const person = new Person(new Dice(child.seed, child.number, "person"));
// Now and then a process lacks a tool of the one before.
const gone = !child.finishing && dice.chance(15) ? dice.pick(Object.keys(tools)) : undefined;
const { [gone]: _, ...own_tools } = tools;
const model = make_model(new Dice(child.seed, child.number, "model"));
const agent = new Agent({
  id: "crash",
  instruction: "Be brief.",
  model,
  tools: own_tools,
  max_steps: 12,
  storage: sqlite(`${child.folder}/sessions.db`, { synchronous: dice.pick(["full", "normal"]) }),
});
process.on("unhandledRejection", (error) => say({ f: "fault", what: `unhandled: ${error?.stack}` }));
process.on("warning", (warning) => say({ f: "fault", what: `warning: ${warning.stack}` }));

/** What a Mutation is, as a name of an instant. */
function name_of(mutation) {
  const { variant, type, part } = mutation;
  if (variant !== "part") return `seen:${variant}:${type}`;
  return part.state === undefined ? `seen:part:${type}` : `seen:part:${type}:${part.state}`;
}

function pending_in(mutation) {
  if (mutation.variant !== "part") return [];
  const { type, interaction, interactions = [] } = mutation.part;
  return (type === "interaction" ? [interaction] : interactions).filter(({ status }) => status === "pending");
}

/** Tells everything that is published, and has it answered. Nothing is told before the snapshot. */
async function observe(session) {
  const asked = new Set();
  const early = [];
  let told = (mutation) => early.push(mutation);
  const ask = (interaction) => {
    if (asked.has(interaction.interaction_id)) return;
    asked.add(interaction.interaction_id);
    void person.asked(session, interaction);
  };
  const take = (mutation) => {
    say({ f: "m", s: session.id, m: mutation });
    point(name_of(mutation));
    pending_in(mutation).forEach(ask);
  };
  compare_two_subscribers(session);
  const { snapshot } = await session.watch((mutation) => told(mutation));
  say({ f: "opened", s: session.id, snapshot, status: await session.status() });
  point("after:snapshot");
  told = take;
  early.forEach(take);
  snapshot.interactions.forEach(ask);
  follow(session, session.active_turn());
}

/** Both see the same in the same order. */
function compare_two_subscribers(session) {
  const seen = [[], []];
  const compare = (mine, other) => (mutation) => {
    mine.push(mutation.mutation_id);
    const at = mine.length - 1;
    if (at >= other.length || other[at] === mine[at]) return;
    say({ f: "fault", what: `two subscribers of ${session.id} differ at ${mutation.revision_of_session}` });
  };
  session.subscribe(compare(seen[0], seen[1]));
  session.subscribe(compare(seen[1], seen[0]));
}

function follow(session, handle) {
  void handle?.finished.then((result) => {
    say({ f: "finished", s: session.id, result });
    point("after:finished");
  });
}

async function open(session_id, exists) {
  const get = () => agent.sessions.get(session_id);
  const create = () => agent.sessions.create({ session_id });
  const session = exists
    ? await call("open", session_id, {}, get)
    : await call("create", session_id, {}, create);
  await observe(session);
  return session;
}

let prompts = 0;

async function prompt(session, signal) {
  prompts += 1;
  const query = `${session.id} ${child.number}.${prompts}`;
  const handle = await call("prompt", session.id, { query }, () => session.prompt({ query, signal }), CLOSED);
  follow(session, handle);
  return handle;
}

async function withdraw(session) {
  const controller = new AbortController();
  await prompt(session, controller.signal);
  await turns_of_the_loop(dice.below(20));
  say({ f: "try", op: "withdraw", s: session.id });
  controller.abort();
}

async function host_request(session) {
  const turn_id = session.active_turn()?.id;
  if (turn_id === undefined) return;
  const payload = { questions: [{ question: "Go on?", type: "text" }] };
  const request = { type: "question", turn_id, payload };
  const made = await call("request", session.id, {}, () => session.interactions.request(request), [
    "TOOL_CALL_NOT_ACTIVE",
    ...CLOSED,
  ]);
  made?.result.catch(() => {});
}

async function set(session) {
  const approval_mode = dice.pick(["ask", "ask", "always-allow"]);
  const quiet = dice.chance(30) ? [{ persist_action: false }] : [];
  const work = () => session.set({ security: { approval_mode } }, ...quiet);
  await call("set", session.id, { approval_mode }, work, CLOSED);
}

async function look(session) {
  const { snapshot, unsubscribe } = await session.watch(() => {});
  unsubscribe();
  say({ f: "look", s: session.id, snapshot });
}

/** Never ends: the child is killed. */
async function work(session) {
  for (;;) {
    const action = dice.weighted(ACTIONS);
    if (action === "prompt") {
      const handle = await prompt(session);
      if (dice.chance(25)) await prompt(session);
      const wait = turns_of_the_loop(dice.pick([1, 20, 400, 2000]));
      if (handle) await Promise.race([handle.finished, wait]);
    } else if (action === "look") await look(session);
    else if (action === "set") await set(session);
    else if (action === "stop") await call("stop", session.id, {}, () => session.stop(), CLOSED);
    else if (action === "request") await host_request(session);
    else if (action === "withdraw") await withdraw(session);
    else if (action === "close") {
      await call("close", session.id, {}, () => session.close());
      const again = await open(session.id, true);
      return work(again);
    }
    await turns_of_the_loop(dice.below(30));
  }
}

async function stored_messages(session) {
  const pages = [];
  let before_sequence;
  do {
    const page = await session.messages({ before_sequence, limit: 50 });
    pages.unshift(page.items);
    before_sequence = page.next_before_sequence;
  } while (before_sequence !== undefined);
  return pages.flat();
}

/** Everything is answered until nothing goes on; then one more Turn. */
async function finish(session) {
  while ((await session.status()).state === "running") {
    await session.active_turn()?.finished;
  }
  const query = `last ${session.id}`;
  const handle = await call("prompt", session.id, { query }, () => session.prompt({ query }));
  const result = await handle.finished;
  const [messages, interactions, status] = [
    await stored_messages(session),
    await session.interactions(),
    await session.status(),
  ];
  say({ f: "end", s: session.id, result, messages, interactions, status });
}

async function main() {
  const { items } = await agent.sessions.list({ limit: 200 });
  say({ f: "list", items });
  const wanted = items.filter(({ message_count }) => child.finishing || message_count < FULL);
  const names = wanted.map(({ session_id }) => [session_id, true]);
  if (favoured === "create") names.length = Math.min(names.length, 1);
  for (let made = items.length; !child.finishing && names.length < AT_ONCE; made += 1) {
    names.push([`s${made}`, false]);
  }
  process.stdout.write("ready\n");
  const act = child.finishing ? finish : work;
  await Promise.all(names.map(async ([name, exists]) => act(await open(name, exists))));
  await agent.dispose();
  say({ f: "done" });
}

main().catch((error) => {
  say({ f: "fault", what: `the child ended: ${error.stack}` });
  process.exitCode = 1;
});
