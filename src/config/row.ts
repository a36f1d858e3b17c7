import type { DirectiveNode, Report, Span, Word } from '../../grammar/index.ts';

/**
 * Text with variables, as plain data: `"hi $arg_n"` is `['hi ', { variable: 'arg_n' }]`. No variables: at most one string.
 * (nginx: complex value.) Names of variables are in lower case: nginx does not tell `$Host` from `$host`.
 */
export interface ComplexValue {
  readonly parts: readonly (string | { readonly variable: string } | { readonly capture: number })[];
}

/** The text of a value without variables, else `undefined`. */
export function constantText(value: ComplexValue): string | undefined {
  if (value.parts.length === 0) return '';
  const [only] = value.parts;
  return value.parts.length === 1 && typeof only === 'string' ? only : undefined;
}

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
interface WordPart {
  /** An argument, from 0; absent: the first. */
  readonly word?: number | 'last' | 'any';
  /** The part begins behind one of these; a word that begins with none of them has not this role. */
  readonly behind?: readonly string[];
  /** The part ends before the first of these characters; absent: with the word. */
  readonly until?: string;
}

/** A name that a directive defines, that it uses, or that all who name it define together. */
export interface NameRole extends WordPart {
  readonly kind: NameKind;
  readonly as: 'definition' | 'use' | 'shared';
}

/** A path, and which directory a relative one starts from: see `ReadScope`. */
export interface PathRole extends WordPart {
  readonly kind: 'path';
  readonly from: 'confDir' | 'prefix';
}

/**
 * What a word of a directive leads to, besides its value: how an editor follows it. Variables inside values and captures
 * of regular expressions are no roles: they look the same in every word.
 */
export type WordRole = NameRole | PathRole;

/** A directive that defines a name; by default by its first word. */
export function defines(kind: NameKind, place: WordPart = {}): readonly [NameRole] {
  return [{ kind, as: 'definition', ...place }];
}

/** A directive that refers to a name. */
export function uses(kind: NameKind, place: WordPart = {}): readonly [NameRole] {
  return [{ kind, as: 'use', ...place }];
}

/** A directive that names something which exists because it is named. */
export function shares(kind: NameKind, place: WordPart = {}): readonly [NameRole] {
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
} as const satisfies Readonly<Record<string, WordPart>>;

export type Context =
  | 'main'
  | 'check'
  | 'events'
  | 'http'
  | 'server'
  | 'location'
  | 'limit_except'
  | 'upstream'
  | 'server if'
  | 'location if';

/** What a reader may ask and tell while it reads one directive. */
export interface ReadScope {
  readonly directive: string;
  /** The directive's name in the text: where a fault without a better place goes. */
  readonly span: Span;
  readonly report: Report;
  /** Absolute directory that relative paths of the configuration's own files start from. */
  readonly confDir: string;
  /** Absolute directory that relative paths of logs, data and roots start from (`-p`). */
  readonly prefix: string;
  /** Notes the variables of a value, so that unknown ones fail the load at their place. */
  complexValue(word: Word): ComplexValue;
  /** The place of this directive among those of its block, from 0: how a list tells which nested block it means. */
  readonly nth: number;
  /** The block that it stands in: its context, and what was read of its words. */
  readonly block: { readonly context: Context; readonly args: unknown };
  /**
   * Notes names that this directive defines (named captures, `map`); their case does not count. `assigned`: it only fills
   * the variable, which before that is what gw has by this name, or uninitialized (`set`). `captured`: it is cut out of what a
   * regular expression matches.
   */
  defineVariable(name: string, span: Span, how?: 'assigned' | 'captured'): void;
}

/** Words to one value. It reports what is wrong and gives `undefined`. */
export interface ArgReader<T> {
  /** As the reference prints it, for example `on | off`. */
  readonly syntax: string;
  readonly min: number;
  readonly max: number;
  /** The only words that it takes, where they can be listed. */
  readonly choices?: readonly string[];
  read(words: readonly Word[], scope: ReadScope): T | undefined;
}

interface RowFacts {
  readonly contexts: readonly Context[];
  /** One sentence for the reference and for editors. */
  readonly summary: string;
  /** `nginx ngx_http_core_module#listen`, or `gw` for a directive of our own. */
  readonly source: string;
  /**
   * The value (or the password inside it) never shows in `-T`, logs or the console. `named`: the whole value where the first
   * word is the name of a credential, else the password inside.
   */
  readonly secret?: 'whole' | 'password' | 'named';
  /** What its words lead to: names that they define or use, files. */
  readonly roles?: readonly WordRole[];
}

/**
 * Which nested blocks see a field that comes down not at all or not everywhere. False: none (nginx's `return`).
 * `nameless`: only the blocks that take a location's place for some of its requests, `if` and `limit_except`.
 */
export type Inherit = false | 'nameless';

type Single<K, V> = RowFacts & {
  readonly into: K;
  readonly args: ArgReader<NonNullable<V>>;
  readonly default?: NonNullable<V>;
  /** As the reference prints it, where the value itself does not say it well. */
  readonly defaultText?: string;
  readonly inherit?: Inherit;
  /** What the value makes of that of the level above, where nginx takes it over in part. */
  readonly completedBy?: (own: NonNullable<V>, above: NonNullable<V>) => NonNullable<V>;
  readonly repeat?: never;
};

/** Several directives of one block collect in one list; a list set at a level discards the inherited one. */
type Repeated<K, V> =
  NonNullable<V> extends readonly (infer E)[]
    ? RowFacts & {
        /** The field that says how the list comes down: `on` as usual, `off` not at all, `merge` behind the level's own. */
        readonly inheritBy?: string;
        readonly into: K;
        readonly args: ArgReader<E>;
        readonly repeat: 'append';
        readonly default?: NonNullable<V>;
        readonly defaultText?: string;
        readonly inherit?: Inherit;
      }
    : never;

/** A block of data lines, such as `types`. */
type DataBlock<K, V> = RowFacts & {
  readonly into: K;
  readonly data: (node: DirectiveNode, scope: ReadScope) => NonNullable<V> | undefined;
  readonly syntax: string;
  /** How many words stand before the block; default none. */
  readonly words?: { readonly min: number; readonly max: number };
  /** Lets the block stand several times in one place: what two of them make together. */
  readonly merge?: (before: NonNullable<V>, added: NonNullable<V>) => NonNullable<V>;
  readonly default?: NonNullable<V>;
  readonly defaultText?: string;
};

/** A block of directives, such as `server`; what `args` reads is kept on the bound block. */
type Opening = RowFacts & {
  readonly opens: Context;
  readonly args: ArgReader<unknown>;
  /** False: only once per enclosing block. */
  readonly many?: boolean;
  readonly into?: never;
};

/** A block of directives that is also one of a list of steps, such as `if`: its arguments join the list as well. */
type OpeningStep<K, V> =
  NonNullable<V> extends readonly (infer E)[]
    ? RowFacts & {
        readonly opens: Context;
        readonly args: ArgReader<E>;
        readonly into: K;
        readonly repeat: 'append';
        readonly inherit: Inherit;
      }
    : never;

/** Understood and checked, but without effect; `accepted` says why. */
type AcceptedRow = RowFacts & {
  readonly args: ArgReader<unknown>;
  readonly accepted: string;
  /** True: it may stand several times in one block. */
  readonly many?: boolean;
  readonly into?: never;
};

export type Row<C> =
  | {
      [K in keyof C & string]:
        Single<K, C[K]> | Repeated<K, C[K]> | DataBlock<K, C[K]> | OpeningStep<K, C[K]>;
    }[keyof C & string]
  | Opening
  | AcceptedRow;

export type Rows<C> = { readonly [directive: string]: Row<C> };

/** A row whose field and value types are no longer known: what the binder works on. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- every concrete row must be assignable
export type AnyRow = Row<any>;

/** Declares a module's directives; a wrong type, slot, context or default does not compile. */
export const directivesFor =
  <C extends object>() =>
  <const R extends Rows<C>>(rows: R): Rows<C> =>
    rows;
