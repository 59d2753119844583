/** What `@downcity/agent` exports. Its public types are those of `index.d.ts`. */
export { Agent } from "./agent.js";
export { SESSION_APPROVAL_RESPONSE_SCHEMA } from "./approval-schema.js";
export { SessionError } from "./errors.js";
export { memory, sqlite } from "./storage.js";
export { define_agent_tool, with_approval } from "./tools/define.js";
export { AskQuestionsTool, ShellSession, ShellTool } from "./tools/index.js";
export { Workspace } from "./workspace.js";
