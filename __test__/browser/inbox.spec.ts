import { get } from "node:http";
import { AskQuestionsTool, with_approval } from "@downcity/agent";
import { gate, next_interaction } from "@downcity/agent/testing";
import { describe, expect, it } from "vitest";
import { tool } from "../support/session.js";
import { chromium_path, inbox, tab } from "./support.js";

const EVIL = '<img src=x onerror="document.title=1">';

/** A tool that runs after a person agreed; what ran is counted. */
function guarded() {
  const runs: unknown[] = [];
  return { runs, tool: with_approval(tool((input) => runs.push(input), { description: "Deletes a file." })) };
}

const shell = tool(async ({ command }: never, { interactions, workspace }) => {
  const payload = {
    operation: "exec" as const,
    command,
    cwd: workspace?.path,
    reason: `It is harmless. ${EVIL}`,
  };
  return (await interactions.approval.request({ payload })).approved;
});

const QUESTIONS = {
  title: "About the release",
  questions: [
    { question: "What is it called?", type: "text" },
    {
      question: "Where to?",
      type: "single_select",
      options: [
        { value: "cn", label: "China" },
        { value: "us", label: "United States", description: "East" },
      ],
    },
    {
      question: "With what?",
      type: "multi_select",
      options: ["a", "b", "c"].map((value) => ({ value, label: value })),
    },
  ],
};

if (chromium_path === undefined)
  process.stderr.write("\nNO CHROMIUM: the approval inbox is NOT tested here.\n\n");

describe.skipIf(chromium_path === undefined)("The approval inbox in Chromium", { timeout: 60_000 }, () => {
  it("has a call approved by keyboard: the real input is shown, and nothing of it is markup", async () => {
    const { tool: remove, runs } = guarded();
    const input = { path: "safe\u202Etxt.exe", note: `${EVIL}\u0007` };
    const served = await inbox([[{ text: `I ask. ${EVIL}` }, { call: "remove", input }], "Gone."], {
      remove,
    });
    const problems: string[] = [];
    const page = await tab(served, problems);
    await served.tasks.begin("Tidy up");
    const card = page.getByRole("article", { name: "Run remove?" });
    await card.waitFor();
    const shown = await card.getByRole("group", { name: "The input, exactly" }).textContent();
    expect(shown).toContain('"path": "safe\\u202etxt.exe"');
    expect(shown).toContain(JSON.stringify(EVIL).slice(1, -1));
    expect(shown).toContain("\\u0007");
    expect(await page.locator("img").count()).toBe(0);
    await page.getByRole("log").getByText("I ask. <img").waitFor();
    await page.getByText("Waits for you: one request, since").waitFor();
    await card.getByLabel("Reason (optional)").focus();
    await page.keyboard.type("fine by me");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Gone.").waitFor();
    expect(runs).toEqual([input]);
    expect(await card.count()).toBe(0);
    expect(await page.evaluate("document.activeElement.id")).toBe("inbox-title");
    expect(await page.locator("#announcer").textContent()).toBe("Approved.");
    await page.getByText("Nothing waits for you.").waitFor();
    await page.getByText("Nothing runs.").waitFor();
    expect(problems).toEqual([]);
  });

  it("shows a command, its directory and the model's reason apart, and denies it with a reason", async () => {
    const served = await inbox([[{ call: "shell", input: { command: "ls\u200b -la" } }], "Then not."], {
      shell,
    });
    const page = await tab(served);
    const { id } = await served.tasks.begin("List");
    const card = page.getByRole("article", { name: "Run a command?" });
    const fields = card.locator("dt");
    await fields.first().waitFor();
    expect(await fields.allTextContents()).toEqual([
      "Command",
      "Directory",
      "The model’s reason (nobody has checked it)",
      "Input, exactly as it will be used",
    ]);
    expect(await card.getByLabel("The command, exactly").textContent()).toBe("ls\\u200b -la");
    expect(await card.locator("mark.unseen").textContent()).toBe("\\u200b");
    expect(await card.getByLabel("The directory, exactly").textContent()).toContain(id);
    expect(await card.locator("blockquote").textContent()).toBe(`It is harmless. ${EVIL}`);
    await card.getByLabel("Reason (optional)").fill("not now");
    await card.getByRole("button", { name: "Deny" }).click();
    await page.getByText("Then not.").waitFor();
    const session = await served.agent.sessions.get(id);
    const parts = (await session.messages()).items.flatMap((message) => message.parts);
    const [asked] = parts.flatMap((part) => (part.type === "tool" ? (part.interactions ?? []) : []));
    expect(asked).toMatchObject({ status: "denied", response: { reason: "not now" } });
  });

  it("has a form filled in: text, one choice, several choices", async () => {
    const served = await inbox([[{ call: "ask", input: QUESTIONS }], "Noted."], { ask: AskQuestionsTool });
    const page = await tab(served);
    const { id } = await served.tasks.begin("Release");
    const card = page.getByRole("article", { name: "About the release" });
    await card.getByLabel("What is it called?").fill("one\ntwo");
    await card.getByRole("button", { name: "Send answers" }).click();
    await card.getByText("Please pick one.").waitFor();
    // The form leads to what is missing.
    await page.keyboard.press("ArrowDown");
    await card.getByRole("group", { name: "With what?" }).getByLabel("a", { exact: true }).check();
    await card.getByLabel("c", { exact: true }).check();
    await card.getByRole("button", { name: "Send answers" }).click();
    await page.getByText("Noted.").waitFor();
    const session = await served.agent.sessions.get(id);
    const parts = (await session.messages()).items.flatMap((message) => message.parts);
    const [call] = parts.flatMap((part) => (part.type === "tool" ? [part] : []));
    const answers = ((call?.output ?? {}) as { answers?: { value: unknown }[] }).answers;
    expect(answers?.map(({ value }) => value)).toEqual(["one\ntwo", "us", ["a", "c"]]);
  });

  it("comes back by itself when the server does, with everything still there", async () => {
    const { tool: remove, runs } = guarded();
    const tools = { remove, ask: AskQuestionsTool };
    const first = await inbox(next_of, tools);
    const page = await tab(first);
    for (const task of ["remove", "ask"]) await first.tasks.begin(task);
    const card = page.getByRole("article", { name: "Run remove?" });
    const form = page.getByRole("article", { name: "About the release" });
    await Promise.all([card.waitFor(), form.waitFor()]);
    await form.getByLabel("What is it called?").fill("half an answer");
    await first.close();
    await page.getByText("The server is away.").waitFor();
    await card.getByRole("button", { name: "Approve" }).click();
    await card.getByText("The server cannot be reached.").waitFor();
    const second = await first.restart(next_of);
    await page.getByText("Connected", { exact: true }).waitFor();
    // What was being written is still there, too.
    expect(await form.getByLabel("What is it called?").inputValue()).toBe("half an answer");
    await card.getByRole("button", { name: "Approve" }).click();
    await card.waitFor({ state: "detached" });
    expect(runs).toEqual([{ path: "a" }]);
    await form.getByLabel("China").check();
    await form.getByRole("button", { name: "Send answers" }).click();
    await form.waitFor({ state: "detached" });
    await page.reload();
    await page.getByText("Nothing waits for you.").waitFor();
    await expect
      .poll(async () => (await second.agent.sessions.list()).items.map(({ state }) => state))
      .toEqual(["idle", "idle"]);
    await page.getByRole("log").getByText("Done with it.").waitFor();
  });

  it("lets one of two tabs answer a card, and tells the other", async () => {
    const { tool: remove, runs } = guarded();
    const served = await inbox(
      [
        [
          { call: "remove", input: {} },
          { call: "remove", input: {} },
        ],
        "Gone.",
      ],
      { remove },
    );
    const [one, two] = [await tab(served), await tab(served)];
    await served.tasks.begin("Tidy up");
    const cards = [one, two].map((page) => page.getByRole("article", { name: "Run remove?" }).first());
    // The second tab is not told by its feed: its own answer comes too late.
    await cards[1]?.waitFor();
    const held = gate();
    await two.route("**/api/answer", async (route) => {
      await held.wait();
      await route.continue();
    });
    await cards[1]?.getByRole("button", { name: "Deny" }).click();
    await held.reached;
    const id = await cards[0]?.getAttribute("data-id");
    await cards[0]?.getByRole("button", { name: "Approve" }).click();
    await one.locator(`[data-id="${id}"]`).waitFor({ state: "detached" });
    held.open();
    const late = two.locator(`[data-id="${id}"]`);
    await late.getByText("Somebody else was first; your answer was not taken.").waitFor();
    expect(await late.getByRole("alert").textContent()).toContain("Approved");
    await late.getByRole("button", { name: "Dismiss" }).click();
    await late.waitFor({ state: "detached" });
    // The other card is answered in one tab, and the other tab hears of it from the feed.
    await cards[0]?.getByRole("button", { name: "Deny" }).click();
    await cards[1]?.getByText("It was ended elsewhere.").waitFor();
    expect(await cards[1]?.getByRole("alert").textContent()).toContain("Denied");
    await one.getByText("Gone.").waitFor();
    expect(runs).toHaveLength(1);
  });

  it("serves nobody without the token, from another origin or under another name", async () => {
    const { tool: remove, runs } = guarded();
    const served = await inbox([[{ call: "remove", input: {} }]], { remove });
    const { id } = await served.tasks.begin("Tidy up");
    const session = await served.agent.sessions.get(id);
    const { interaction_id } = await next_interaction(session);
    const origin = `http://127.0.0.1:${served.port}`;
    const response = { type: "approval", outcome: "resolved", payload: { decision: "approved" } };
    const body = JSON.stringify({ session_id: id, interaction_id, response });
    const token = new URL(served.url).hash.slice(1);
    const post = async (headers: Record<string, string>) => {
      const all = { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers };
      return (await fetch(`${origin}/api/answer`, { method: "POST", headers: all, body })).status;
    };
    expect(await post({ authorization: "" })).toBe(401);
    expect(await post({ authorization: `Bearer ${token}x` })).toBe(401);
    expect(await post({ origin: "http://evil.example" })).toBe(403);
    expect(await post({ origin: "null" })).toBe(403);
    expect(await post({ "content-type": "text/plain" })).toBe(415);
    const named = new Promise((resolve) => {
      const headers = { host: "evil.example", authorization: `Bearer ${token}` };
      get(`${origin}/api/inbox`, { headers }, ({ statusCode, destroy }) => resolve(statusCode) ?? destroy);
    });
    expect(await named).toBe(421);
    const page = await fetch(`${origin}/`);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await page.text()).not.toContain(token);
    expect(await session.interactions()).toHaveLength(1);
    expect(runs).toEqual([]);
    const stranger = await tab_without_token(origin);
    expect(stranger).toContain("This page has no valid token.");
  });
});

async function tab_without_token(origin: string): Promise<string | null> {
  const page = await tab({ url: `${origin}/#wrong` }, [], "refused");
  return page.textContent("#connection");
}

/** The same model before and after the restart: it asks once, then it is done. */
function next_of(prompt: readonly { role: string; content: unknown }[]) {
  if (prompt.some(({ role }) => role === "tool")) return "Done with it.";
  const wants_form = JSON.stringify(prompt).includes('"ask"');
  return wants_form ? [{ call: "ask", input: QUESTIONS }] : [{ call: "remove", input: { path: "a" } }];
}
