/** What is wrong with arguments, told so that a model can mend them. */
import { message_of } from "../errors.js";
import { path_segment } from "../json.js";
import type { SchemaIssue } from "../schema/schema.js";

/** How many issues the model is told. */
const MAX_ISSUES = 20;

/** Names the tool, and each place with the kind of what is there. */
export function judged_problems(
  call: { tool_name: string; input: unknown },
  issues: readonly SchemaIssue[],
): string {
  const lines = issues.slice(0, MAX_ISSUES).map(({ path, message }) => {
    const place = path.map(path_segment).join("").replace(/^\./, "") || "the arguments";
    return `- ${place} (${kind_at(call.input, path)}): ${message}`;
  });
  if (issues.length > MAX_ISSUES) lines.push(`- and ${issues.length - MAX_ISSUES} more`);
  return message_of(
    `The arguments of ${JSON.stringify(call.tool_name)} do not fit its schema. Correct them and call it again:\n${lines.join("\n")}`,
  );
}

/** The input is JSON, so that nothing of the user's is run here. */
function kind_at(input: unknown, path: readonly (string | number)[]): string {
  let value = input;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return "missing";
    value = (value as { [key: PropertyKey]: unknown })[key];
  }
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
