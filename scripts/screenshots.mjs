// Makes the pictures of docs/images: the inbox and the demo's transcript, as they really run.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { make_agent } from "../examples/approval-inbox/agent.mjs";
import { token_in } from "../examples/approval-inbox/guard.mjs";
import { serve_inbox } from "../examples/approval-inbox/server.mjs";
import { model_of, TASK } from "../examples/demo/main.mjs";
import { build } from "./build.mjs";
import { bring_chromium } from "./support/chromium.mjs";
import { root } from "./support/run.mjs";
import { at_terminal } from "./support/terminal.mjs";

const IMAGES = `${root}docs/images`;

const COMMAND = JSON.stringify({
  command: "du -ah . | sort -h",
  reason: "I need the sizes before I choose which notes to merge.",
  unrestricted: true,
});

/** The demo's model, with a command of its own for another task. */
async function model_with_command() {
  const demo = await model_of({});
  const asks = (prompt) => JSON.stringify(prompt.at(-1)).includes("How large");
  const parts = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "I would like to look at the folder." },
    { type: "text-end", id: "0" },
    { type: "tool-call", toolCallId: "0", toolName: "shell", input: COMMAND },
    { type: "finish", finishReason: { unified: "tool-calls", raw: "tool-calls" }, usage: {} },
  ];
  const doStream = (options) =>
    asks(options.prompt) ? { stream: ReadableStream.from(parts) } : demo.doStream(options);
  return { ...demo, doStream };
}

async function picture_of_inbox(browser, folder) {
  const agent = make_agent(folder, { model: await model_with_command() });
  const { url, tasks, close } = await serve_inbox({ agent, folder, token: token_in(folder), port: 0 });
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: "light" });
  await page.goto(url);
  await tasks.begin("How large are my notes?");
  await page.getByRole("article", { name: "Run a command?" }).waitFor();
  const { id } = await tasks.begin(TASK);
  await page.getByRole("article", { name: "About your summary" }).waitFor();
  await page.locator(`[data-session="${id}"]`).click();
  await page.getByText("Waits for you: one request").waitFor();
  await page.screenshot({ path: `${IMAGES}/inbox.png` });
  await close();
}

async function picture_of_demo(browser, folder) {
  const env = { ...process.env, TMPDIR: folder };
  const answers = [
    ["Letters", "a b\r"],
    ["One letter", "a\r"],
    ["Your words", "Our weekend\r"],
    ["[n]o:", "\u0003"],
  ];
  const first = await at_terminal("npm run --silent demo -- --scripted", answers, { env, cwd: root });
  const left = /--resume (\S+)/.exec(first.said)[1];
  const again = `npm run --silent demo -- --scripted --resume ${left}`;
  const second = await at_terminal(again, Array(3).fill(["[n]o:", "y\r"]), { env, cwd: root });
  // What the tools do in between, and the list of files, are left out.
  const from = (text, start) =>
    text
      .slice(text.indexOf(start))
      .replace(/^Files after\n(?: {2}.*\n)*/gm, "")
      .replace(/^tool .*\n/gm, "")
      .replace(/\n{3,}/g, "\n\n");
  const shown = `$ npm run demo\n…\n${from(first.said, "┌─")}\n$ npm run demo -- --resume ${left}\n…\n${from(second.said, "The Turn goes on")}`;
  const page = await browser.newPage({ viewport: { width: 900, height: 400 } });
  await page.setContent(
    "<body style='margin:0;background:#14161c'><pre style='margin:0;padding:24px;color:#e8eaf1;font:14px/1.35 monospace'>",
  );
  await page.locator("pre").evaluate(
    (pre, text) => {
      pre.textContent = text;
    },
    shown.replaceAll(folder, "/tmp"),
  );
  await page.screenshot({ path: `${IMAGES}/demo.png`, fullPage: true });
}

build();
mkdirSync(IMAGES, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), "downcity-pictures-"));
const browser = await chromium.launch({ executablePath: bring_chromium(), args: ["--no-sandbox"] });
try {
  await picture_of_inbox(browser, join(folder, "inbox"));
  await picture_of_demo(browser, folder);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
