// Makes every tarball as it would be published, in artifacts/.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { build, HELPER } from "./build.mjs";
import { install } from "./support/install.mjs";
import { must, root, say } from "./support/run.mjs";

const OUT = `${root}artifacts`;
const STAGE = `${OUT}/stage`;
const PLATFORM = "@downcity/agent-linux-x64-gnu";
const BINARY = "agent.linux-x64-gnu.node";

const read_manifest = (folder) => JSON.parse(readFileSync(`${root}${folder}/package.json`, "utf8"));

/** Lays out a package in a folder of its own, as nothing that only the repository needs may be published. */
function stage(manifest, copies) {
  const target = `${STAGE}/${manifest.name.split("/").at(-1)}`;
  mkdirSync(target, { recursive: true });
  for (const [from, to] of copies) cpSync(`${root}${from}`, `${target}/${to}`, { recursive: true });
  writeFileSync(`${target}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
  must("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", OUT], { cwd: target });
}

function stage_root() {
  const { workspaces, scripts, devDependencies, napi, ...manifest } = read_manifest(".");
  manifest.optionalDependencies = { [PLATFORM]: manifest.version };
  const present = new Set(readdirSync(root));
  const copies = manifest.files.filter((path) => present.has(path.split("/")[0])).map((path) => [path, path]);
  stage(manifest, copies);
}

function stage_thin(folder) {
  const manifest = read_manifest(folder);
  manifest.dependencies["@downcity/agent"] = manifest.version;
  stage(
    manifest,
    manifest.files.map((path) => [`${folder}/${path}`, path]),
  );
}

function stage_platform() {
  const folder = "npm/linux-x64-gnu";
  stage(read_manifest(folder), [
    [`native/${BINARY}`, BINARY],
    [`native/${HELPER}`, HELPER],
    [`${folder}/README.md`, "README.md"],
  ]);
}

install();
build({ release: true });
rmSync(STAGE, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
for (const name of readdirSync(OUT)) if (name.endsWith(".tgz")) rmSync(`${OUT}/${name}`);
say("Packing");
stage_root();
stage_platform();
stage_thin("packages/type");
stage_thin("packages/city");
for (const name of readdirSync(OUT)) if (name.endsWith(".tgz")) process.stdout.write(`artifacts/${name}\n`);
