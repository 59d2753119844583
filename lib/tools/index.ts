/** `@downcity/agent/tools`: tools to register. */
export { type AskQuestionsResult, AskQuestionsTool } from "./ask-questions.js";
