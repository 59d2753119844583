/** What a call of the Shell comes to: what runs, where, and whether the sandbox holds it. */
import type { ShellInput } from "../../types/shell.js";
import type { ToolCallInfo, ToolContext } from "../../types/tool.js";
import { fields_of } from "../fields.js";
import type { JsonObject } from "../json.js";
import { APPROVED } from "../tools/context.js";
import { type GateVerdict, TELLS, type TellingRule } from "../tools/define.js";
import { environment_of, type ShellSettings } from "./options.js";
import { folder_in, hidden_in, workspace_path } from "./place.js";
import { type ProcessPlan, ShellProcess } from "./process.js";

/** `left`: the model asked for that. `unavailable`: there is none to be had. */
export type Confinement = "confined" | "left" | "unavailable";

export interface CommandPlan {
  operation: "exec" | "start";
  command: string;
  cwd: string;
  reason?: string;
  sandbox: Confinement;
  /** Why there is none to be had. */
  sandbox_problem?: string;
}

/** @throws Error, for the model, where the call cannot be run anywhere */
export async function plan_command(
  operation: CommandPlan["operation"],
  input: ShellInput,
  { workspace }: Pick<ToolCallInfo, "workspace">,
  settings: ShellSettings,
): Promise<CommandPlan> {
  const { command, reason, unrestricted } = input;
  if (command.includes("\0")) throw new Error("Nothing was run: the command holds a zero character.");
  const path = workspace_path(workspace);
  const cwd = folder_in(path, input.cwd);
  const plan = { operation, command, cwd, ...(reason === undefined ? {} : { reason }) };
  if (unrestricted === true) return { ...plan, sandbox: "left" };
  const problem = settings.sandbox ? await sandbox_problem(path) : "the host has switched it off";
  if (problem === undefined) return { ...plan, sandbox: "confined" };
  return { ...plan, sandbox: "unavailable", sandbox_problem: problem };
}

/** Tried for real, with everything but the command. What has worked for a Workspace is not tried again. */
const KNOWN = new Set<string>();

async function sandbox_problem(workspace: string): Promise<string | undefined> {
  const hidden = hidden_in(workspace);
  if ("problem" in hidden) return hidden.problem;
  const key = JSON.stringify([workspace, hidden]);
  if (KNOWN.has(key)) return undefined;
  try {
    const sandbox = { workspace, ...hidden };
    const trial = new ShellProcess(
      { cwd: workspace, env: [], has_input: false, sandbox },
      { max_output: 1024 },
    );
    const { phase, why } = await trial.ended();
    if (phase === "refused") return why ?? "no reason was given";
  } catch (error) {
    return String((error as Error).message);
  }
  KNOWN.add(key);
  return undefined;
}

/** What a person is shown; also what runs then. */
export function approval_of(plan: CommandPlan): JsonObject {
  return { ...plan };
}

/** The gate of a tool that runs commands: it asks about each that no sandbox holds. */
export function command_rule(
  operation: CommandPlan["operation"],
  settings: () => ShellSettings,
): TellingRule {
  const rule = async (input: unknown, call: unknown): Promise<GateVerdict> => {
    const plan = await plan_command(operation, input as ShellInput, call as ToolCallInfo, settings());
    return { ask: plan.sandbox !== "confined", approval: approval_of(plan) };
  };
  return Object.assign(rule, { [TELLS]: true as const });
}

/**
 * The plan that may be run now. Where a person approved one, it is that one, to the letter. Where no gate asked and
 * no sandbox holds it (the approval mode, or a sandbox that is gone since), it goes through the approval entry.
 * @throws Error, for the model, where it was denied
 */
export async function permitted_plan(
  operation: CommandPlan["operation"],
  input: ShellInput,
  context: ToolContext,
  settings: ShellSettings,
): Promise<CommandPlan> {
  const approved = approved_plan(operation, input, context);
  if (approved !== undefined) return approved;
  const plan = await plan_command(operation, input, context, settings);
  if (plan.sandbox !== "confined") await ask_for(approval_of(plan), context);
  return plan;
}

function approved_plan(
  operation: CommandPlan["operation"],
  input: ShellInput,
  context: ToolContext,
): CommandPlan | undefined {
  const approved = fields_of(fields_of(context)[APPROVED]);
  if (approved.operation !== operation) return undefined;
  if (approved.command !== input.command) throw new Error("Nothing was run: another command was approved.");
  return approved as unknown as CommandPlan;
}

/** @throws Error, for the model, where it was denied */
export async function ask_for(payload: JsonObject, context: ToolContext): Promise<void> {
  const { turn_id, tool_call_id, tool_name } = context;
  const request = { turn_id, tool_call_id, tool_name, payload: payload as { operation: "exec" } };
  const decision = await context.interactions.approval.request(request);
  if (decision.approved) return;
  const why = decision.reason === undefined ? "" : ` Reason: ${decision.reason}`;
  throw new Error(`The user denied this call, so it was not executed.${why}`);
}

/** @throws Error where the sandbox can no longer be had; nothing runs outside of it instead */
export function process_plan(
  plan: CommandPlan,
  context: ToolContext,
  settings: ShellSettings,
  has_input: boolean,
): ProcessPlan {
  const { command, cwd, sandbox } = plan;
  const confined = sandbox === "confined";
  const run = { command, cwd, has_input, env: environment_of(settings.env, confined) };
  if (!confined) return run;
  const workspace = workspace_path(context.workspace);
  const hidden = hidden_in(workspace);
  if ("problem" in hidden) throw new Error(`Nothing was run, as there is no sandbox: ${hidden.problem}.`);
  return { ...run, sandbox: { workspace, ...hidden } };
}
