/** Sessions whose model runs commands. */
import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { ShellTool, type ToolPart, Workspace } from "@downcity/agent";
import { calls_of, type Opened, type OpenOptions, open, run, type Script } from "./session.js";
import { type Store, sqlite_store, temporary_folder } from "./stores.js";

export type Output = {
  exit_code: number | null;
  signal?: string;
  stdout: string;
  stderr: string;
  timed_out: boolean;
  truncated: boolean;
};

export function temporary_workspace(): Workspace {
  return new Workspace({ id: "workspace", path: realpathSync(temporary_folder()) });
}

/** What the model gives the Shell; a text is a command. */
export type Call = string | { [field: string]: unknown };

const input_of = (call: Call) => (typeof call === "string" ? { command: call } : call);

/** One step for each call, and a last word. */
export function script_of(...calls: Call[]): Script {
  return [...calls.map((call) => [{ call: "shell", input: input_of(call) }]), "Done."];
}

export interface ShellSession extends Opened {
  workspace: Workspace;
}

/** A Session whose model makes these calls, one after the other, once it is prompted. */
export async function open_shell(
  calls: Call[],
  options: OpenOptions & { tool?: ShellTool; workspace?: Workspace; store?: Store } = {},
): Promise<ShellSession> {
  const {
    tool = new ShellTool(),
    workspace = temporary_workspace(),
    store = sqlite_store,
    session,
    ...rest
  } = options;
  const opened = await open(store, script_of(...calls), {
    tools: { shell: tool },
    session: { workspace, ...session },
    ...rest,
  });
  return { ...opened, workspace };
}

/** Runs the commands in a Session of their own and gives their Parts. */
export async function run_commands(
  calls: Call[],
  options: Parameters<typeof open_shell>[1] = {},
): Promise<ToolPart[]> {
  const { session } = await open_shell(calls, options);
  await run(session);
  return calls_of(session);
}

export const output_of = (part: ToolPart | undefined): Output => part?.output as Output;

/** The command lines of all processes that carry a word. */
export function processes_with(word: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return "";
      }
    })
    .filter((line) => line.includes(word));
}
