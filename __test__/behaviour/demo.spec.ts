/** The demo as a person has it, at a terminal. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { temporary_folder } from "../support/stores.js";

interface Terminal {
  has_terminal: boolean;
  at_terminal(
    command: string,
    typed: [string, string][],
    options: { env: NodeJS.ProcessEnv },
  ): Promise<{ code: number; said: string; left: unknown[] }>;
}

const CTRL_C = "\u0003";
const PROGRAM =
  "node --input-type=module -e \"import('./examples/demo/main.mjs').then(async (demo) => " +
  '{ process.exitCode = await demo.main({ resume: process.env.RESUME || undefined }) })"';

async function demo(typed: [string, string][], env: NodeJS.ProcessEnv) {
  const file = pathToFileURL(resolve("scripts/support/terminal.mjs")).href;
  const { at_terminal } = (await import(file)) as Terminal;
  return at_terminal(PROGRAM, typed, { env: { ...process.env, ...env } });
}

const CAN = existsSync("/usr/bin/script");
if (!CAN) process.stderr.write("\nNO TERMINAL: /usr/bin/script is missing, the demo is NOT tested here.\n\n");

test.skipIf(!CAN)(
  "Ctrl-C leaves the demo's Turn as it is, and the next start goes on with it",
  async () => {
    const env = { TMPDIR: temporary_folder() };
    const first = await demo(
      [
        ["Letters", "a b\r"],
        ["One letter", "c\r"],
        ["Your words", "Our weekend\r"],
        ["[n]o:", CTRL_C],
      ],
      env,
    );
    expect(first).toMatchObject({ code: 130, left: [] });
    expect(first.said).toMatch(/Waiting for you since .*Ctrl-C leaves it waiting; nothing is lost\./);
    expect(first.said).toContain("what waits for you still waits.");
    const [, folder = ""] = /--resume (\S+)/.exec(first.said) ?? [];
    const old = join(folder, "route-old.md");
    expect(existsSync(old)).toBe(true);
    // The deletion, and then one command or two: without a sandbox the first one asks as well.
    const yes: [string, string] = ["[n]o:", "y\r"];
    const second = await demo([yes, yes, yes], { ...env, RESUME: folder });
    expect(second.code).toBe(0);
    expect(second.left.length).toBeLessThan(2);
    expect(second.said).toContain("The Turn goes on where it was left.");
    // It knows what was answered before, and asks nothing twice.
    expect(second.said).not.toContain("QUESTIONS");
    expect(second.said).toContain(
      "summary.md now holds budget.md, packing.md (a table). I deleted route-old.md.",
    );
    expect(existsSync(old)).toBe(false);
  },
  60_000,
);
