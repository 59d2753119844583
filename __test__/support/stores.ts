import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memory, type Storage, sqlite } from "@downcity/agent";
import { describe, onTestFinished } from "vitest";

/** One place where Sessions are kept. Each call of `storage` opens it anew. */
export interface Place {
  storage(): Storage;
  /** The SQLite file, where it is one. */
  file?: string;
}

export interface Store {
  readonly name: "memory" | "sqlite";
  /** A new, empty place; it is gone after the test. */
  place(): Place;
}

export const memory_store: Store = {
  name: "memory",
  place() {
    const storage = memory();
    return { storage: () => storage };
  },
};

export const sqlite_store: Store = {
  name: "sqlite",
  place() {
    const file = join(temporary_folder(), "sessions.db");
    return { file, storage: () => sqlite(file) };
  },
};

/** The whole suite, once per store. */
export function on_each_store(name: string, suite: (store: Store) => void): void {
  for (const store of [memory_store, sqlite_store]) describe(`${name} (${store.name})`, () => suite(store));
}

export function temporary_folder(): string {
  const folder = mkdtempSync(join(tmpdir(), "downcity-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
