// What a person is shown of an Interaction. The call itself, and what the model says about it, stay apart.
import { visible, visible_json, wrapped } from "./visible.mjs";

const WIDEST = 96;

/** The card as text. `columns` is the width of the terminal. */
export function card(interaction, columns = 80) {
  const width = Math.max(24, Math.min(columns, WIDEST) - 6);
  const lines =
    interaction.type === "approval" ? approval(interaction, width) : questions(interaction, width);
  return ["┌─", ...lines.map((line) => (line === "" ? "│" : `│ ${line}`)), "└─"].join("\n");
}

function approval({ source, payload }, width) {
  if (source.type === "shell") return shell_approval({ source, payload }, width);
  const { validated_input, tool_description, model_explanation } = payload;
  const lines = [`APPROVAL   ${visible(source.tool_name ?? "no tool")}`];
  if (tool_description) lines.push(...block("", tool_description, width));
  lines.push("", "Input, exactly as it will be used:", ...json_block(validated_input, width));
  if (model_explanation) {
    lines.push(
      "",
      "The model's own words (nobody has checked them):",
      ...block("> ", model_explanation, width),
    );
  }
  return lines;
}

const WITHOUT = {
  left: "outside of the sandbox",
  unavailable: "without a sandbox",
  confined: "in the sandbox",
};

function shell_approval({ source, payload }, width) {
  const { operation, command, cwd, reason, input, sandbox, sandbox_problem } = payload;
  const lines = [`APPROVAL   ${visible(source.tool_name)} (${operation}), ${WITHOUT[sandbox]}`];
  if (sandbox_problem) lines.push(...block("Why: ", sandbox_problem, width));
  lines.push("", "Command, exactly as it will be run:", ...exact(command, width));
  if (input !== undefined) lines.push("", "What is written to it, exactly:", ...exact(input, width));
  lines.push("", "In the folder:", ...exact(cwd, width));
  if (reason) lines.push("", "The model's reason (nobody has checked it):", ...block("> ", reason, width));
  return lines;
}

/** A line that had to be broken goes on behind an arrow. */
function exact(text, width) {
  return visible(text, { lines: true })
    .split("\n")
    .flatMap((line) => wrapped(line, width - 4).map((piece, index) => (index === 0 ? "  " : "↳ ") + piece));
}

function questions({ title, payload }, width) {
  const lines = [title ? `QUESTIONS  ${visible(title)}` : "QUESTIONS"];
  payload.questions.forEach((question, index) => {
    lines.push("", ...block(`${index + 1}. `, question.question, width));
    lines.push(...options(question, width));
  });
  return lines;
}

function options(question, width) {
  return (question.options ?? []).flatMap(({ label, description }, index) => {
    const text = description ? `${label} (${description})` : label;
    return block(`   ${letter(index)}) `, visible(text), width);
  });
}

/** Options are picked by letter: a, b, … z, then aa, ab, … */
export function letter(index) {
  const last = String.fromCharCode(97 + (index % 26));
  return index < 26 ? last : letter(Math.floor(index / 26) - 1) + last;
}

function block(mark, text, width) {
  const rest = mark === "> " ? mark : " ".repeat(mark.length);
  const lines = visible(text, { lines: true })
    .split("\n")
    .flatMap((line) => wrapped(line, width - mark.length, { at_spaces: true }));
  return lines.map((line, index) => (index === 0 ? mark : rest) + line);
}

/** A line that had to be broken goes on behind an arrow, which is not of the input. */
function json_block(value, width) {
  const broken = (line) =>
    wrapped(line, width - 4).map((piece, index) => (index === 0 ? "  " : "↳ ") + piece);
  return visible_json(value ?? null)
    .split("\n")
    .flatMap(broken);
}
