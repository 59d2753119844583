/** What the checks of zod 3's strings and numbers say in a JSON Schema. zod itself judges them all. */
import { type Fields, fields_of } from "../fields.js";

type Described = { [keyword: string]: unknown };

const FORMATS: { readonly [kind: string]: string | undefined } = Object.assign(Object.create(null), {
  email: "email",
  url: "uri",
  uuid: "uuid",
  datetime: "date-time",
  date: "date",
  time: "time",
  duration: "duration",
});

export function string_schema(definition: Fields): Described {
  const described: Described = { type: "string" };
  const patterns: string[] = [];
  for (const check of checks_of(definition)) {
    const { kind, value } = check;
    if (kind === "min" || kind === "length") described.minLength = value;
    if (kind === "max" || kind === "length") described.maxLength = value;
    const format = FORMATS[String(kind)];
    if (format !== undefined) described.format = format;
    const pattern = pattern_of(check);
    if (pattern !== undefined) patterns.push(pattern);
  }
  if (patterns.length === 1) described.pattern = patterns[0];
  if (patterns.length > 1) described.allOf = patterns.map((pattern) => ({ pattern }));
  return described;
}

function pattern_of({ kind, value, regex }: Fields): string | undefined {
  if (kind === "startsWith") return `^${escaped(value)}`;
  if (kind === "endsWith") return `${escaped(value)}$`;
  if (kind === "includes") return escaped(value);
  const { source, flags } = fields_of(regex);
  // Other flags mean what a pattern in JSON Schema cannot say.
  const sayable = kind === "regex" && typeof source === "string" && /^[dguvy]*$/.test(String(flags));
  return sayable ? source : undefined;
}

function escaped(text: unknown): string {
  return String(text).replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&");
}

export function number_schema(definition: Fields): Described {
  const described: Described = { type: "number" };
  for (const { kind, value, inclusive } of checks_of(definition)) {
    if (kind === "int") described.type = "integer";
    if (kind === "multipleOf") described.multipleOf = value;
    // An infinite limit is none.
    if (!Number.isFinite(value)) continue;
    if (kind === "min") described[inclusive === false ? "exclusiveMinimum" : "minimum"] = value;
    if (kind === "max") described[inclusive === false ? "exclusiveMaximum" : "maximum"] = value;
  }
  return described;
}

function checks_of({ checks }: Fields): Fields[] {
  return Array.isArray(checks) ? checks.map(fields_of) : [];
}
