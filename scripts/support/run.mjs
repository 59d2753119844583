// Running other programs from the scripts, with what they do shown as it happens.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export function say(text) {
  process.stdout.write(`\n> ${text}\n`);
}

/** Runs a program to its end and returns whether it succeeded. */
export function attempt(command, args, options = {}) {
  const done = spawnSync(command, args, { cwd: root, stdio: "inherit", ...options });
  if (done.error) process.stderr.write(`${command}: ${done.error.message}\n`);
  return done.status === 0;
}

/** The same where nothing can go on without it. */
export function must(command, args, options) {
  if (attempt(command, args, options)) return;
  process.stderr.write(`\n${command} ${args.join(" ")} failed.\n`);
  process.exit(1);
}

/** Runs a program of the installed packages. */
export function bin(name) {
  return `${root}node_modules/.bin/${name}`;
}
