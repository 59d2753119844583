export { Workspace } from "@downcity/agent";
export type { WorkspaceOptions } from "@downcity/agent";
