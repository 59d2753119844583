// Installs the packed tarballs into an empty project, as a user would, and uses them there.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { close, keep_result } from "./support/results.mjs";
import { root, say } from "./support/run.mjs";

const TARBALLS = `${root}artifacts`;
const FIXTURES = `${root}__test__/package`;
const TOOLS = ["zod", "typescript", "@types/node"];

const outcome = { passed: 0, failed: 0 };

function check(what, holds, output = "") {
  outcome[holds ? "passed" : "failed"] += 1;
  process.stdout.write(`${holds ? "ok" : "NOT OK"}  ${what}\n`);
  if (!holds) process.stdout.write(`${output}\n`);
  return holds;
}

/** A folder of programs that holds nothing but Node, npm and a shell: whatever would compile Rust fails. */
function bare_path(folder) {
  mkdirSync(folder, { recursive: true });
  for (const program of ["sh", "env", "npm", "node"]) {
    const found = spawnSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).stdout.trim();
    symlinkSync(found, join(folder, program));
  }
  return folder;
}

function run(command, args, { cwd, path }) {
  const env = { ...process.env, PATH: path };
  const done = spawnSync(command, args, { cwd, env, encoding: "utf8", timeout: 120_000 });
  return {
    ok: done.status === 0,
    output: `${done.stdout ?? ""}${done.stderr ?? ""}${done.error?.message ?? ""}`,
  };
}

function expect(what, command, args, where) {
  const { ok, output } = run(command, args, where);
  return check(what, ok, output);
}

function version_of(name) {
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"));
  return `${name}@${packages[`node_modules/${name}`].version}`;
}

function tarballs() {
  const found = existsSync(TARBALLS) ? readdirSync(TARBALLS).filter((name) => name.endsWith(".tgz")) : [];
  return found.map((name) => join(TARBALLS, name));
}

function check_contents(paths) {
  for (const path of paths) {
    const name = path.split("/").at(-1);
    const list = spawnSync("tar", ["-tzf", path], { encoding: "utf8" }).stdout.split("\n");
    const manifest = JSON.parse(
      spawnSync("tar", ["-xzOf", path, "package/package.json"], { encoding: "utf8" }).stdout,
    );
    check(`${name} runs no script when it is installed`, manifest.scripts === undefined);
    const is_platform = name.includes("linux");
    const binaries = list.filter((entry) => entry.endsWith(".node")).length;
    check(`${name} holds ${is_platform ? "the" : "no"} binary`, binaries === (is_platform ? 1 : 0));
    // Unpacked as it is by npm, the helper has to be a program.
    const modes = spawnSync("tar", ["-tvzf", path], { encoding: "utf8" }).stdout.split("\n");
    const helpers = modes.filter((line) => line.endsWith("/downcity-shell") && line.startsWith("-rwxr-xr-x"));
    check(`${name} holds ${is_platform ? "the" : "no"} helper`, helpers.length === (is_platform ? 1 : 0));
    const local = Object.values({ ...manifest.dependencies, ...manifest.optionalDependencies });
    check(
      `${name} depends on published versions`,
      local.every((version) => /^\d/.test(version)),
      String(local),
    );
  }
}

/** A project with nothing but the tarballs and the tools that check it. */
function project(folder, path, options) {
  cpSync(FIXTURES, folder, { recursive: true });
  const args = ["install", "--no-audit", "--no-fund", "--no-save", ...options];
  const what = `The tarballs install with ${options[0] ?? "scripts allowed"}`;
  return expect(what, "npm", [...args, ...tarballs(), ...TOOLS.map(version_of)], { cwd: folder, path });
}

function use(folder, path) {
  const where = { cwd: folder, path };
  const node = process.execPath;
  check("No Rust is in reach", !run("cargo", ["--version"], where).ok);
  expect("An ES module finds every export", node, ["consumers/esm.mjs"], where);
  expect("A CommonJS program runs a Turn and ends", node, ["consumers/commonjs.cjs"], where);
  const tsc = join(folder, "node_modules/typescript/bin/tsc");
  if (!expect("Snippets and consumers compile under strict and nodenext", node, [tsc, "-p", "."], where))
    return;
  expect("A typed ES module runs", node, ["out/consumers/typed_esm.mjs"], where);
  expect("A typed CommonJS program runs", node, ["out/consumers/typed_commonjs.cjs"], where);
  for (const file of readdirSync(join(folder, "out/snippets")).sort()) {
    if (file === "support.js") continue;
    expect(`The snippet ${file.replace(".js", "")} runs`, node, [`out/snippets/${file}`], where);
  }
}

function main() {
  if (tarballs().length === 0) {
    const packed = spawnSync(process.execPath, ["scripts/pack.mjs"], { cwd: root, stdio: "inherit" });
    if (packed.status !== 0) process.exit(1);
  }
  say("Using the packed tarballs in an empty project");
  check("There are four tarballs", tarballs().length === 4, tarballs().join("\n"));
  check_contents(tarballs());
  const base = mkdtempSync(join(tmpdir(), "downcity-package-"));
  try {
    const path = bare_path(join(base, "bin"));
    const quiet = join(base, "without-scripts");
    if (project(quiet, path, ["--ignore-scripts"])) use(quiet, path);
    const open = join(base, "with-scripts");
    if (project(open, path, [])) {
      expect("It runs there as well", process.execPath, ["consumers/commonjs.cjs"], { cwd: open, path });
    }
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
  keep_result("package", outcome);
  process.exitCode = close([{ stage: "package", ...outcome }]);
}

main();
