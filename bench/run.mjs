/**
 * `npm run bench`: every section on memory and on SQLite, each in fresh processes; medians as a table and as JSON.
 * `--only=fresh_sessions,…` and `--storage=memory|sqlite` narrow it down, `--runs=3` says how often.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { quantile } from "./quantile.mjs";
import { sections, with_storage } from "./sections.mjs";

const option = (name) => process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);

const MARK = "figures:";
const section = option("section");
if (section === undefined) measure_all();
else await measure_here(section, option("storage"));

async function measure_here(name, storage) {
  const figures = await with_storage(storage, sections[name]);
  process.stdout.write(`\n${MARK}${JSON.stringify(figures)}\n`);
  process.exit(0);
}

function measure_all() {
  const runs = Number(option("runs") ?? 3);
  const names = option("only")?.split(",") ?? Object.keys(sections);
  const stores = option("storage")?.split(",") ?? ["memory", "sqlite"];
  const results = [];
  for (const name of names) {
    for (const storage of stores) {
      process.stderr.write(`measuring ${name} on ${storage} …\n`);
      const rows = Array.from({ length: runs }, () => measure_once(name, storage));
      results.push({ section: name, storage, ...medians(rows) });
    }
  }
  const rows = results.flatMap(({ section, storage, ...figures }) =>
    Object.entries(figures).map(([figure, value]) => ({ section, storage, figure, value })),
  );
  console.table(rows);
  console.log(JSON.stringify({ node: process.version, runs, results }));
}

function measure_once(name, storage) {
  const script = fileURLToPath(import.meta.url);
  const words = ["--expose-gc", script, `--section=${name}`, `--storage=${storage}`];
  const child = spawnSync(process.execPath, words, { encoding: "utf8", maxBuffer: 1 << 28 });
  const line = child.stdout.split("\n").find((text) => text.startsWith(MARK));
  if (line === undefined) throw new Error(`${name} on ${storage} failed:\n${child.stderr}`);
  return JSON.parse(line.slice(MARK.length));
}

function medians(rows) {
  const figures = {};
  for (const name of Object.keys(rows[0])) {
    figures[name] = Number(
      quantile(
        rows.map((row) => row[name]),
        0.5,
      ).toPrecision(4),
    );
  }
  return figures;
}
