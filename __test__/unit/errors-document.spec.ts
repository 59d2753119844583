import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const document = readFileSync("docs/errors.md", "utf8");
const contract = readFileSync("index.d.ts", "utf8");
const union = /type SessionErrorCode =([^;]+);/.exec(contract)?.[1] ?? "";
const codes = [...union.matchAll(/"([A-Z_]+)"/g)].map(([, code]) => code);

it("every code has a section that says when, why and what to do", () => {
  expect(codes.length).toBeGreaterThan(20);
  for (const code of codes) {
    const section = document.split(`\n### \`${code}\`\n`)[1]?.split("\n#")[0] ?? "";
    for (const heading of ["When", "Why", "What to do"]) {
      expect([code, section]).toEqual([code, expect.stringContaining(`- **${heading}:** `)]);
    }
  }
});
