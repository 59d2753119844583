/** The AI SDK's `useChat` in a real page, against a Session, over HTTP. */
import { resolve } from "node:path";
import { with_approval } from "@downcity/agent";
import { to_ui_messages } from "@downcity/agent/ai-sdk";
import { gate } from "@downcity/agent/testing";
import { build, type Rollup } from "vite";
import { beforeAll, describe, expect, it } from "vitest";
import { all_messages } from "../support/fold.js";
import { calls_of, open, tool } from "../support/session.js";
import { memory_store } from "../support/stores.js";
import { serve_chat } from "../support/ui.js";
import { chromium_path, new_page } from "./support.js";

const HTML = '<!doctype html><div id="root"></div><script type="module" src="/chat.mjs"></script>';

let script = "";

async function bundle(): Promise<string> {
  const entry = resolve("__test__/browser/page/chat.mjs");
  const made = (await build({
    configFile: false,
    logLevel: "error",
    define: { "process.env.NODE_ENV": '"production"' },
    build: { write: false, target: "esnext", lib: { entry, formats: ["es"], fileName: "chat" } },
  })) as Rollup.RollupOutput[];
  const [file] = made.flatMap(({ output }) => output);
  return file?.type === "chunk" ? file.code : "";
}

describe.skipIf(chromium_path === undefined)("useChat in Chromium", { timeout: 60_000 }, () => {
  beforeAll(async () => {
    script = await bundle();
  }, 60_000);

  /** A page on a Session; `reload` shows it as it then stands. */
  async function page_on(
    steps: Parameters<typeof open>[1],
    tools: NonNullable<Parameters<typeof open>[2]>["tools"],
  ) {
    const { session } = await open(memory_store, steps, { tools });
    const server = await serve_chat(() => session, {
      "/": async () => ["text/html", HTML],
      "/chat.mjs": async () => ["text/javascript", script],
      "/history": async () => {
        const initial = to_ui_messages(await all_messages(session));
        return ["application/json", JSON.stringify({ id: session.id, initial })];
      },
    });
    const page = await new_page(server.url);
    const answer = page.getByLabel("assistant");
    const ready = () => page.locator("main[data-status=ready]").waitFor();
    return { session, server, page, answer, ready };
  }

  it("approves after the page was reloaded, and denies in the next Turn", async () => {
    const runs: unknown[] = [];
    const act = with_approval(tool((input) => void runs.push(input)));
    const { session, page, answer, ready } = await page_on(
      [
        [{ text: "May I?" }, { call: "act", input: { n: 1 } }],
        "Done.",
        [{ text: "Again?" }, { call: "act", input: { n: 2 } }],
        "Then not.",
      ],
      { act },
    );
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("approval-requested").waitFor();
    await page.reload();
    await ready();
    expect(await answer.allInnerTexts()).toEqual([expect.stringContaining("May I?")]);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Done.").waitFor();
    await page.getByText("output-available").waitFor();
    await ready();
    expect(runs).toEqual([{ n: 1 }]);
    expect(await answer.locator("p").allInnerTexts()).toEqual(["May I?", "Done."]);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByText("Then not.").waitFor();
    await page.getByText("output-denied").waitFor();
    expect(runs).toHaveLength(1);
    const [, denied] = await calls_of(session);
    expect(denied?.interactions?.[0]).toMatchObject({ status: "denied", response: { reason: "not today" } });
    await page.reload();
    await ready();
    expect(await answer.locator("p").allInnerTexts()).toEqual(["May I?", "Done.", "Again?", "Then not."]);
    expect(await answer.locator("output").allInnerTexts()).toEqual(["output-available", "output-denied"]);
  });

  it("is reloaded in the middle of a text, and shows all of it once", async () => {
    const held = gate();
    const { page, answer, ready } = await page_on(
      [[{ text: ["One ", "two "] }, { hold: held }, { text: "three" }]],
      {},
    );
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("One two").waitFor();
    await page.reload();
    await page.locator("main[data-status=streaming]").waitFor();
    held.open();
    await page.getByText("three").waitFor();
    await ready();
    expect(await answer.locator("p").allInnerTexts()).toEqual(
      ["One two ", "three"].map((text) => text.trim()),
    );
  });
});
