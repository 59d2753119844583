// How an Interaction ended, in words.
import { shown } from "/dom.mjs";

const WORDS = {
  cancelled: { turn_stopped: "The Turn was stopped", session_disposed: "The Session was closed" },
};

/** For a card that somebody else has ended. */
export function outcome({ type, status, response, cancel_reason }) {
  if (status === "denied") return [type === "question" ? "Declined" : "Denied", ...reason_of(response)];
  if (status === "resolved") {
    const approved = response?.payload?.decision === "approved";
    const word = type !== "approval" ? "Answered" : approved ? "Approved" : "Denied";
    return [word, ...reason_of(response)];
  }
  return [WORDS.cancelled[cancel_reason] ?? "It is needed no more"];
}

function reason_of(response) {
  return response?.reason ? [": ", ...shown(response.reason)] : [];
}
