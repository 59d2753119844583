// A host that restores a configuration leaves no trace of it in the history.
import assert from "node:assert/strict";
import { open_session } from "./support.js";

const { session } = await open_session();
await session.set(
  { security: { approval_mode: "always-allow" } },
  { persist_action: false, publish_mutation: false },
);
await (await session.prompt({ query: "Delete a.txt" })).finished;

const parts = (await session.messages()).items.flatMap((message) => [...message.parts]);
assert.equal(
  parts.some((part) => part.type === "action"),
  false,
);
await session.close();
