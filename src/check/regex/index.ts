export {
  both,
  DEAD,
  cutsAround,
  except,
  having,
  not,
  type Language,
  type Machine,
  shortestWord,
  type Budget,
  type Searched,
} from './machine.ts';
export { Pattern, Patterns, backtrackingOf, type Backtracking } from './pattern.ts';
export { type Sample, extensionEnd } from './syntax.ts';
export { regexUses, type RegexUse } from './uses.ts';
export { acceptedStranger } from './stranger.ts';
