export type { WorkspaceOptions } from "@downcity/agent";
export { Workspace } from "@downcity/agent";
