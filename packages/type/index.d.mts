export type * from "@downcity/agent";
export { define_agent_tool, SESSION_APPROVAL_RESPONSE_SCHEMA } from "@downcity/agent";
