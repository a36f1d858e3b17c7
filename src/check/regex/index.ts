export {
  intersection,
  DEAD,
  cutsAround,
  except,
  containing,
  not,
  type Language,
  type Machine,
  shortestWord,
  type Budget,
  type SearchResult,
} from './machine.ts';
export { Pattern, Patterns, backtrackingOf, type Backtracking } from './pattern.ts';
export { type Sample, extensionEnd } from './syntax.ts';
export { regexUses, type RegexUse } from './uses.ts';
export { acceptedStranger } from './stranger.ts';
