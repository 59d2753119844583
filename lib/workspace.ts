import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Workspace as PublicWorkspace, WorkspaceOptions } from "../index.js";
import { accept_id, accept_options, invalid, not_so } from "./accept.js";

export class Workspace implements PublicWorkspace {
  readonly id: string;
  readonly path: string;

  constructor(options: WorkspaceOptions) {
    const given = accept_options(options, "new Workspace", ["id", "path"]);
    this.id = accept_id(given.id, "a Workspace's id");
    if (typeof given.path !== "string" || given.path === "") {
      throw not_so("A Workspace's `path` has to be a string that names an existing directory", given.path);
    }
    this.path = resolve(given.path);
    if (!is_directory(this.path)) {
      throw invalid("A Workspace's `path` has to be an existing directory; create it first.");
    }
    Object.freeze(this);
  }
}

function is_directory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** By shape, not by class: a Workspace may come from another copy of this module or another realm. */
export function accept_workspace(value: unknown): Workspace | undefined {
  if (value === undefined) return undefined;
  const { id, path } = (typeof value === "object" && value !== null ? value : {}) as Partial<Workspace>;
  if (typeof id === "string" && typeof path === "string") return value as Workspace;
  throw not_so("`workspace` has to be what `new Workspace({ id, path })` makes", value);
}
