/** Patterns for the native engine: the same strings match, by an engine that both sides agree on. */
import { describe, expect, it } from "vitest";
import { native_schema } from "../../lib/schema/native.js";
import { native_pattern } from "../../lib/schema/pattern.js";
import { PATTERNS, SAMPLES } from "../support/patterns.js";

describe("a translated pattern is ECMAScript of the same meaning", () => {
  it.each(PATTERNS)("%s", (pattern) => {
    const translated = new RegExp(native_pattern(pattern), "u");
    const original = new RegExp(pattern, is_unicode(pattern) ? "u" : "");
    for (const sample of SAMPLES) {
      expect([sample, translated.test(sample)]).toEqual([sample, original.test(sample)]);
    }
  });
});

function is_unicode(pattern: string): boolean {
  try {
    return Boolean(new RegExp(pattern, "u"));
  } catch {
    return false;
  }
}

it.each(["^[a-z]+$", "a|b", "^\\d{4}-\\d{2}$", "\\p{L}+", "^\\S+@\\S+$"])("%s stays as it is", (pattern) => {
  expect(native_pattern(pattern)).toBe(pattern);
});

it("what no translation has is left to the core to judge", () => {
  expect(native_pattern("^[\\p{L}--[a-z]]$")).toBe("^[\\p{L}--[a-z]]$");
  expect(() => native_pattern("(")).toThrow(SyntaxError);
});

it("only patterns change, in the places where schemas are", () => {
  const data = { pattern: "(?!x)\\w" };
  const changed = { pattern: "(?!x)[0-9A-Za-z_]" };
  const schema = {
    properties: { pattern: data, properties: { items: [data], anyOf: [{ not: data }] } },
    patternProperties: { "(?!x)\\w": data },
    $defs: { pattern: data },
    const: data,
    enum: [data],
    default: data,
    examples: [data],
    additionalProperties: data,
  };
  expect(native_schema(schema, "input_schema")).toEqual({
    ...schema,
    properties: { pattern: changed, properties: { items: [changed], anyOf: [{ not: changed }] } },
    patternProperties: { "(?!x)[0-9A-Za-z_]": changed },
    $defs: { pattern: changed },
    additionalProperties: changed,
  });
  expect(() => native_schema({ items: { patternProperties: { "(": {} } } }, "input_schema")).toThrow(
    /^input_schema\.items\.patternProperties\["\("\] is "\(", which is no regular expression/,
  );
});
