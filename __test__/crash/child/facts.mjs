/** What a child tells whoever comes after it, and where it dies. */
import { fsyncSync, openSync, writeSync } from "node:fs";

const [folder, seed, number, mode] = process.argv.slice(2);
export const child = { folder, seed, number: Number(number), finishing: mode === "finish" };

const facts = openSync(`${folder}/facts-${number}.jsonl`, "a");

/** Written before anything else happens: a killed process has told all it knew. */
export function say(fact) {
  writeSync(facts, `${JSON.stringify(fact)}\n`);
}

/** The same, on disk. */
export function say_for_good(fact) {
  say(fact);
  fsyncSync(facts);
}

export const [deadly, wanted = "1"] = (process.env.CRASH_AT ?? "").split("#");
let met = 0;

/** The call around which this child is to die, if it is one: it is then made more often. */
export const favoured = deadly.split(":")[1];

/** A named instant. The child dies at the one it was told, the so manieth time it comes by. */
export function point(name) {
  if (name !== deadly) return;
  met += 1;
  if (met < Number(wanted)) return;
  say({ f: "hit", point: name });
  process.kill(process.pid, "SIGKILL");
}

/** Lets everything else go on, so many times. */
export async function turns_of_the_loop(count) {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Calls the API, and tells before and after. What it may be refused with is in `refusals`. */
export async function call(op, session_id, about, work, refusals = []) {
  say({ f: "try", op, s: session_id, ...about });
  point(`before:${op}`);
  try {
    const working = work();
    point(`during:${op}`);
    const value = await working;
    say({ f: "ok", op, s: session_id, ...about, value: op === "prompt" ? value.id : plain(value) });
    point(`after:${op}`);
    return value;
  } catch (error) {
    const { code, message } = error;
    say({ f: "no", op, s: session_id, ...about, code, message });
    if (!refusals.includes(code)) say({ f: "fault", what: `${op} of ${session_id}: ${error.stack}` });
    return undefined;
  }
}

/** Handles are not told. */
function plain(value) {
  return value?.constructor === Object ? value : undefined;
}
