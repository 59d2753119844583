// The Shell: a command in the Workspace, confined or asked about, with its output.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Agent,
  type ApprovalInteraction,
  type ShellApprovalPayload,
  type ShellResult,
} from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";
import { ShellSession, ShellTool } from "@downcity/agent/tools";
import { Workspace } from "@downcity/city";

const path = mkdtempSync(join(tmpdir(), "downcity-shell-"));
const model = new ScriptedModel([
  // Of the shell's own words alone: where the PATH leads to /tmp, a confined command finds nothing there.
  [{ call: "shell", input: { command: 'echo hello > note && read -r line < note && echo "$line"' } }],
  [{ call: "shell", input: { command: "echo outside", unrestricted: true, reason: "To show it." } }],
  "Done.",
]);
const tools = { shell: new ShellTool({ timeout: 60_000 }), ...new ShellSession().tools };
const agent = new Agent({ id: "shell", model, tools });
const session = await agent.sessions.create({ workspace: new Workspace({ id: "project", path }) });

const asked: ShellApprovalPayload[] = [];
session.subscribe(async () => {
  for (const { interaction_id, payload } of await session.interactions<ApprovalInteraction>()) {
    asked.push(payload as ShellApprovalPayload & typeof payload);
    const response = { type: "approval", outcome: "resolved", payload: { decision: "approved" } } as const;
    await session.respond({ interaction_id, response }).catch(() => {});
  }
});
const turn = await session.prompt({ query: "Say hello." });
assert.equal((await turn.finished).text, "Done.");

const parts = (await session.messages()).items.flatMap((message) => [...message.parts]);
const results = parts.flatMap((part) => (part.type === "tool" ? [part.output as ShellResult] : []));
assert.deepEqual(
  results.map(({ exit_code, stdout }) => [exit_code, stdout]),
  [
    [0, "hello\n"],
    [0, "outside\n"],
  ],
);
assert.equal(readFileSync(join(path, "note"), "utf8"), "hello\n");
assert.deepEqual(
  asked.filter(({ sandbox }) => sandbox === "left").map(({ command, reason }) => [command, reason])[0],
  ["echo outside", "To show it."],
);
await agent.dispose();
rmSync(path, { recursive: true });
