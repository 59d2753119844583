import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { answer_next } from "../support/session.js";
import { on_each_store, temporary_folder } from "../support/stores.js";
import { begin, gated_tool } from "./support.js";

const HERE = pathToFileURL(join(process.cwd(), "__test__", "cases", "program.mjs")).href;

on_each_store("Listeners that throw", (store) => {
  test("those beside them hear everything, the Turn ends well, and the process hears of nothing but warnings", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const accidents: unknown[] = [];
    const note = (reason: unknown) => accidents.push(reason);
    process.on("unhandledRejection", note).on("uncaughtException", note);
    onTestFinished(() => {
      warned.mockRestore();
      process.off("unhandledRejection", note).off("uncaughtException", note);
    });
    const throws = (value: unknown) => () => {
      throw value;
    };
    const { tool: act, runs } = gated_tool();
    const { session, observer } = await begin(store, [[{ call: "act" }], "Done."], {
      tools: { act },
      chunk_size: 1,
    });
    const heard: [number[], number[]] = [[], []];
    session.subscribe(({ revision_of_session }) => heard[0].push(revision_of_session));
    const { proxy: unreadable, revoke } = Proxy.revocable({}, {});
    revoke();
    const no_message = Object.defineProperty(new Error(), "message", { get: throws("not even that") });
    const things = [new Error("broken"), "a text", undefined, null, Symbol("s"), unreadable, no_message];
    for (const value of things) session.subscribe(throws(value));
    session.subscribe(async () => Promise.reject(undefined));
    session.subscribe(async () => Promise.reject(new Error("later")));
    session.subscribe(() => ({ then: throws(new Error("a then that throws")) }));
    session.subscribe(({ revision_of_session }) => heard[1].push(revision_of_session));
    await session.watch(throws("a watcher"));
    const turn = await session.prompt({ query: "Go" });
    await answer_next(session);
    expect((await turn.finished).text).toBe("Done.");
    await new Promise(setImmediate);
    const all = observer.mutations.map(({ revision_of_session }) => revision_of_session);
    expect(heard).toEqual([all, all]);
    expect(observer.mutations.at(-1)).toMatchObject({ variant: "turn", type: "finish" });
    expect(runs).toHaveLength(1);
    expect(accidents).toEqual([]);
    expect(warned.mock.calls.length).toBeGreaterThanOrEqual(10 * all.length);
  });
});

test("a program whose listeners throw ends with code 0", () => {
  const folder = temporary_folder();
  const file = join(folder, "program.mjs");
  writeFileSync(
    file,
    `
    import { createRequire } from "node:module";
    const require = createRequire(${JSON.stringify(HERE)});
    const { Agent, sqlite, with_approval } = require("@downcity/agent");
    const { ScriptedModel, next_interaction, spy_tool } = require("@downcity/agent/testing");
    const model = new ScriptedModel([[{ call: "act" }], "Done."]);
    const tools = { act: with_approval(spy_tool()) };
    const agent = new Agent({ id: "a", model, tools, storage: sqlite(${JSON.stringify(join(folder, "s.db"))}) });
    const session = await agent.sessions.create();
    const heard = [];
    session.subscribe(() => { throw new Error("broken"); });
    session.subscribe(() => { throw undefined; });
    session.subscribe(async () => { throw "a text"; });
    session.subscribe((mutation) => heard.push(mutation.variant + "/" + mutation.type));
    const turn = await session.prompt({ query: "Go" });
    const { interaction_id } = await next_interaction(session);
    await session.respond({ interaction_id, response: { type: "approval", outcome: "denied" } });
    console.log((await turn.finished).text, heard.at(-1));`,
  );
  const said = execFileSync(process.execPath, [file], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  expect(said).toBe("Done. turn/finish\n");
});
