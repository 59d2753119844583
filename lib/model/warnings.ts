/** What a model warns about: a setting or tool it does not support, content it left out. */
import { createHash } from "node:crypto";
import { type Fields, fields_of } from "../fields.js";
import { well_formed } from "../json.js";

/** Said already, by digest: a model repeats its warnings with every request, and one may quote a whole part. */
const said = new Set<string>();
const MOST_SAID = 1000;
const LONGEST = 1000;

/**
 * Each becomes a process warning of type `ModelWarning`, once per model and wording. A Session's history has no place
 * for them: they are for whoever chose the model and its settings.
 */
export function report_warnings(warnings: unknown, label = "unknown"): void {
  if (!Array.isArray(warnings)) return;
  for (const warning of warnings as unknown[]) {
    try {
      report(`The model ${label} warns: ${text_of(fields_of(warning))}`);
    } catch {
      // A warning that cannot be read warns of nothing.
    }
  }
}

function report(message: string): void {
  const digest = createHash("sha256").update(message).digest("base64");
  if (said.has(digest) || said.size >= MOST_SAID) return;
  said.add(digest);
  process.emitWarning(well_formed(message.slice(0, LONGEST)), { type: "ModelWarning" });
}

/** v2 names a setting or a tool, v3 and v4 a feature; all may have words. */
function text_of(warning: Fields): string {
  const { type, setting, feature, tool, details, message } = warning;
  const subject = [setting, feature, fields_of(tool).name].find((name) => typeof name === "string");
  const words = [details, message].find((text) => typeof text === "string" && text !== "");
  return [String(type ?? "other"), subject, words].filter((part) => part !== undefined).join(": ");
}
