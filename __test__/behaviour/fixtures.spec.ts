/** Databases that released versions have written are opened by this one, and what waits in them goes on. */
import { copyFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Agent, QuestionInteraction, Session } from "@downcity/agent";
import { describe, expect, onTestFinished, test } from "vitest";
import { fixture_agent } from "../fixtures/scenes.mjs";
import { all_messages } from "../support/fold.js";
import { answer, approve, calls_of, parts_of, run, type Script } from "../support/session.js";
import { temporary_folder } from "../support/stores.js";

const FIXTURES = join(process.cwd(), "__test__", "fixtures");
const VERSIONS = readdirSync(FIXTURES).filter((name) => statSync(join(FIXTURES, name)).isDirectory());

interface Reopened {
  agent: Agent;
  session: Session;
}

async function reopen(version: string, name: string, script: Script): Promise<Reopened> {
  const file = join(temporary_folder(), "sessions.db");
  copyFileSync(join(FIXTURES, version, `${name}.db`), file);
  const agent = fixture_agent(file, script);
  onTestFinished(() => agent.dispose());
  return { agent, session: await agent.sessions.get("s") };
}

/** The Turn that goes on ends well, and the Session takes the next prompt. */
async function ends({ session }: Reopened, turn: Awaited<ReturnType<Session["active_turn"]>>): Promise<void> {
  expect(turn).not.toBeNull();
  expect(await turn?.finished).toMatchObject({ turn_id: turn?.id, status: "completed", text: "Done." });
  expect(await session.interactions()).toEqual([]);
  expect(await run(session, "And now?")).toMatchObject({ status: "completed", text: "Done." });
}

const says_done = () => "Done.";

test("this version has its fixtures, and each is one file", () => {
  expect(VERSIONS).toContain("0.1.0");
  for (const version of VERSIONS) {
    const files = readdirSync(join(FIXTURES, version)).sort();
    expect(files).toEqual(
      ["archived", "asked", "gate", "idle", "question", "queued", "replay", "streaming"].map(
        (name) => `${name}.db`,
      ),
    );
  }
});

describe.each(VERSIONS)("written by %s", (version) => {
  test("an idle Session shows its history and goes on", async () => {
    const { agent, session } = await reopen(version, "idle", says_done);
    expect((await agent.sessions.list()).items).toMatchObject([
      { session_id: "s", metadata: { kept: [1, "two", null] }, message_count: 4, state: "idle", pending: 0 },
    ]);
    const texts = (await parts_of(session)).flatMap((part) => (part.type === "text" ? part.text : []));
    expect(texts).toEqual(["Hi", "Hello.", "Act", "Done."]);
    expect(await calls_of(session)).toMatchObject([
      { tool_name: "plain", state: "completed", input: { n: 1 }, output: { acted: true } },
    ]);
    expect(await run(session, "More")).toMatchObject({ status: "completed", text: "Done." });
    expect(await all_messages(session)).toHaveLength(6);
  });

  test("an approval that waits at a gate is given, and the tool runs", async () => {
    const reopened = await reopen(version, "gate", says_done);
    const { session } = reopened;
    const turn = await session.active_turn();
    const [pending] = await session.interactions();
    expect(pending).toMatchObject({ type: "approval", payload: { validated_input: { path: "/x" } } });
    await session.respond(approve(pending?.interaction_id as string));
    await ends(reopened, turn);
    expect(await calls_of(session)).toMatchObject([{ state: "completed", output: "acted" }]);
  });

  test("a question is answered, and its tool has the answers", async () => {
    const reopened = await reopen(version, "question", says_done);
    const { session } = reopened;
    const turn = await session.active_turn();
    const [pending] = await session.interactions();
    const { questions } = (pending as QuestionInteraction).payload;
    expect(questions).toMatchObject([{ question: "Why?" }, { question: "Which?", type: "single_select" }]);
    const answers = questions.map(({ question_id }, place) => ({
      question_id,
      value: ["because", "b"][place] as string,
    }));
    await session.respond(answer(pending?.interaction_id as string, answers));
    await ends(reopened, turn);
    expect(await calls_of(session)).toMatchObject([{ output: { status: "resolved", answers } }]);
  });

  test("a replay tool is entered again and has the answer that was given", async () => {
    const reopened = await reopen(version, "replay", says_done);
    const { session } = reopened;
    const turn = await session.active_turn();
    const pending = await session.interactions();
    expect(pending).toMatchObject([{ payload: { place: 2 } }]);
    await session.respond(approve(pending[0]?.interaction_id as string));
    await ends(reopened, turn);
    expect(await calls_of(session)).toMatchObject([{ output: [true, true] }]);
    expect((await calls_of(session))[0]?.interactions).toHaveLength(2);
  });

  test("what was queued joins the Turn, in order", async () => {
    const reopened = await reopen(version, "queued", says_done);
    const { session } = reopened;
    const turn = await session.active_turn();
    expect((await session.status()).security).toEqual({
      approval_mode: "always-allow",
      effective_approval_mode: "ask",
    });
    const [pending] = await session.interactions();
    await session.respond(approve(pending?.interaction_id as string));
    await ends(reopened, turn);
    const prompts = (await all_messages(session)).filter(({ role }) => role === "user");
    expect(prompts.map(({ parts }) => parts[0])).toMatchObject([
      { text: "First" },
      { text: "Second" },
      { data: { third: true } },
      { text: "And now?" },
    ]);
    expect((await session.status()).security.effective_approval_mode).toBe("always-allow");
  });

  test("a model request of which nothing had come is made again in the same Turn", async () => {
    const reopened = await reopen(version, "asked", says_done);
    await ends(reopened, await reopened.session.active_turn());
  });

  test("a Turn that ended in the middle of a text keeps what was said, and the next one goes on", async () => {
    const { session } = await reopen(version, "streaming", says_done);
    expect(await session.active_turn()).toBeNull();
    expect(await parts_of(session)).toMatchObject([
      { type: "text", text: "Go" },
      { type: "text", text: "Half of it", state: "done" },
      { type: "error", error_code: "runtime_interrupted" },
    ]);
    expect(await run(session, "More")).toMatchObject({ status: "completed", text: "Done." });
  });

  test("an archived Session is among the archived, and can be opened", async () => {
    const { agent, session } = await reopen(version, "archived", says_done);
    expect((await agent.sessions.list()).items).toEqual([]);
    expect((await agent.sessions.archived()).items).toMatchObject([{ session_id: "s", message_count: 2 }]);
    expect(await run(session, "More")).toMatchObject({ status: "completed", text: "Done." });
  });
});
