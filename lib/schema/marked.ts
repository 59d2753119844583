/** What a library's converter could not say is marked where it stands, so that messages can name the place. */
import { SessionError } from "../errors.js";
import { fields_of } from "../fields.js";
import { path_segment } from "../json.js";

const MARK = "x-downcity-not-json";

/** Stands in a JSON Schema for what a model cannot send. */
export function marked(kind: string): { [keyword: string]: unknown } {
  return { [MARK]: kind };
}

/** Holds for no value: an `undefined` that only an absent property is. */
export const NEVER = { not: {} };

/** @throws SessionError `INVALID_INPUT` naming every marked place */
export function without_marks(schema: unknown, place: string): unknown {
  const problems = new Set<string>();
  look(schema, "", new Set(), (path, kind) => problems.add(`${place}${path} is ${kind}`));
  if (problems.size === 0) return schema;
  throw new SessionError("INVALID_INPUT", `${[...problems].join("; ")}. ${ADVICE}`);
}

export const ADVICE = "A model can only send what JSON can hold.";

type Report = (path: string, kind: string) => void;

function look(schema: unknown, path: string, seen: Set<unknown>, report: Report): void {
  if (typeof schema !== "object" || schema === null || seen.has(schema)) return;
  seen.add(schema);
  const fields = fields_of(schema);
  if (typeof fields[MARK] === "string") report(path, fields[MARK]);
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "properties") {
      for (const [name, property] of Object.entries(value))
        look(property, path + path_segment(name), seen, report);
    } else if (keyword === "definitions" || keyword === "$defs") {
      for (const definition of Object.values(value)) look(definition, path, seen, report);
    } else look(value, path + (STEPS[keyword] ?? ""), seen, report);
  }
}

/** Keywords that lead into the value; the others stay where they are. */
const STEPS: { readonly [keyword: string]: string | undefined } = {
  items: "[]",
  prefixItems: "[]",
  additionalItems: "[]",
  additionalProperties: "[key]",
  patternProperties: "[key]",
};
