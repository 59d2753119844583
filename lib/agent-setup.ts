import type { Storage } from "../index.js";
import { accept_count, accept_id, accept_options, accept_seconds, accept_text } from "./accept.js";
import { json_text } from "./bridge.js";
import { ModelShelf } from "./models.js";
import { accept_storage } from "./storage.js";
import { ToolRegistry } from "./tools/registry.js";

const KEYS = [
  "id",
  "model",
  "tools",
  "instruction",
  "storage",
  "max_steps",
  "max_tool_result_chars",
  "lease_seconds",
];

const MAX_STEPS = 50;
const MAX_TOOL_RESULT_CHARS = 262_144;

/** What an Agent was made with, judged once. */
export interface AgentSetup {
  readonly id: string;
  readonly models: ModelShelf;
  readonly registry: ToolRegistry;
  readonly instruction: string | undefined;
  readonly storage: Storage | undefined;
  readonly max_tool_result_chars: number;
  /** What the native side is told. */
  readonly settings_json: string;
}

export function agent_setup(options: unknown): AgentSetup {
  const given = accept_options(options, "new Agent", KEYS);
  const id = accept_id(given.id, "an Agent's id");
  const registry = new ToolRegistry(given.tools);
  const settings = {
    agent_id: id,
    max_steps: accept_count(given.max_steps, "max_steps") ?? MAX_STEPS,
    has_model: given.model !== undefined,
    lease_seconds: accept_seconds(given.lease_seconds, "lease_seconds"),
    tools: registry.settings,
  };
  return {
    id,
    models: new ModelShelf(given.model),
    registry,
    instruction: accept_text(given.instruction, "instruction"),
    storage: accept_storage(given.storage),
    max_tool_result_chars:
      accept_count(given.max_tool_result_chars, "max_tool_result_chars") ?? MAX_TOOL_RESULT_CHARS,
    settings_json: json_text(settings),
  };
}
