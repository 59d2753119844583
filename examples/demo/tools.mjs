// The agent's tools. They really read, write and delete, though only in the Workspace.
import { lstat, readFile, realpath, unlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { AskQuestionsTool, ShellTool } from "@downcity/agent/tools";
import { define_agent_tool } from "@downcity/type";
import { z } from "zod";
import { files_in } from "./files.mjs";

const path = z.string().min(1).describe("A path within the workspace, such as notes.md.");

const list_files = define_agent_tool({
  description: "List the files of the workspace with their sizes in bytes.",
  input_schema: z.object({}),
  execute: (_, { workspace }) => ({ files: files_in(workspace.path) }),
});

const read_file = define_agent_tool({
  description: "Read a text file of the workspace.",
  input_schema: z.object({ path }),
  execute: async (input, { workspace }) => {
    const file = await inside(workspace.path, input.path);
    return { path: input.path, text: await readFile(file, "utf8") };
  },
});

const write_file = define_agent_tool({
  description: "Write a new text file to the workspace. A file that exists is not overwritten.",
  input_schema: z.object({ path, text: z.string() }),
  execute: async (input, { workspace }) => {
    const file = await inside(workspace.path, input.path);
    await writeFile(file, input.text, { flag: "wx" });
    return { path: input.path, bytes: Buffer.byteLength(input.text) };
  },
});

// Asking first is this tool's own rule. What a person then sees of the call, the Session adds by itself.
const delete_file = define_agent_tool({
  description: "Delete a file of the workspace for good.",
  input_schema: z.object({ path }),
  explain: true,
  // It does nothing before it asks, so it may be entered again: its question outlives the program.
  resume: "replay",
  execute: async (input, context) => {
    const file = await inside(context.workspace.path, input.path);
    if (!(await lstat(file)).isFile()) throw new Error(`${input.path} is not a file.`);
    const decision = await context.interactions.approval.request({
      turn_id: context.turn_id,
      tool_call_id: context.tool_call_id,
      tool_name: "delete_file",
      payload: { operation: "tool", validated_input: input },
    });
    if (!decision.approved) return { success: false, error: "denied", reason: decision.reason };
    await unlink(file);
    return { deleted: input.path };
  },
});

export const tools = {
  list_files,
  read_file,
  write_file,
  delete_file,
  ask_question: AskQuestionsTool,
  shell: new ShellTool(),
};

/** The absolute path of a file that lies in the folder, also when links on the way to it are followed. */
async function inside(folder, name) {
  const root = await realpath(folder);
  const wanted = resolve(root, name);
  const parent = await realpath(dirname(wanted));
  const file = join(parent, basename(wanted));
  const from_root = relative(root, file);
  if (from_root === "" || from_root === ".." || from_root.startsWith(`..${sep}`)) throw outside(name);
  if (from_root.startsWith(".")) throw outside(name);
  const found = await lstat(file).catch(() => undefined);
  if (found?.isSymbolicLink()) throw outside(name);
  return file;
}

function outside(name) {
  return new Error(`${JSON.stringify(name)} is not a file the agent may touch: stay within the workspace.`);
}
