/** The named instants at which children are killed: around each commit, from the side of who causes it and who sees it. */
const AROUND = ["create", "open", "prompt", "respond", "set", "stop", "close", "request"];
const MOMENTS = ["before", "during", "after"];

/** They come so seldom that the first time has to do. */
const RARE = /:(create|open|stop|close|request|set|snapshot|error|interaction|config|action:.*)$|^resumed:/;

export const is_rare = (point: string): boolean => RARE.test(point);

export const POINTS: readonly string[] = [
  ...AROUND.flatMap((op) => MOMENTS.map((moment) => `${moment}:${op}`)),
  "after:snapshot",
  "after:finished",
  "before:model_answer",
  "model:chunk",
  "before:gate_recorded",
  "before:tool_entered",
  "after:tool_entered",
  "resumed:tool_entered",
  "before:tool_request",
  "during:tool_request",
  "after:tool_request",
  "after:tool_answered",
  "before:tool_result",
  "seen:turn:start",
  "seen:turn:finish",
  "seen:message:user",
  "seen:message:assistant",
  "seen:delta:text",
  "seen:delta:reasoning",
  "seen:delta:tool_input",
  "seen:part:text:streaming",
  "seen:part:text:done",
  "seen:part:reasoning:done",
  "seen:part:tool:input-streaming",
  "seen:part:tool:ready",
  "seen:part:tool:waiting-user",
  "seen:part:tool:running",
  "seen:part:tool:completed",
  "seen:part:tool:failed",
  "seen:part:action:completed",
  "seen:part:error",
  "seen:part:interaction",
  "seen:session:config",
];
