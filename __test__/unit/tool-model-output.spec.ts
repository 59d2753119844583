import { describe, expect, it } from "vitest";
import type { ContentItem, ModelOutput } from "../../lib/tools/model-output.js";
import { model_output_for } from "../../lib/tools/model-output-for.js";

const IMAGE: ContentItem = { type: "file", media_type: "image/png", data: "AA==" };
const FILE: ContentItem = { type: "file", media_type: "text/csv", data: "AA==", filename: "a.csv" };
const LINK: ContentItem = { type: "file", media_type: "image/*", url: "https://example.com/a.png" };
const KEPT: ContentItem = { type: "file", media_type: "image/*", reference: "file_1" };
const TEXT: ContentItem = { type: "text", text: "hello", provider_options: { own: { a: 1 } } };
const OWN: ContentItem = { type: "custom", provider_options: { own: { b: 2 } } };

const content = (...items: ContentItem[]): ModelOutput => ({ type: "content", content: items });

describe("content, as each specification has it", () => {
  const all = content(TEXT, IMAGE, FILE, LINK, KEPT, OWN);

  it("v2 knows texts and data", () => {
    expect(model_output_for(all, "v2", 1000)).toEqual({
      type: "content",
      value: [
        { type: "text", text: "hello" },
        { type: "media", data: "AA==", mediaType: "image/png" },
        { type: "media", data: "AA==", mediaType: "text/csv" },
        { type: "text", text: "[A file of type image/*: https://example.com/a.png]" },
        { type: "text", text: "[A file of type image/*: kept by the provider]" },
      ],
    });
  });

  it("v3 has a type for each", () => {
    expect(model_output_for(all, "v3", 1000)).toEqual({
      type: "content",
      value: [
        { type: "text", text: "hello", providerOptions: { own: { a: 1 } } },
        { type: "image-data", data: "AA==", mediaType: "image/png" },
        { type: "file-data", data: "AA==", mediaType: "text/csv", filename: "a.csv" },
        { type: "image-url", url: "https://example.com/a.png" },
        { type: "image-file-id", fileId: "file_1" },
        { type: "custom", providerOptions: { own: { b: 2 } } },
      ],
    });
  });

  it("v4 has one for all", () => {
    expect(model_output_for(all, "v4", 1000)).toEqual({
      type: "content",
      value: [
        { type: "text", text: "hello", providerOptions: { own: { a: 1 } } },
        { type: "file", mediaType: "image/png", data: { type: "data", data: "AA==" } },
        { type: "file", mediaType: "text/csv", data: { type: "data", data: "AA==" }, filename: "a.csv" },
        {
          type: "file",
          mediaType: "image/*",
          data: { type: "url", url: new URL("https://example.com/a.png") },
        },
        { type: "file", mediaType: "image/*", data: { type: "reference", reference: "file_1" } },
        { type: "custom", providerOptions: { own: { b: 2 } } },
      ],
    });
  });
});

describe("the limit", () => {
  it("is one for all texts of a result, and files are whole", () => {
    const long: ContentItem = { type: "text", text: "x".repeat(20) };
    const cut = model_output_for(content(long, IMAGE, long), "v3", 25) as {
      value: { text?: string; data?: string }[];
    };
    expect(cut.value[0]?.text).toBe("x".repeat(20));
    expect(cut.value[1]?.data).toBe("AA==");
    expect(cut.value[2]?.text).toBe("xxxxx\n[15 of 20 characters were left out here]");
  });

  it.each<[ModelOutput, unknown]>([
    [
      { type: "text", text: "abcdef" },
      { type: "text", value: "ab\n[4 of 6 characters were left out here]" },
    ],
    [
      { type: "error-text", text: "abcdef" },
      { type: "error-text", value: "ab\n[4 of 6 characters were left out here]" },
    ],
    [
      { type: "json", value: [1, 2] },
      { type: "text", value: "[1\n[3 of 5 characters were left out here]" },
    ],
    [
      { type: "error-json", value: [1, 2] },
      { type: "error-text", value: "[1\n[3 of 5 characters were left out here]" },
    ],
    [
      { type: "json", value: 1 },
      { type: "json", value: 1 },
    ],
  ])("cuts %j", (kept, expected) => {
    expect(model_output_for(kept, "v3", 2)).toEqual(expected);
  });
});

it("is never empty, as several providers refuse that", () => {
  const empty = { type: "text", value: "(empty result)" };
  expect(model_output_for({ type: "text", text: " " }, "v3", 9)).toEqual(empty);
  expect(model_output_for(content(), "v3", 9)).toEqual(empty);
  expect(model_output_for(content({ type: "text", text: "" }), "v4", 9)).toEqual(empty);
});

it("a denial has the form of its specification", () => {
  expect(model_output_for({ type: "denied", reason: "no" }, "v2", 99)).toEqual({
    type: "error-text",
    value: "no",
  });
  expect(model_output_for({ type: "denied" }, "v3", 99)).toEqual({
    type: "execution-denied",
    reason: "The call was denied, so it was not executed.",
  });
});
