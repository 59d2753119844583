/** `@downcity/agent/testing`: what tests of agents need, without a provider and without a clock. */
export { type NextInteractionOptions, next_interaction, type ObservedSession } from "./next-interaction.js";
export {
  type Gate,
  gate,
  type ScriptedAction,
  type ScriptedFinish,
  type ScriptedMetadata,
  type ScriptedStep,
  type ScriptedUsage,
} from "./script.js";
export {
  type RecordedPrompt,
  type RecordedRequest,
  type Script,
  ScriptedModel,
  type ScriptedModelOptions,
} from "./scripted-model.js";
export { type SpyTool, type SpyToolOptions, spied_runs, spy_tool } from "./spy-tool.js";
export { assert_strict_prompt, StrictPromptError } from "./strict-prompt.js";
