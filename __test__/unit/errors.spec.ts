import { describe, expect, it } from "vitest";
import { abort_error, message_of, SessionError, session_error_from } from "../../lib/errors.js";

describe("SessionError", () => {
  it("is an Error with name, code, message and stack", () => {
    const error = session_error_from({ code: "SESSION_BUSY", message: "It runs." });
    expect(error).toBeInstanceOf(SessionError);
    expect(error).toBeInstanceOf(Error);
    expect({ name: error.name, code: error.code, message: error.message }).toEqual({
      name: "SessionError",
      code: "SESSION_BUSY",
      message: "It runs.",
    });
    expect(error.stack).toContain("errors.spec.ts");
    expect(Object.keys(error)).toEqual(["code"]);
  });

  it("carries what the envelope has", () => {
    const issues = [{ path: "payload.answers[0]", message: "is missing" }];
    expect(session_error_from({ code: "INVALID_RESPONSE", message: "No.", issues }).issues).toEqual(issues);
  });

  it("keeps its cause", () => {
    const cause = new Error("why");
    expect(new SessionError("MODEL_INVALID", "No.", { cause }).cause).toBe(cause);
  });
});

describe("abort_error", () => {
  it("is an Error named AbortError", () => {
    const error = abort_error("stopped");
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.message]).toEqual(["AbortError", "stopped"]);
  });
});

describe("message_of", () => {
  it.each<[string, unknown, string]>([
    ["an Error", new TypeError("no"), "no"],
    ["an Error without message", new TypeError(""), "TypeError"],
    ["a string", "no", "no"],
    ["an empty string", "", "an empty string was thrown"],
    ["undefined", undefined, "undefined was thrown"],
    ["null", null, "null was thrown"],
    ["a number", 7, "7 was thrown"],
    ["a bigint", 7n, "7 was thrown"],
    ["a symbol", Symbol("s"), "Symbol(s) was thrown"],
    ["a function", () => 1, "a function was thrown"],
    ["an object", { a: 1 }, '{"a":1} was thrown'],
    ["an object with a message", { message: "no" }, "no"],
    ["half an emoji", new Error("a\ud83c"), "a\ufffd"],
    [
      "a hostile object",
      {
        get message() {
          throw new Error("x");
        },
      },
      "a value that cannot be read was thrown",
    ],
  ])("of %s", (_name, thrown, expected) => {
    expect(message_of(thrown)).toBe(expected);
  });

  it("is cut where it is endless", () => {
    expect(message_of("x".repeat(100_000))).toMatch(
      /^x{16384}\n\[83616 of 100000 characters were left out here\]$/,
    );
  });
});
