/** Where a command runs, and what it must not see there. */
import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { store_files } from "../storage.js";
import type { Workspace } from "../workspace.js";

/** @throws Error, for the model, where there is no Workspace */
export function workspace_path(workspace: Workspace | null): string {
  if (workspace === null) {
    throw new Error("Nothing was run: this Session has no Workspace, and a command runs in one.");
  }
  return realpathSync(workspace.path);
}

/**
 * The folder as an absolute path. It has to be in the Workspace, and no part of it may be a symbolic link: then the
 * path that a person approves is the place where the command runs.
 * @throws Error, for the model
 */
export function folder_in(workspace: string, cwd: string | undefined): string {
  const folder = resolve(workspace, cwd ?? ".");
  if (!is_within(workspace, folder)) {
    throw new Error("Nothing was run: `cwd` has to be a folder of the Workspace, such as `src`.");
  }
  const parts = relative(workspace, folder).split(sep).filter(Boolean);
  let path = workspace;
  for (const part of parts) {
    path = join(path, part);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) continue;
    const what =
      found === undefined ? "does not exist" : found.isSymbolicLink() ? "is a symbolic link" : "is no folder";
    throw new Error(
      `Nothing was run: \`cwd\` has to be a folder of the Workspace, and ${JSON.stringify(part)} ${what}.`,
    );
  }
  return folder;
}

export interface Hidden {
  hidden_folders: string[];
  hidden_files: string[];
}

/**
 * The Session stores: in the Workspace by their folders, so that nothing can be put beside them, elsewhere by their
 * files, as nothing can be written there anyway.
 * @returns what the sandbox has to hide, or why it could not
 */
export function hidden_in(workspace: string): Hidden | { problem: string } {
  const own = join(workspace, ".downcity");
  const hidden: Hidden = { hidden_folders: [own], hidden_files: [] };
  for (const file of store_files().map(real_path)) {
    const folder = dirname(file);
    if (is_within(own, folder)) continue;
    if (folder === workspace) {
      return {
        problem: `the Session store ${basename(file)} lies in the Workspace itself: give it a folder of its own`,
      };
    }
    if (is_within(workspace, folder)) hidden.hidden_folders.push(folder);
    else hidden.hidden_files.push(...["", "-wal", "-shm", "-journal"].map((end) => file + end));
  }
  return hidden;
}

function is_within(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`));
}

/** A store may not be there yet; then its nearest folder counts. */
function real_path(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(real_path(dirname(path)), basename(path));
  }
}
