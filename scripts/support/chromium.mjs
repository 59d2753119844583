// Finds Chromium for the tests of the page. Where there is none, Debian's package is installed, if that is allowed.
import { existsSync } from "node:fs";
import { attempt, say } from "./run.mjs";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The program's path, or undefined. */
export function find_chromium() {
  return [process.env.CHROMIUM, ...PLACES].find((path) => path !== undefined && existsSync(path));
}

/** The same; a process of root brings it. */
export function bring_chromium() {
  if (find_chromium() === undefined && process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    say("Installing Chromium for the tests of the approval inbox");
    const quiet = ["-o", "Dpkg::Use-Pty=0", "-qq"];
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const install = () =>
      attempt("apt-get", [...quiet, "install", "-y", "--no-install-recommends", "chromium"], { env });
    if (!install() && attempt("apt-get", [...quiet, "update"], { env })) install();
  }
  const found = find_chromium();
  if (found === undefined) {
    process.stderr.write("\nNO CHROMIUM: the approval inbox is NOT tested in a browser here.\n");
    process.stderr.write("Install it, or name it in the environment variable CHROMIUM.\n\n");
  }
  return found;
}
