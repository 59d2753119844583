import { copyFileSync, readdirSync, readlinkSync } from "node:fs";
import { Agent, sqlite } from "@downcity/agent";
import { expect, test } from "vitest";
import { sqlite_store } from "../support/stores.js";

const open_files = (file: string) =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(file);
    } catch {
      return false;
    }
  });

test("a disposed Agent has let go of its file", async () => {
  const place = sqlite_store.place();
  const file = place.file ?? "";
  const agent = new Agent({ id: "files", storage: sqlite(file) });
  await agent.sessions.create();
  expect(open_files(file).length).toBeGreaterThan(0);
  await agent.dispose();
  expect(open_files(file)).toEqual([]);
});

test("once the last of several Agents is disposed, a copy of the file has all their Sessions", async () => {
  const file = sqlite_store.place().file ?? "";
  const copy = sqlite_store.place().file ?? "";
  const ids = ["one", "two", "three"];
  for (const session_id of ids) {
    const agent = new Agent({ id: "files", storage: sqlite(file) });
    await agent.sessions.create({ session_id });
    await agent.dispose();
    expect(open_files(file)).toEqual([]);
  }
  copyFileSync(file, copy);
  const agent = new Agent({ id: "files", storage: sqlite(copy) });
  const { items } = await agent.sessions.list();
  expect(items.map((item) => item.session_id).sort()).toEqual([...ids].sort());
  await agent.dispose();
});
