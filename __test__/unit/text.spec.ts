import { describe, expect, it } from "vitest";
import { cut, SurrogateJoiner, well_formed } from "../../lib/json.js";

// This project's declared library is older than the method.
const is_well_formed = (text: string): boolean =>
  (text as unknown as { isWellFormed(): boolean }).isWellFormed();

describe("well_formed", () => {
  it("replaces only lone surrogates", () => {
    expect(well_formed("a\ud83c b\udf89 \u{1f389}")).toBe("a\ufffd b\ufffd \u{1f389}");
  });
});

describe("cut", () => {
  it("leaves a text alone that fits", () => {
    expect(cut("abc", 3)).toBe("abc");
  });

  it("says how much was left out and never splits an emoji, wherever the limit falls", () => {
    const text = "\u{1f389}".repeat(30);
    for (let max = 0; max < 20; max += 1) {
      const short = cut(text, max);
      expect(is_well_formed(short)).toBe(true);
      const kept = max - (max % 2);
      expect(short).toBe(`${text.slice(0, kept)}\n[${60 - kept} of 60 characters were left out here]`);
    }
  });
});

describe("SurrogateJoiner", () => {
  it("joins a pair that was split over two deltas", () => {
    const joiner = new SurrogateJoiner();
    expect(joiner.push("a\ud83c")).toBe("a");
    expect(joiner.push("")).toBe("");
    expect(joiner.push("\udf89b")).toBe("\u{1f389}b");
    expect(joiner.end()).toBe("");
  });

  it("gives every split of a text back whole", () => {
    const text = "x\u{1f389}y\u{1f600}\u{1f600}z";
    for (let at = 0; at <= text.length; at += 1) {
      const joiner = new SurrogateJoiner();
      const pieces = [joiner.push(text.slice(0, at)), joiner.push(text.slice(at)), joiner.end()];
      expect(pieces.every(is_well_formed)).toBe(true);
      expect(pieces.join("")).toBe(text);
    }
  });

  it("replaces a half that never gets its other half", () => {
    const joiner = new SurrogateJoiner();
    expect(joiner.push("\ud83c")).toBe("");
    expect(joiner.push("\ud83cx")).toBe("\ufffd\ufffdx");
    expect(joiner.push("\udf89\ud83c")).toBe("\ufffd");
    expect(joiner.end()).toBe("\ufffd");
  });
});
