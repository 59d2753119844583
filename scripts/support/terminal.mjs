// Runs a program at a terminal of its own and types for it.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

const SCRIPT = "/usr/bin/script";

/** Whether this machine can make a terminal: `script` is of util-linux. */
export const has_terminal = existsSync(SCRIPT);

/**
 * `typed` is `[[what is waited for, what is typed then], …]`. Gives `{ code, said }`; `said` without the escapes that
 * move the cursor.
 */
export function at_terminal(command, typed, { env = process.env, cwd } = {}) {
  const sized = `stty cols 92 rows 50; exec ${command}`;
  const child = spawn(SCRIPT, ["-qfec", sized, "/dev/null"], { env: { ...env, TERM: "xterm" }, cwd });
  let said = "";
  let seen = 0;
  const left = [...typed];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    said += text;
    const [next] = left;
    const found = next === undefined ? -1 : said.indexOf(next[0], seen);
    if (found === -1) return;
    seen = found + next[0].length;
    left.shift();
    child.stdin.write(next[1]);
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, said: plain(said), left }));
  });
}

function plain(text) {
  const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, "g");
  return text.replace(escapes, "").replaceAll("\r\n", "\n").replaceAll("\r", "");
}
