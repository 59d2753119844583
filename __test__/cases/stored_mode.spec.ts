/** O-40: what another program wrote in a mode's place opens nothing. */
import { execFileSync } from "node:child_process";
import { Agent } from "@downcity/agent";
import { next_interaction, ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { deny, open } from "../support/session.js";
import { sqlite_store } from "../support/stores.js";
import { gated_tool } from "./support.js";

const COLUMNS = [
  ["approval_mode"],
  ["effective_approval_mode"],
  ["approval_mode", "effective_approval_mode"],
];
test.each(COLUMNS)(
  "a stored mode that nobody knows means that people are asked, and a warning (%s, %s)",
  async (...columns) => {
    const { tool: act, runs } = gated_tool();
    const security = { approval_mode: "always-allow" } as const;
    const { agent, session, place } = await open(sqlite_store, [], {
      session: { security },
      observed: false,
    });
    await agent.dispose();
    const change = columns
      .filter(Boolean)
      .map((column) => `${column} = 'autoo'`)
      .join(", ");
    const program = "import sqlite3,sys;d=sqlite3.connect(sys.argv[1]);d.execute(sys.argv[2]);d.commit()";
    execFileSync("python3", ["-c", program, place.file ?? "", `UPDATE sessions SET ${change}`]);
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    const model = new ScriptedModel([[{ call: "act" }], "Done."]);
    const later = new Agent({ id: "behaviour", model, tools: { act }, storage: place.storage() });
    onTestFinished(() => later.dispose());
    const again = await later.sessions.get(session.id);
    expect((await again.status()).security.effective_approval_mode).toBe("ask");
    const turn = await again.prompt({ query: "Go" });
    await again.respond(deny((await next_interaction(again)).interaction_id));
    await turn.finished;
    expect(runs).toEqual([]);
    const [message, options] = warned.mock.calls[0] ?? [];
    expect(message).toContain(`Session ${session.id}: Its stored approval mode`);
    expect(options).toEqual({ type: "SessionWarning" });
    expect(warned).toHaveBeenCalledTimes(1);
  },
);
