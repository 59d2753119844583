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

// Who may use whom: node -> runtime -> core, node -> storage -> core, node -> shell; the runtime sees the storage
// trait only, and the helper of the Shell what it is told.
const FOREIGN = {
  "src/core/":
    /crate::(runtime|storage|node|shell)\b|\b(napi|rusqlite|tokio)::|SystemTime|Instant::now|now_v7|std::(thread|fs|net)\b/,
  "src/runtime/": /crate::(node|shell)\b|\b(napi|rusqlite)::|storage::sqlite\b/,
  "src/storage/": /crate::(runtime|node|shell)\b|\bnapi::/,
  "src/shell/": /crate::(core|runtime|storage|node)\b|\b(napi|rusqlite)::/,
  "src/bin/": /downcity_agent::(?!shell::protocol\b)|\b(napi|rusqlite)::/,
  "src/storage/memory": /\brusqlite::|storage::sqlite\b/,
  "src/storage/sqlite/": /storage::memory\b/,
};
for (const [folder, foreign] of Object.entries(FOREIGN)) {
  for (const path of files.filter((file) => file.startsWith(folder) && file.endsWith(".rs"))) {
    const found = foreign.exec(readFileSync(root + path, "utf8"));
    if (found) problems.push(`${path} uses ${found[0]}, which its layer must not know`);
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
