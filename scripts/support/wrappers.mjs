// The ES module side of each entry point: it re-exports the one CommonJS implementation, so that both kinds of
// consumer get the same classes. Written by name, as Node does not see every CommonJS export by itself.

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Entry point in the compiled folder, and where its types are seen from there. */
const ENTRIES = [
  { entry: "index", types: "../index.js" },
  { entry: "tools/index", types: "./index.js" },
  { entry: "ai-sdk/index", types: "./index.js" },
  { entry: "testing/index", types: "./index.js" },
];

export function write_wrappers(folder) {
  for (const { entry, types } of ENTRIES) {
    const names = Object.keys(require(`${folder}/${entry}.js`)).sort();
    const list = names.map((name) => `export const ${name} = implementation.${name};\n`).join("");
    const from = `./${entry.split("/").at(-1)}.js`;
    writeFileSync(`${folder}/${entry}.mjs`, `import implementation from "${from}";\n\n${list}`);
    writeFileSync(`${folder}/${entry}.d.mts`, `export * from "${types}";\n`);
  }
}
