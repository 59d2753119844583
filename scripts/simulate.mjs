// The deterministic simulation (src/simulation): many seeds, or one seed aloud.
//   npm run simulate                                    2,000 seeds
//   npm run simulate -- --seeds 100000 [--first 5000]   so many, from 5,000 on
//   npm run simulate -- --seed 42                       one, with everything that happens
import { parseArgs } from "node:util";
import { attempt } from "./support/run.mjs";

/** From so many on, compiling with optimisation is made up for. */
const MANY = 20_000;

const options = { seeds: { type: "string" }, first: { type: "string" }, seed: { type: "string" } };

function number(name, text) {
  if (/^\d{1,15}$/.test(text)) return text;
  throw new Error(`--${name} takes a whole number`);
}

function main() {
  const { values } = parseArgs({ options });
  const env = { ...process.env };
  for (const [name, text] of Object.entries(values)) {
    env[`SIMULATE_${name.toUpperCase()}`] = number(name, text);
  }
  const profile = Number(values.seeds ?? 0) >= MANY ? ["--profile", "simulation"] : [];
  const cargo = ["test", "--no-default-features", "--lib", ...profile];
  const test = ["--exact", "simulation::simulate", "--ignored", "--nocapture"];
  return attempt("cargo", [...cargo, "--", ...test], { env });
}

process.exitCode = main() ? 0 : 1;
