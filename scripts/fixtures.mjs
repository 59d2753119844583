// Writes the small databases that later versions have to open (__test__/fixtures), as this version writes them.
// Run once for each version, before it is released; what stands there is never written again.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { build } from "./build.mjs";
import { install } from "./support/install.mjs";
import { root, say } from "./support/run.mjs";

const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const LIMIT = 200 * 1024;

async function main() {
  const folder = `${root}__test__/fixtures/${version}`;
  if (existsSync(folder) && !process.argv.includes("--force")) {
    throw new Error(`${folder} is there. Pass --force if this version was never released.`);
  }
  install();
  build();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { SCENES } = await import("../__test__/fixtures/scenes.mjs");
  for (const [name, scene] of Object.entries(SCENES)) {
    const file = `${folder}/${name}.db`;
    await scene(file);
    if (existsSync(`${file}-wal`)) throw new Error(`${name}: its log was not written back`);
    const { size } = statSync(file);
    if (size > LIMIT) throw new Error(`${name} has ${size} bytes`);
    say(`${name}.db: ${size} bytes`);
  }
}

await main();
