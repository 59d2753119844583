// The whole suite: the Rust side, then JavaScript through the public API in three runners, one of them on Node 24 too.
//   node scripts/test.mjs [rust|simulate|vitest|pools|jest|node|node24 ...]   only those
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { build } from "./build.mjs";
import { bring_chromium } from "./support/chromium.mjs";
import { install } from "./support/install.mjs";
import { close, keep_result } from "./support/results.mjs";
import { bin, root, say } from "./support/run.mjs";

const REPORTS = `${root}artifacts/reports`;

/** One runner that hangs must not hold up the others for ever. */
const LIMIT_MS = 25 * 60_000;

/** Runs a program, showing its output and giving it back. */
function run(command, args, more_env = {}) {
  return new Promise((resolve) => {
    // A group of its own, so that whatever it has started ends with it.
    const env = { ...process.env, ...more_env };
    const options = { cwd: root, env, stdio: ["ignore", "pipe", "inherit"], detached: true };
    const child = spawn(command, args, options);
    const end = () => process.kill(-child.pid, "SIGKILL");
    const interrupt = () => {
      end();
      process.exit(130);
    };
    const limit = setTimeout(() => {
      process.stderr.write(`\n${command} was ended: it took more than ${LIMIT_MS / 60_000} minutes\n`);
      end();
    }, LIMIT_MS);
    process.on("SIGINT", interrupt);
    const settle = (ok) => {
      clearTimeout(limit);
      process.off("SIGINT", interrupt);
      resolve({ ok, output });
    };
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
      process.stdout.write(text);
    });
    child.on("error", (error) => {
      process.stderr.write(`${command}: ${error.message}\n`);
      settle(false);
    });
    child.on("close", (code) => settle(code === 0));
  });
}

/** A runner that failed without a failed test (it could not start, or broke off) counts as one failure. */
function judged({ ok }, passed, failed) {
  return { passed, failed: failed === 0 && !ok ? 1 : failed };
}

function sum_of(output, pattern) {
  const found = [...output.matchAll(pattern)];
  return found.reduce((all, match) => all + Number(match[1]), 0);
}

function report(name) {
  try {
    return JSON.parse(readFileSync(`${REPORTS}/${name}`, "utf8"));
  } catch {
    return {};
  }
}

async function rust() {
  const done = await run("cargo", ["test", "--no-default-features", "--no-fail-fast"]);
  const passed = sum_of(done.output, /^test result: .*? (\d+) passed;/gm);
  const failed = sum_of(done.output, /^test result: .*? (\d+) failed;/gm);
  return judged(done, passed, failed);
}

/** 2,000 seeds of the simulation; each that holds counts as one. */
async function simulate() {
  const done = await run(process.execPath, ["scripts/simulate.mjs"]);
  const seeds = sum_of(done.output, /^(\d+) seeds from \d+ on:/gm);
  const failed = sum_of(done.output, /(\d+) seeds fail$/gm);
  return judged(done, seeds - failed, failed);
}

/** vitest and jest write the same kind of report. */
function of_report(done, { numPassedTests = 0, numFailedTests = 0, testResults = [] }) {
  const unloadable = testResults.filter(
    (file) =>
      file.status === "failed" && !(file.assertionResults ?? []).some((test) => test.status === "failed"),
  );
  return judged(done, numPassedTests, numFailedTests + unloadable.length);
}

async function vitest() {
  const chromium = bring_chromium();
  const args = ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${REPORTS}/vitest.json`];
  const env = chromium === undefined ? {} : { CHROMIUM: chromium };
  return of_report(await run(bin("vitest"), args, env), report("vitest.json"));
}

/** Values of other realms, where Vitest gives a test a thread, or a realm, of its own. */
async function pools() {
  const counts = { passed: 0, failed: 0 };
  for (const pool of ["threads", "vmThreads"]) {
    const file = `vitest-${pool}.json`;
    const reports = ["--reporter=default", "--reporter=json", `--outputFile.json=${REPORTS}/${file}`];
    const args = ["run", "__test__/cases/realms.spec.ts", `--pool=${pool}`, ...reports];
    const { passed, failed } = of_report(await run(bin("vitest"), args), report(file));
    counts.passed += passed;
    counts.failed += failed;
  }
  return counts;
}

async function jest() {
  const args = ["--ci", "--json", `--outputFile=${REPORTS}/jest.json`];
  const done = await run(bin("jest"), args);
  return of_report(done, report("jest.json"));
}

async function node() {
  const args = ["--test", "--test-reporter=spec", "--test-reporter-destination=stdout"];
  const tap = [`--test-reporter=tap`, `--test-reporter-destination=${REPORTS}/node.tap`];
  const done = await run(process.execPath, [
    ...args,
    ...tap,
    "__test__/runners/smoke.node.mjs",
    "__test__/node/realms.node.mjs",
  ]);
  const text = readFileSync(`${REPORTS}/node.tap`, { encoding: "utf8", flag: "a+" });
  return judged(done, sum_of(text, /^# pass (\d+)/gm), sum_of(text, /^# fail (\d+)/gm));
}

/** AI SDK 7, its client, its tools and its models of specification v4, which want a newer Node than the project does. */
async function node24() {
  install("__test__/node24/");
  const own = `${root}__test__/node24/node_modules/node-${process.platform}-${process.arch}/bin/node`;
  const program = existsSync(own) ? own : process.execPath;
  const reports = ["--reporter=default", "--reporter=json", `--outputFile.json=${REPORTS}/node24.json`];
  // The tests whose names tell the line they are for.
  const named = "'v4'|of v[34] in a wrapper|AI SDK 7";
  const files = ["__test__/providers", "__test__/ui", "__test__/behaviour/tools_ai_sdk.spec.ts"];
  const chosen = ["run", ...files, "-t", named];
  const vitest_program = `${root}node_modules/vitest/vitest.mjs`;
  const done = await run(program, [vitest_program, ...chosen, ...reports], { MODEL_LINE: "v4" });
  return of_report(done, report("node24.json"));
}

const RUNNERS = { rust, simulate, vitest, pools, jest, node, node24 };

async function main(names) {
  const unknown = names.find((name) => !(name in RUNNERS));
  if (unknown) throw new Error(`There is no runner ${unknown}: ${Object.keys(RUNNERS).join(", ")}`);
  mkdirSync(REPORTS, { recursive: true });
  install();
  build();
  const results = [];
  for (const name of names.length > 0 ? names : Object.keys(RUNNERS)) {
    say(`Tests: ${name}`);
    const counts = await RUNNERS[name]();
    keep_result(`test-${name}`, counts);
    results.push({ stage: name, ...counts });
  }
  process.exitCode = close(results);
}

await main(process.argv.slice(2));
