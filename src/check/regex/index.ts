export { DEAD, cutsAround, except, having, not } from './machine.ts';
export type { Language, Machine } from './machine.ts';
export { Pattern, Patterns } from './pattern.ts';
export type { Sample } from './sample.ts';
export { shortestWord } from './search.ts';
export type { Budget, Searched } from './search.ts';
