// Rules of the tree that no other tool checks.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { root } from "./support/run.mjs";

const MAX_LINES = 400;
const SOURCES = /\.(rs|ts|mts|cts|mjs|cjs|js)$/;

const problems = [];
const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
const files = tracked.split("\0").filter((path) => path !== "" && existsSync(root + path));
for (const path of files) {
  if (!SOURCES.test(path)) continue;
  const text = readFileSync(root + path, "utf8");
  const lines = text.split("\n").length - 1;
  if (lines > MAX_LINES) problems.push(`${path} has ${lines} lines; ${MAX_LINES} are the limit`);
  if (/@ts-(ignore|nocheck)/.test(text) && path !== "scripts/check-tree.mjs") {
    problems.push(`${path} silences the type checker`);
  }
}

const lock = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"));
for (const [path, entry] of Object.entries(lock.packages)) {
  if (/^[a-z]+:/.test(entry.resolved ?? ""))
    problems.push(`package-lock.json records an address for ${path}`);
}

const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
for (const path of ["packages/type", "packages/city", "npm/linux-x64-gnu"]) {
  const found = JSON.parse(readFileSync(`${root}${path}/package.json`, "utf8")).version;
  if (found !== version) problems.push(`${path} has version ${found} instead of ${version}`);
}
const crate = /^version = "(.*)"$/m.exec(readFileSync(`${root}Cargo.toml`, "utf8"))?.[1];
if (crate !== version) problems.push(`Cargo.toml has version ${crate} instead of ${version}`);

for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
