// Answers by itself: where nobody sits at a terminal, or nobody wants to.

const HEADING = "Our weekend in Ghent";

export class Automatic {
  /** The response, and the words that tell of it. */
  async answer(interaction) {
    if (interaction.type === "approval") {
      const payload = { decision: "approved" };
      return { told: "yes", response: { type: "approval", outcome: "resolved", payload } };
    }
    const answers = interaction.payload.questions.map((question) => ({
      question_id: question.question_id,
      value: value_for(question),
    }));
    const told = answers.map(({ value }) => [value].flat().join(", ")).join("; ");
    return { told, response: { type: "question", outcome: "resolved", payload: { answers } } };
  }

  close() {}
}

function value_for({ type, options = [] }) {
  if (type === "text") return HEADING;
  if (type === "single_select") return options[0].value;
  return options.map((option) => option.value);
}
