/** `@downcity/agent/tools`: tools to register. */
export { type AskQuestionsResult, AskQuestionsTool } from "./ask-questions.js";
export { type McpClient, type McpTool, type McpToolsOptions, mcp_tools } from "./mcp.js";
export { ShellTool } from "./shell.js";
export { ShellSession } from "./shell-session.js";
