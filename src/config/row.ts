import type { DirectiveNode, Report, Span, Word } from '../../grammar/index.ts';

/**
 * A text with variables as plain data (nginx: complex value): `"hi $arg_n"` is `['hi ', { variable: 'arg_n' }]`.
 * Without variables there is at most one string. Names of variables are in lower case, because nginx does not tell
 * `$Host` from `$host`.
 */
export interface ComplexValue {
  readonly parts: readonly (string | { readonly variable: string } | { readonly capture: number })[];
}

/** The text of a value; `undefined` if the value has variables. */
export function constantText(value: ComplexValue): string | undefined {
  if (value.parts.length === 0) return '';
  const [only] = value.parts;
  return value.parts.length === 1 && typeof only === 'string' ? only : undefined;
}

/** The kinds of names that directives define and others refer to. */
export type NameKind =
  | 'upstream'
  | 'cluster'
  | 'token issuer'
  | 'ACME issuer'
  | 'OpenID provider'
  | 'named location'
  | 'variable'
  | 'log format'
  | 'request zone'
  | 'connection zone'
  | 'event ring'
  | 'dictionary'
  | 'session cache'
  | 'response cache';

/** The words of a directive, and the parts of them, that have a role. */
interface WordPart {
  /** Index of the argument; default 0. */
  readonly word?: number | 'last' | 'any';
  /** The part follows one of these prefixes; a word without one of them does not have the role. */
  readonly behind?: readonly string[];
  /** The part ends before the first of these characters; default: at the end of the word. */
  readonly until?: string;
}

/** A name that a directive defines, uses, or shares with all directives that mention it. */
export interface NameRole extends WordPart {
  readonly kind: NameKind;
  readonly as: 'definition' | 'use' | 'shared';
}

/** A path, and the directory that a relative one starts from: see `ReadScope`. */
export interface PathRole extends WordPart {
  readonly kind: 'path';
  readonly from: 'confDir' | 'prefix';
  /** What only those who need it may read: keys and passphrases, or hashes against which passwords can be tried. */
  readonly holds?: 'secrets' | 'password hashes';
}

/**
 * A reference in a word, which editors follow. Variables inside values and captures of regular expressions are not
 * roles: they look the same in every word.
 */
export type WordRole = NameRole | PathRole;

/** The role of a directive that defines a name, by default with its first word. */
export function defines(kind: NameKind, place: WordPart = {}): readonly [NameRole] {
  return [{ kind, as: 'definition', ...place }];
}

/** The role of a directive that refers to a name. */
export function uses(kind: NameKind, place: WordPart = {}): readonly [NameRole] {
  return [{ kind, as: 'use', ...place }];
}

/** The role of a directive with a name that exists as soon as a directive mentions it. */
export function shares(kind: NameKind, place: WordPart = {}): readonly [NameRole] {
  return [{ kind, as: 'shared', ...place }];
}

/** The role of a directive whose first word is a path, unless that word is one of `off`, `syslog:…` and the like. */
export function pathFrom(from: PathRole['from']): readonly [PathRole] {
  return [{ kind: 'path', from }];
}

/** The role of a directive whose first word is a file in the directory of the configuration that others must not read. */
export function privateFile(holds: NonNullable<PathRole['holds']>): readonly [PathRole] {
  return [{ kind: 'path', from: 'confDir', holds }];
}

/** The usual parts of words that are names. */
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
  | 'cluster'
  | 'token_issuer'
  | 'acme_issuer'
  | 'oidc_provider'
  | 'otel_exporter'
  | 'server if'
  | 'location if';

/** The context in which a reader reads one directive. */
export interface ReadScope {
  readonly directive: string;
  /** The span of the directive's name, for faults without a more exact place. */
  readonly span: Span;
  readonly report: Report;
  /** Absolute directory that relative paths of configuration files start from. */
  readonly confDir: string;
  /** Absolute directory that relative paths of logs, data and roots start from (`-p`). */
  readonly prefix: string;
  /** Reads a value and records its variables, so that unknown ones are reported at their place. */
  complexValue(word: Word): ComplexValue;
  /** Index of the directive in its block, by which a list identifies the nested block it belongs to. */
  readonly nth: number;
  /** The enclosing block: its context and the arguments that were read. */
  readonly block: { readonly context: Context; readonly args: unknown };
  /**
   * Records a variable that this directive defines; case does not count. `assigned`: the directive only assigns it, and
   * before that it is built in or uninitialized (`set`). `captured`: it is a named capture.
   */
  defineVariable(name: string, span: Span, how?: 'assigned' | 'captured'): void;
}

/** Reads words into one value. It reports faults and then gives `undefined`. */
export interface ArgReader<T> {
  /** The syntax in the reference, for example `on | off`. */
  readonly syntax: string;
  readonly min: number;
  readonly max: number;
  /** All words that it accepts, if they can be listed. */
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
   * The value, or the password in it, is never printed in `-T`, logs or the console. `value`: all words except the
   * first (a name) and harmless ones such as numbers. `named`: the same if the first word names a credential, otherwise
   * only a password in the value.
   */
  readonly secret?: 'whole' | 'password' | 'value' | 'named';
  /** The roles of its words: names that they define or use, paths. */
  readonly roles?: readonly WordRole[];
  /**
   * The values only inform people and monitoring: no other response depends on them. With `compat skip`, a variable
   * that gw does not have is empty in them. If any other directive uses such a variable, requests get 501.
   */
  readonly tells?: true | ((args: readonly Word[]) => boolean);
  /**
   * The parameters that are checked but have no effect, each with the reason why that grants nothing. A name that ends
   * in `=` has a value.
   */
  readonly ignores?: Readonly<Record<string, string>>;
}

/**
 * How nested blocks inherit a field that not all of them inherit. False: none does (nginx's `return`). `nameless`: only
 * blocks that replace a location for some of its requests, `if` and `limit_except`.
 */
export type Inherit = false | 'nameless';

type Single<K, V> = RowFacts & {
  readonly into: K;
  readonly args: ArgReader<NonNullable<V>>;
  readonly default?: NonNullable<V>;
  /** The default in the reference, if it differs from the value. */
  readonly defaultText?: string;
  readonly inherit?: Inherit;
  /** Combines the value with the inherited one, where nginx takes over parts of it. */
  readonly completedBy?: (own: NonNullable<V>, above: NonNullable<V>) => NonNullable<V>;
  readonly repeat?: never;
};

/** A directive whose values are collected in a list; a list in a block replaces the inherited one. */
type Repeated<K, V> =
  NonNullable<V> extends readonly (infer E)[]
    ? RowFacts & {
        /**
         * The field that decides how the list is inherited: `on` as usual, `off` not at all, `merge` after the own
         * list.
         */
        readonly inheritBy?: string;
        /** As for a single value. */
        readonly completedBy?: (own: NonNullable<V>, above: NonNullable<V>) => NonNullable<V>;
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
  /** Number of words before the block; default none. */
  readonly words?: { readonly min: number; readonly max: number };
  /** Allows several blocks in one context: combines the values of two of them. */
  readonly merge?: (before: NonNullable<V>, added: NonNullable<V>) => NonNullable<V>;
  readonly default?: NonNullable<V>;
  readonly defaultText?: string;
};

/** A block of directives, such as `server`; the value that `args` reads is kept on the bound block. */
type Opening = RowFacts & {
  readonly opens: Context;
  readonly args: ArgReader<unknown>;
  /** False: only once per enclosing block. */
  readonly many?: boolean;
  readonly into?: never;
};

/** A block of directives that is also a step in a list, such as `if`: its arguments join the list. */
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

/**
 * A block of directives that is an element of a list, such as `token_issuer`: `args` reads its name, and `entry` makes
 * the element of it and of the fields that the directives in the block set.
 */
type OpeningEntry<C, K, V> =
  NonNullable<V> extends readonly (infer E)[]
    ? RowFacts & {
        readonly opens: Context;
        readonly args: ArgReader<string>;
        readonly entry: (name: string, fields: Partial<C>, scope: ReadScope) => E | undefined;
        readonly into: K;
        readonly repeat: 'append';
        readonly inherit?: never;
      }
    : never;

/**
 * A directive that is checked but has no effect. `accepted` says why that grants nothing: a directive that protects
 * something is carried out or refused.
 */
type AcceptedRow = RowFacts & {
  readonly args: ArgReader<unknown>;
  readonly accepted: string;
  /** True: it may occur several times in one block. */
  readonly many?: boolean;
  readonly into?: never;
};

type Row<C> =
  | {
      [K in keyof C & string]:
        | Single<K, C[K]>
        | Repeated<K, C[K]>
        | DataBlock<K, C[K]>
        | OpeningStep<K, C[K]>
        | OpeningEntry<C, K, C[K]>;
    }[keyof C & string]
  | Opening
  | AcceptedRow;

export type Rows<C> = { readonly [directive: string]: Row<C> };

/** A row without its field and value types, for the binder. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- every concrete row must be assignable
export type AnyRow = Row<any>;

/** Declares a module's directives. A wrong type, slot, context or default does not compile. */
export const directivesFor =
  <C extends object>() =>
  <const R extends Rows<C>>(rows: R): Rows<C> =>
    rows;
