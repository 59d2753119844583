/** Packages that describe schemas, as the user has installed them; this package depends on none. */
import { createRequire } from "node:module";
import { join } from "node:path";

/** Nothing where it is not installed. Looked for beside this package, then where the program was started. */
export function load_installed(name: string): { readonly [member: string]: unknown } | undefined {
  for (const from of [__filename, join(process.cwd(), "package.json")]) {
    try {
      return createRequire(from)(name) as { [member: string]: unknown };
    } catch (error) {
      if (!is_missing(error)) throw error;
    }
  }
  return undefined;
}

const MISSING = new Set(["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED"]);

function is_missing(error: unknown): boolean {
  return MISSING.has(String((error as { code?: unknown } | null)?.code));
}
