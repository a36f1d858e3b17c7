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
} from './machine.ts';
export { Pattern, Patterns, backtrackingOf } from './pattern.ts';
export { extensionEnd } from './syntax.ts';
export { regexUses, type RegexUse } from './uses.ts';
export { acceptedStranger } from './stranger.ts';
