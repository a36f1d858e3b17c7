/** What has a name of its own in a configuration, which other directives refer to. */
export type NameKind =
  | 'upstream'
  | 'named location'
  | 'variable'
  | 'log format'
  | 'request zone'
  | 'connection zone'
  | 'event ring'
  | 'dictionary'
  | 'session cache';

/** Which words of a directive a role is about, and which part of them. */
interface Place {
  /** An argument, from 0; absent: the first. */
  readonly word?: number | 'last' | 'any';
  /** The part begins behind one of these; a word that begins with none of them has not this role. */
  readonly behind?: readonly string[];
  /** The part ends before the first of these characters; absent: with the word. */
  readonly until?: string;
}

/** A name that a directive defines, that it uses, or that all who name it define together. */
export interface NameRole extends Place {
  readonly kind: NameKind;
  readonly as: 'definition' | 'use' | 'shared';
}

/** A path, and which directory a relative one starts from: see `ReadScope`. */
export interface PathRole extends Place {
  readonly kind: 'path';
  readonly from: 'confDir' | 'prefix';
}

/**
 * What a word of a directive leads to, besides its value: how an editor follows it. Variables inside values and captures
 * of regular expressions are no roles: they look the same in every word.
 */
export type WordRole = NameRole | PathRole;

/** A directive that defines a name; by default by its first word. */
export function defines(kind: NameKind, place: Place = {}): readonly [NameRole] {
  return [{ kind, as: 'definition', ...place }];
}

/** A directive that refers to a name. */
export function uses(kind: NameKind, place: Place = {}): readonly [NameRole] {
  return [{ kind, as: 'use', ...place }];
}

/** A directive that names something which exists because it is named. */
export function shares(kind: NameKind, place: Place = {}): readonly [NameRole] {
  return [{ kind, as: 'shared', ...place }];
}

/** A directive whose first word is a path, unless it is one of other things: `off`, `syslog:…`. */
export function pathFrom(from: PathRole['from']): readonly [PathRole] {
  return [{ kind: 'path', from }];
}

/** The places of a name. */
export const AT = {
  /** `zone=name:size` or `zone=name`. */
  zone: { word: 'any', behind: ['zone='], until: ':' },
  /** `$name`. */
  variable: { behind: ['$'] },
  secondVariable: { word: 1, behind: ['$'] },
  lastVariable: { word: 'last', behind: ['$'] },
  /** `@name`. */
  location: { behind: ['@'] },
  lastLocation: { word: 'last', behind: ['@'] },
} as const satisfies Readonly<Record<string, Place>>;
