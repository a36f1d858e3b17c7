export { acceptedMedia, chooseMedia } from './accept.ts';
export type { Accepted } from './accept.ts';
export { contentType, customMedia, isAsked } from './media.ts';
export type { Media, PlanQuestion, RowHandler } from './media.ts';
export { appliedPreferences, honoured, only, parsePreferences } from './preferences.ts';
export type { CountKind, Preference, Preferences, TransactionEnd } from './preferences.ts';
export { chooseSchema } from './profile.ts';
export { contentRange, rangeStatus, rowRange } from './row-range.ts';
export type { RowRange } from './row-range.ts';
