/** One step of a JSON path; a number is an array index. */
export interface JsonStep {
  readonly arrow: '->' | '->>';
  readonly key: string | number;
}

/** A column, or a path into its JSON value. */
export interface Field {
  readonly column: string;
  readonly path?: readonly JsonStep[];
}

export const AGGREGATES = ['avg', 'count', 'max', 'min', 'sum'] as const;
export type Aggregate = (typeof AGGREGATES)[number];

/** The target type of a cast, as the client wrote it. */
export interface TypeName {
  readonly schema?: string;
  readonly name: string;
  /** `10` and `2` of `numeric(10,2)`. */
  readonly modifiers?: readonly number[];
  readonly isArray?: true;
}

/** `alias:column->path::cast.aggregate()::aggregateCast`. */
export interface SelectedColumn extends Field {
  readonly kind: 'column';
  readonly alias?: string;
  readonly cast?: TypeName;
  readonly aggregate?: Aggregate;
  readonly aggregateCast?: TypeName;
}

/** `alias:count()::cast`: the number of rows. */
export interface SelectedCount {
  readonly kind: 'count';
  readonly alias?: string;
  readonly cast?: TypeName;
}

/** `alias:target!hint!inner(…)` or, spread, `...target(…)`. */
export interface SelectedEmbed {
  readonly kind: 'embed';
  readonly target: string;
  readonly alias?: string;
  readonly hint?: string;
  readonly join?: 'inner' | 'left';
  readonly spread: boolean;
  readonly select: readonly SelectItem[];
}

export type SelectItem = { readonly kind: 'all' } | SelectedColumn | SelectedCount | SelectedEmbed;

/** The operand of a filter. */
export type Operand =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly values: readonly string[] }
  | { readonly kind: 'truth'; readonly truth: Truth }
  /** `config` is the text in parentheses; without them the first word of `query` may still be one. */
  | { readonly kind: 'search'; readonly config?: string; readonly query: string };

export const TRUTHS = ['null', 'not_null', 'true', 'false', 'unknown'] as const;
export type Truth = (typeof TRUTHS)[number];

/** `[not.]operator[(any|all)].operand`. */
export interface Comparison {
  readonly kind: 'filter';
  readonly negated: boolean;
  readonly operator: string;
  readonly quantifier?: 'any' | 'all';
  readonly operand: Operand;
}

/** `field=[not.]operator[(any|all)].operand`. */
export interface Filter extends Field, Comparison {}

/** `column->path::cast.aggregate()` or, without a field, `count()`, the number of rows. */
export interface Aggregated {
  readonly aggregate: Aggregate;
  readonly field?: Field;
  readonly cast?: TypeName;
}

/** `aggregate.[not.]operator[(any|all)].operand`, a filter of groups. */
export interface GroupFilter extends Aggregated, Comparison {}

/** A filter, or filters combined by `[not.]and(…)` or `[not.]or(…)`. */
export type LogicOf<F> =
  F | { readonly kind: 'and' | 'or'; readonly negated: boolean; readonly terms: readonly LogicOf<F>[] };
export type Logic = LogicOf<Filter>;
export type GroupLogic = LogicOf<GroupFilter>;

/** A key of an order: a field or an aggregate; with `relations` one of an embed: `a(b(field))`. */
export type OrderKey = (Field | Aggregated) & { readonly relations?: readonly string[] };

/** `key[.asc|.desc][.nullsfirst|.nullslast]`. */
export type OrderTerm = OrderKey & {
  readonly direction?: 'asc' | 'desc';
  readonly nulls?: 'nullsfirst' | 'nullslast';
};

/** Filters, order and range of one level. */
export interface Level {
  /** Combined by `and`. */
  readonly filters: readonly Logic[];
  /** The filters of groups, combined by `and`. */
  readonly having: readonly GroupLogic[];
  /** `rows`: equal rows are shown once. Keys: of the rows with equal keys the first one is shown. */
  readonly distinct: 'rows' | readonly OrderKey[];
  readonly order: readonly OrderTerm[];
  readonly limit?: number;
  readonly offset: number;
}

/** A parsed read; its names have not been looked up yet. */
export interface ReadQuery extends Level {
  readonly select: readonly SelectItem[];
  /** The levels of embeds. Each path occurs once and is not empty. */
  readonly embedded: readonly (Level & { readonly path: readonly string[] })[];
}
