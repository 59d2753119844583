import { join, resolve } from "node:path";
import type { SqliteOptions, Storage } from "../index.js";
import { accept_optional, not_so } from "./accept.js";
import { type NativeStore, native_binding } from "./native.js";
import type { Workspace } from "./workspace.js";

/** Every file this process was told to keep Sessions in: the Shell has to keep them out of sight. */
const FILES = new Set<string>();

export function store_files(): readonly string[] {
  return [...FILES];
}

/** A store that is opened natively when it is first used. */
class StorageHandle {
  readonly #open: () => NativeStore;
  #native: NativeStore | undefined;

  constructor(open: () => NativeStore) {
    this.#open = open;
  }

  static native(handle: StorageHandle): NativeStore {
    handle.#native ??= handle.#open();
    return handle.#native;
  }

  static is(value: unknown): value is StorageHandle {
    return typeof value === "object" && value !== null && #native in value;
  }
}

/** The brand of the public type exists for the compiler alone. */
function publish(handle: StorageHandle): Storage {
  return handle as unknown as Storage;
}

export function memory(): Storage {
  return publish(new StorageHandle(() => native_binding().NativeStore.memory()));
}

export function sqlite(path: string, options?: SqliteOptions): Storage {
  if (typeof path !== "string" || path === "") {
    throw not_so("The path in sqlite(path, { synchronous? }) has to name a database file", path);
  }
  const { synchronous = "full" } = accept_optional(options, "sqlite(path, options)", ["synchronous"]);
  if (synchronous !== "full" && synchronous !== "normal") {
    throw not_so('`synchronous` has to be "full" or "normal"', synchronous);
  }
  const file = resolve(path);
  FILES.add(file);
  const options_json = JSON.stringify({ synchronous });
  return publish(new StorageHandle(() => native_binding().NativeStore.sqlite(file, options_json)));
}

/** The store of an Agent whose options name none. */
export function default_storage(agent_id: string, workspace: Workspace | undefined): Storage {
  if (workspace === undefined) return memory();
  return sqlite(join(workspace.path, ".downcity", "agents", agent_id, "sessions.db"));
}

export function accept_storage(value: unknown): Storage | undefined {
  if (value === undefined) return undefined;
  if (StorageHandle.is(value)) return publish(value);
  throw not_so("`storage` has to be made by memory() or sqlite(path)", value);
}

export function native_store(storage: Storage): NativeStore {
  return StorageHandle.native(storage as unknown as StorageHandle);
}
