// Checks everything that is no test, and changes nothing.

import { build_lib } from "./build.mjs";
import { install } from "./support/install.mjs";
import { keep_result } from "./support/results.mjs";
import { attempt, bin, say } from "./support/run.mjs";

const CHECKS = [
  ["Rust is formatted", "cargo", ["fmt", "--check"]],
  [
    "Rust without the binding has no warnings",
    "cargo",
    ["clippy", "--no-default-features", "--all-targets", "--quiet", "--", "-D", "warnings"],
  ],
  ["Rust with the binding has no warnings", "cargo", ["clippy", "--quiet", "--", "-D", "warnings"]],
  ["TypeScript and JavaScript are linted and formatted", bin("biome"), ["check", "--error-on-warnings"]],
  ["The public types stand for themselves", bin("tsc"), ["-p", "tsconfig.types.json"]],
  ["What must and must not compile", bin("tsc"), ["-p", "tsconfig.test.json"]],
  ["Files, names and texts keep to the rules", process.execPath, ["scripts/check-tree.mjs"]],
];

install();
build_lib();
let failed = 0;
for (const [what, command, args] of CHECKS) {
  say(what);
  if (!attempt(command, args)) {
    failed += 1;
    process.stderr.write(`Not so: ${what}\n`);
  }
}
keep_result("verify", { passed: CHECKS.length - failed, failed });
process.stdout.write(`\n${CHECKS.length - failed} of ${CHECKS.length} checks hold\n`);
process.exitCode = failed > 0 ? 1 : 0;
