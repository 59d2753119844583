import { describe, expect, it } from "vitest";
import { AskQuestionsTool } from "../../lib/tools/index.js";
import { ToolRegistry } from "../../lib/tools/registry.js";
import type { ToolContext } from "../../types/tool.js";

/** A person who answers each question through `answer`, which gets what was asked. */
function asked(answer: (request: { payload: { questions: object[] } }) => object) {
  const requests: unknown[] = [];
  const request = async (given: { payload: { questions: object[] } }) => {
    requests.push(given);
    const questions = given.payload.questions.map((question, index) => ({
      question_id: `question:${index}`,
      ...question,
    }));
    const interaction = { ...given, payload: { questions }, response: answer(given) };
    return { interaction_id: "interaction:1", result: Promise.resolve(interaction) };
  };
  const context = {
    turn_id: "turn:1",
    tool_call_id: "call:1",
    interactions: { request },
  } as unknown as ToolContext;
  return { requests, context };
}

const region = {
  question: "Which region?",
  type: "single_select",
  options: [
    { value: "cn", label: "China" },
    { value: "us", label: "United States", description: "East coast" },
  ],
};
const note = { question: "Anything else?", type: "text" };

describe("AskQuestionsTool", () => {
  it("asks once and answers in the order of the questions", async () => {
    const { requests, context } = asked(() => ({
      outcome: "resolved",
      payload: {
        answers: [
          { question_id: "question:1", value: "" },
          { question_id: "question:0", value: "us" },
        ],
      },
    }));
    const result = await AskQuestionsTool.execute(
      { title: "Deploy", questions: [region, { ...note, options: [] }] },
      context,
    );
    expect(result).toEqual({
      status: "resolved",
      answers: [
        { question_id: "question:0", value: "us" },
        { question_id: "question:1", value: "" },
      ],
    });
    expect(requests).toEqual([
      {
        type: "question",
        turn_id: "turn:1",
        tool_call_id: "call:1",
        title: "Deploy",
        payload: { questions: [region, note] },
      },
    ]);
  });

  it.each<[string, object, string]>([
    ["a reason", { outcome: "denied", reason: "not now" }, "The user declined to answer: not now"],
    ["no reason", { outcome: "denied" }, "The user declined to answer."],
  ])("fails when the person declines with %s", async (_name, response, message) => {
    const { context } = asked(() => response);
    await expect(AskQuestionsTool.execute({ questions: [note] }, context)).rejects.toThrow(message);
  });

  it.each<[string, object, string]>([
    ["no questions", { questions: [] }, "questions has to be an array of at least one question"],
    ["questions as text", { questions: "what?" }, "questions has to be an array of at least one question"],
    ["a title that is none", { title: 1, questions: [note] }, "title has to be a string or left out"],
    [
      "no type",
      { questions: [{ question: "?" }] },
      'questions[0].type has to be given as "text", "single_select" or "multi_select"',
    ],
    ["no question", { questions: [{ type: "text" }] }, "questions[0].question has to be a non-empty string"],
    [
      "no options",
      { questions: [{ question: "?", type: "multi_select" }] },
      "questions[0].options has to list at least one option",
    ],
    [
      "options of a text",
      { questions: [{ ...region, type: "text" }] },
      'questions[0] is of type "text" and cannot have options',
    ],
    [
      "an option without label",
      { questions: [{ ...region, options: [{ value: "a" }] }] },
      "questions[0].options[0].label has to be",
    ],
    [
      "bare options",
      { questions: [{ ...region, options: ["a"] }] },
      "questions[0].options[0].value has to be",
    ],
    [
      "a value twice",
      {
        questions: [
          note,
          {
            ...region,
            options: [
              { value: "a", label: "A" },
              { value: "a", label: "B" },
            ],
          },
        ],
      },
      'questions[1].options has the value "a" twice',
    ],
  ])("with %s nothing is asked and the model is told what to mend", async (_name, input, message) => {
    const { requests, context } = asked(() => ({}));
    await expect(AskQuestionsTool.execute(input as never, context)).rejects.toThrow(message);
    expect(requests).toEqual([]);
  });

  it("is a replay tool whose schema the core checks", () => {
    const [settings] = new ToolRegistry({ ask_question: AskQuestionsTool }).settings;
    expect(settings).toMatchObject({
      name: "ask_question",
      replay: true,
      gate: "none",
      schema: { required: ["questions"] },
    });
  });
});
