// Brings the packages the scripts need, so that a bare clone needs no step by hand.
import { readFileSync } from "node:fs";
import { must, root, say } from "./run.mjs";

function read(path) {
  try {
    return JSON.parse(readFileSync(root + path, "utf8"));
  } catch {
    return null;
  }
}

/** npm leaves a copy of the lock file in node_modules: whether that is the one of this tree tells all. */
function is_current(folder) {
  const wanted = read(`${folder}package-lock.json`)?.packages ?? {};
  const installed = read(`${folder}node_modules/.package-lock.json`)?.packages;
  if (!installed) return false;
  const differs = ([path, entry]) => {
    if (path === "" || !path.startsWith("node_modules/") || entry.link) return false;
    const have = installed[path];
    return have ? have.version !== entry.version : !entry.optional;
  };
  return !Object.entries(wanted).some(differs);
}

/** @param folder below the root, with a slash at its end */
export function install(folder = "") {
  if (is_current(folder)) return;
  say(`Installing the packages of ${folder}package-lock.json`);
  must("npm", ["ci", "--no-audit", "--no-fund"], { cwd: root + folder });
}
