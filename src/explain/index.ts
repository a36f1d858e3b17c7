export type { Account } from './account.ts';
export { explain } from './explain.ts';
export type { Explainable } from './explain.ts';
export type { Question } from './question.ts';
export { printAccount } from './print.ts';
