/** Another program that has a SQLite file for itself. */
import { spawn } from "node:child_process";
import { onTestFinished } from "vitest";

const PROGRAM = `
import sqlite3, sys, time
d = sqlite3.connect(sys.argv[1], isolation_level=None)
d.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
time.sleep(float(sys.argv[2]))
d.execute("ROLLBACK")`;

/**
 * Resolves when the file is locked, with what lets it go: at once, or so many seconds after it was called. That
 * resolves when the program has ended.
 */
export async function lock(file: string, seconds = 0): Promise<() => Promise<void>> {
  const child = spawn("python3", ["-c", PROGRAM, file, String(seconds)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  await new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
  return () => {
    child.stdin.end();
    return ended;
  };
}
