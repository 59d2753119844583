// Builds what the package needs to run: the native binding and the compiled lib. Quick when nothing changed.
//   --release   the binding as it is packed
import { copyFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { is_fresh } from "./support/fresh.mjs";
import { bin, must, root, say } from "./support/run.mjs";
import { write_wrappers } from "./support/wrappers.mjs";

const NATIVE_SOURCES = ["src", "Cargo.toml", "Cargo.lock", "build.rs"];
const LIB_SOURCES = ["lib", "index.d.ts", "types", "tsconfig.json", "scripts/support/wrappers.mjs"];

/** The program that runs the Shell's commands, as it is named beside the binding. */
export const HELPER = "downcity-shell";

/** Under a new inode: the one that is replaced may be running. */
function put_helper(built) {
  const folder = process.env.CARGO_TARGET_DIR;
  const from = folder ? `${folder}/${built.slice("target/".length)}` : `${root}${built}`;
  copyFileSync(from, `${root}native/.${HELPER}`);
  renameSync(`${root}native/.${HELPER}`, `${root}native/${HELPER}`);
}

export function build_native(release) {
  const stamp = `native/.${release ? "release" : "debug"}`;
  // For work in the repository either will do.
  const fitting = release ? [stamp] : ["native/.release", stamp];
  if (fitting.some((built) => is_fresh(built, NATIVE_SOURCES))) return;
  say(`Building the native binding (${release ? "release" : "debug"}; the first time takes a few minutes)`);
  const names = ["--js", "binding.cjs", "--dts", "binding.d.ts", "-o", "native"];
  const profile = release ? ["--release"] : [];
  must(bin("napi"), ["build", "--platform", ...names, ...profile]);
  must("cargo", ["build", "--bin", HELPER, ...profile]);
  put_helper(`target/${release ? "release" : "debug"}/${HELPER}`);
  for (const other of ["release", "debug"]) rmSync(`${root}native/.${other}`, { force: true });
  touch(stamp);
}

export function build_lib() {
  if (is_fresh("dist/.built", LIB_SOURCES)) return;
  say("Compiling lib");
  // Aside, so that whoever uses dist meanwhile never finds half of it.
  const aside = `${root}artifacts/dist-${process.pid}`;
  must(bin("tsc"), ["-p", "tsconfig.json", "--outDir", aside]);
  write_wrappers(aside);
  writeFileSync(`${aside}/.built`, "");
  rmSync(`${root}dist`, { recursive: true, force: true });
  renameSync(aside, `${root}dist`);
}

function touch(path) {
  writeFileSync(root + path, "");
  const now = new Date();
  utimesSync(root + path, now, now);
}

export function build({ release = false } = {}) {
  build_native(release);
  build_lib();
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  build({ release: process.argv.includes("--release") });
}
