// The demo's Workspace: a temporary folder with real files.
import { mkdtempSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const NOTES = {
  "budget.md": `# Budget

- Trains: 180
- Two nights in Ghent: 240
- Food and coffee: 150
`,
  "packing.md": `# Packing

- Rain jacket
- Phone charger
- The good walking shoes
`,
  "route.md": `# Route

- Friday: morning train, arrive at noon
- Saturday: the castle, then the canals
- Sunday: market, train home at five
`,
  "route-old.md": `# Route

- Friday: by car, probably
- Saturday: ?
`,
};

/** Makes the folder and gives its path. */
export function make_workspace() {
  const path = mkdtempSync(join(tmpdir(), "downcity-demo-"));
  write_notes(path);
  return path;
}

/** The notes an agent is to work on, in a folder that exists. */
export function write_notes(path) {
  for (const [name, text] of Object.entries(NOTES)) writeFileSync(join(path, name), text);
}

/** `{ name, bytes }` of each file, by name. What starts with a dot is the program's, not the user's. */
export function files_in(path) {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
    .map((entry) => ({ name: entry.name, bytes: statSync(join(path, entry.name)).size }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}
