import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "vitest";

interface Suite {
  define(test: (name: string, work: () => Promise<void>) => void): void;
}

// The same suite runs under Jest, where every file has a realm of its own.
const require = createRequire(join(process.cwd(), "__test__", "cases", "realms.spec.ts"));
(require("./realms.cjs") as Suite).define(test);
