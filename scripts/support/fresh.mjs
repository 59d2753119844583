// Whether something that was built is newer than everything it was built from.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

function newest(path) {
  const stat = statSync(join(root, path), { throwIfNoEntry: false });
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  const inside = readdirSync(join(root, path)).map((name) => newest(join(path, name)));
  return Math.max(stat.mtimeMs, ...inside);
}

export function is_fresh(product, sources) {
  const built = statSync(join(root, product), { throwIfNoEntry: false });
  return built !== undefined && sources.every((source) => newest(source) <= built.mtimeMs);
}
