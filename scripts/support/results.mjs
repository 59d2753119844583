// The sums each stage leaves behind, and the line they end in.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { root } from "./run.mjs";

const FOLDER = `${root}artifacts/results`;

export function forget_results() {
  rmSync(FOLDER, { recursive: true, force: true });
}

/** `counts`: { passed, failed } */
export function keep_result(stage, counts) {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}/${stage}.json`, JSON.stringify({ stage, ...counts }));
}

export function kept_results() {
  try {
    return readdirSync(FOLDER).map((name) => JSON.parse(readFileSync(`${FOLDER}/${name}`, "utf8")));
  } catch {
    return [];
  }
}

export function total(results) {
  const sum = (field) => results.reduce((all, result) => all + result[field], 0);
  return { passed: sum("passed"), failed: sum("failed") };
}

/** Prints the closing line; returns the exit code. */
export function close(results) {
  process.stdout.write("\n");
  for (const { stage, passed, failed } of results) {
    process.stdout.write(`${stage}: ${passed} of ${passed + failed} hold\n`);
  }
  const { passed, failed } = total(results);
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed > 0 || passed === 0 ? 1 : 0;
}
