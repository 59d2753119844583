// A chat page as an application has one, with the AI SDK's own useChat; bundled for the test.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

const { id, initial } = await (await fetch("/history")).json();
let turn = initial.at(-1)?.metadata?.turn_id ?? "";
const transport = new DefaultChatTransport({
  prepareReconnectToStreamRequest: () => ({ api: `/api/chat/${id}/stream?turn=${turn}` }),
});

function Conversation() {
  const { messages, status, error, sendMessage, addToolApprovalResponse } = useChat({
    id,
    messages: initial,
    resume: initial.length > 0,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  turn = messages.at(-1)?.metadata?.turn_id ?? turn;
  const shown = messages.map((message) =>
    createElement(
      "article",
      { key: message.id, "aria-label": message.role },
      message.parts.map((part, index) => createElement(Part, { key: index, part, addToolApprovalResponse })),
    ),
  );
  const send = createElement(
    "button",
    { type: "button", onClick: () => sendMessage({ text: "Go" }) },
    "Send",
  );
  return createElement("main", { "data-status": status }, shown, send, error?.message);
}

function Part({ part, addToolApprovalResponse }) {
  if (part.type === "text") return createElement("p", null, part.text);
  if (!part.type.startsWith("tool-")) return null;
  const answer = (approved, reason) => () =>
    addToolApprovalResponse({ id: part.approval.id, approved, reason });
  const buttons = [
    createElement("button", { key: "yes", type: "button", onClick: answer(true) }, "Approve"),
    createElement("button", { key: "no", type: "button", onClick: answer(false, "not today") }, "Deny"),
  ];
  const asked = part.state === "approval-requested" ? buttons : [];
  return createElement("section", null, createElement("output", null, part.state), asked);
}

createRoot(document.getElementById("root")).render(createElement(Conversation));
