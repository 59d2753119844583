export { Workspace } from "@downcity/agent";
