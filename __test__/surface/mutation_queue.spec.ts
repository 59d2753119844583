import { expect, test } from "vitest";
import type { Mutation } from "../../index.js";
import { MutationQueue } from "../../lib/mutation-queue.js";

let revision = 0;

function mutation(fields: object): Mutation {
  revision += 1;
  return {
    mutation_id: `m${revision}`,
    session_id: "s",
    revision_of_session: revision,
    ...fields,
  } as Mutation;
}

const delta = (part_id: string, text: string) =>
  mutation({ variant: "delta", type: "text", message_id: "m", part_id, delta: text });
const turn = () => mutation({ variant: "turn", type: "start", turn_id: "t", status: "running" });

function drained(queue: MutationQueue): Mutation[] {
  const all: Mutation[] = [];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) all.push(next);
  return all;
}

const text_of = (all: Mutation[], part_id: string) =>
  all.map((item) => (item.variant === "delta" && item.part_id === part_id ? item.delta : "")).join("");

test("a reader that keeps up gets every delta as it was", () => {
  const queue = new MutationQueue();
  const given = Array.from({ length: 200 }, (_, index) => delta("p", `${index} `));
  for (const item of given) queue.push(item);
  expect(drained(queue)).toEqual(given);
});

test("for a slow reader the deltas of a Part become one, and their text stays whole", () => {
  const queue = new MutationQueue();
  const words = Array.from({ length: 10_000 }, (_, index) => `${index} `);
  for (const word of words) {
    queue.push(delta("a", word));
    queue.push(delta("b", word.toUpperCase()));
  }
  expect(queue.size).toBeLessThan(300);
  const all = drained(queue);
  expect(text_of(all, "a")).toBe(words.join(""));
  expect(text_of(all, "b")).toBe(words.join(""));
  expect(queue.size).toBe(0);
});

test("nothing but deltas is merged, and revisions ascend", () => {
  const queue = new MutationQueue();
  for (let round = 0; round < 300; round += 1) {
    queue.push(turn());
    for (let index = 0; index < 20; index += 1) queue.push(delta(index % 2 === 0 ? "a" : "b", "x"));
  }
  const all = drained(queue);
  expect(all.filter((item) => item.variant === "turn")).toHaveLength(300);
  expect(text_of(all, "a")).toHaveLength(3000);
  const revisions = all.map((item) => item.revision_of_session);
  expect(revisions).toEqual([...revisions].sort((one, other) => one - other));
});
