// The demo: an agent with a task in a temporary Workspace, and a person who is asked on the way.
import { join } from "node:path";
import { Agent } from "@downcity/agent";
import { Workspace } from "@downcity/city";
import { Automatic } from "./automatic.mjs";
import { card } from "./cards.mjs";
import { files_in, make_workspace } from "./files.mjs";
import { Person } from "./person.mjs";
import { scripted_model } from "./scripted-model.mjs";
import { Story } from "./story.mjs";
import { tools } from "./tools.mjs";
import { visible } from "./visible.mjs";

const AGENT_ID = "demo";
export const TASK = "Put my travel notes into one summary, and tidy up what is no longer needed.";
export const INSTRUCTION = `You keep notes in the workspace. First list the files. Before you write anything, ask with
ask_question, in one call: which files to use (multi_select, one option for each), the style (single_select) and the
heading (text). Then read the chosen files, write summary.md, and delete a note that a newer one has replaced
(its name ends in -old.md). If a deletion is denied, leave the file and say so. Then count the words with shell (wc -w *.md).
End with a short report.`;

/** Runs the demo as the options have it (see options.mjs) and returns the exit code. */
export async function main(options) {
  const by_itself = options.yes || !process.stdin.isTTY || !process.stdout.isTTY;
  const model = await model_of(options);
  const workspace = new Workspace({ id: "notes", path: options.resume ?? make_workspace() });
  const agent = new Agent({ id: AGENT_ID, model, tools, instruction: INSTRUCTION });
  const session = await (options.resume
    ? newest_session(agent, workspace)
    : agent.sessions.create({ workspace }));
  const story = new Story(process.stdout, `the model (${model.modelId})`);
  introduce(story, { workspace, session, model, by_itself, scripted: model === scripted_model });

  const result = await run_turn({ session, story, by_itself });
  await agent.detach();
  await conclude(story, { workspace, session, result });
  return { completed: 0, detached: 130 }[result.status] ?? 1;
}

/** The Session that an earlier start left here; opened, its Turn goes on. */
async function newest_session(agent, workspace) {
  const { items } = await agent.sessions.list({ workspace, limit: 1 });
  if (items.length === 0) throw new Error(`There is no Session of the demo in ${workspace.path}.`);
  return agent.sessions.get(items[0].session_id, { workspace });
}

export async function model_of({ endpoint }) {
  if (!endpoint) return scripted_model;
  const { endpoint_model } = await import("./endpoint-model.mjs");
  return endpoint_model(endpoint);
}

/** One Turn, with whoever answers: the one that was left, or a new one. Ctrl-C leaves it as it is. */
async function run_turn({ session, story, by_itself }) {
  const stop = stopper(session, story);
  const say = (text) => story.line(text);
  const answers = by_itself ? new Automatic() : new Person({ say, on_stop: stop });
  const over = new AbortController();
  const asked = new Set();
  let desk = Promise.resolve();

  process.on("SIGINT", stop);
  const see = (interaction) => {
    if (interaction.status !== "pending" || asked.has(interaction.interaction_id)) return;
    asked.add(interaction.interaction_id);
    // One card at a time, also where several calls ask at once.
    desk = desk.then(() => attend({ session, story, answers, by_itself, interaction, signal: over.signal }));
  };
  session.subscribe((mutation) => {
    story.on_mutation(mutation);
    for (const interaction of interactions_of(mutation)) see(interaction);
  });
  try {
    const left = session.active_turn();
    if (left !== null) story.line("\nThe Turn goes on where it was left.");
    for (const interaction of await session.interactions()) see(interaction);
    const turn = left ?? (await session.prompt({ query: TASK }));
    return await turn.finished;
  } finally {
    over.abort();
    await desk;
    story.end();
    answers.close();
    process.off("SIGINT", stop);
  }
}

function interactions_of(mutation) {
  if (mutation.variant !== "part") return [];
  return mutation.part.type === "tool" ? (mutation.part.interactions ?? []) : [];
}

/** Shows a card, gets the answer and gives it to the Session. Never throws. */
async function attend({ session, story, answers, by_itself, interaction, signal }) {
  try {
    if (signal.aborted) return;
    story.line(`\n${card(interaction, process.stdout.columns)}`);
    if (!by_itself)
      story.line(`Waiting for you ${since(interaction)}. Ctrl-C leaves it waiting; nothing is lost.`);
    const { response, told } = await answers.answer(interaction, signal);
    if (told !== undefined) story.line(`Answered by the demo itself: ${visible(told)}`);
    story.line();
    await session.respond({ interaction_id: interaction.interaction_id, response });
  } catch (error) {
    if (error.name !== "AbortError")
      story.line(`The answer was not taken: ${visible(String(error.message))}`);
  }
}

function stopper(session, story) {
  let stopping = false;
  return () => {
    if (stopping) process.exit(130);
    stopping = true;
    story.line("\nLeaving it as it is. (Ctrl-C again leaves at once.)");
    session.detach().catch((error) => story.line(`It could not be let go: ${error.message}`));
  };
}

/** A wait that began in an earlier start is told with its day. */
function since({ created_at }) {
  const today = Date.now() - created_at < 12 * 3_600_000;
  const format = today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
  return `since ${new Intl.DateTimeFormat(undefined, format).format(created_at)}, for as long as you like`;
}

function introduce(story, { workspace, session, model, by_itself, scripted }) {
  story.line("A task for an agent, with a person in the loop\n");
  story.line(`Workspace  ${workspace.path}`);
  story.line(`Session    ${session.id}`);
  story.line(`Kept in    ${database_of(workspace)}`);
  story.line(
    `Model      ${scripted ? "a script, so no key is needed" : `${visible(model.modelId)} at the endpoint`}`,
  );
  story.line(`Answers    ${by_itself ? "by the demo itself" : "by you, here"}`);
  show_files(story, "Files before", workspace);
}

/** The end, told from what the file holds: another Agent opens the Session anew. */
async function conclude(story, { workspace, session, result }) {
  const reader = new Agent({ id: AGENT_ID });
  const stored = await reader.sessions.get(session.id, { workspace });
  const { items } = await stored.messages();
  await reader.detach();
  const parts = items.flatMap((message) => message.parts);
  const answers = parts
    .flatMap((part) => part.interactions ?? [])
    .filter((one) => one.response !== undefined);

  show_files(story, "Files after", workspace);
  story.line(`\nThe Turn ${WORDS[result.status]}${result.error ? `: ${visible(result.error)}` : "."}`);
  if (result.status === "detached") {
    story.line(
      "Nothing was lost: all that was said, done and answered is kept, and what waits for you still waits.",
    );
    story.line(`Go on with   npm run demo -- --resume ${workspace.path}`);
  }
  story.line(`Read back from ${database_of(workspace)}:`);
  story.line(
    `  ${count(items.length, "Message")}, ${count(parts.length, "Part")}, ${count(answers.length, "answer")}.`,
  );
  if (result.status !== "detached")
    story.line(`The folder is yours now; delete it when you are done: ${workspace.path}`);
}

const WORDS = { completed: "is complete", failed: "failed", stopped: "was stopped", detached: "was left" };

function show_files(story, title, workspace) {
  story.line(`\n${title}`);
  for (const { name, bytes } of files_in(workspace.path)) {
    story.line(`  ${visible(name).padEnd(16)} ${String(bytes).padStart(5)} bytes`);
  }
}

function count(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function database_of(workspace) {
  return join(workspace.path, ".downcity", "agents", AGENT_ID, "sessions.db");
}
