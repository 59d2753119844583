import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const document = readFileSync("docs/errors.md", "utf8");
const codes = [...readFileSync("lib/errors.ts", "utf8").matchAll(/^ {2}\| "([A-Z_]+)"/gm)].map(
  ([, code]) => code,
);

it("every code has a section that says when, why and what to do", () => {
  expect(codes.length).toBeGreaterThan(20);
  for (const code of codes) {
    const section = document.split(`\n### \`${code}\`\n`)[1]?.split("\n#")[0] ?? "";
    for (const heading of ["When", "Why", "What to do"]) {
      expect([code, section]).toEqual([code, expect.stringContaining(`- **${heading}:** `)]);
    }
  }
});
