export type { AnswerCounts, AnswerParts, AnswerStart } from './answer.ts';
export { faultOf } from './fault-of.ts';
export { EmptyAnswer } from './answer.ts';
export type { OpenAnswer } from './open-answer.ts';
export { mostRows, openAnswer, shapeOf, tailOf } from './open-answer.ts';
export { responseSettings } from './response-settings.ts';
export type { ResponseSettings } from './response-settings.ts';
export { sendFault } from './send.ts';
