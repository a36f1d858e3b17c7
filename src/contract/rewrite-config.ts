import type { ComplexValue, ReadRegex } from '../config/index.ts';

/** `return code [text]` or `return URL`. */
export interface ReturnStep {
  readonly kind: 'return';
  readonly code: number;
  readonly text?: ComplexValue;
}

/** `set $variable value`. */
export interface SetStep {
  readonly kind: 'set';
  readonly variable: string;
  readonly value: ComplexValue;
}

/** `rewrite` that changes the URI. */
export interface RewriteStep {
  readonly kind: 'rewrite';
  readonly regex: ReadRegex;
  readonly path: ComplexValue;
  /** The text after the first `?` of the replacement. */
  readonly args?: ComplexValue;
  /** True if the arguments of the request are appended, because the replacement does not end in `?`. */
  readonly keepsArgs: boolean;
  readonly flag: 'none' | 'last' | 'break';
}

/** `rewrite` that sends a redirect. */
export interface RedirectStep {
  readonly kind: 'redirect';
  readonly regex: ReadRegex;
  readonly code: 301 | 302;
  readonly target: ComplexValue;
  /** The replacement contains a `?`. */
  readonly hasArgs: boolean;
  readonly keepsArgs: boolean;
}

/** The condition of an `if`. */
export type Condition =
  | { readonly test: 'true'; readonly variable: string }
  | {
      readonly test: 'equal';
      readonly variable: string;
      readonly negated: boolean;
      readonly value: ComplexValue;
    }
  | {
      readonly test: 'match';
      readonly variable: string;
      readonly negated: boolean;
      readonly regex: ReadRegex;
    }
  | { readonly test: FileTest; readonly negated: boolean; readonly value: ComplexValue };

/** The file tests of `if`: a plain file, a directory, either of them, an executable. */
export type FileTest = 'f' | 'd' | 'e' | 'x';

/** `if (condition) { ... }`; `nth` is the block's index in the block around it. */
export interface IfStep {
  readonly kind: 'if';
  readonly nth: number;
  readonly condition: Condition;
}

/** `break` */
export interface BreakStep {
  readonly kind: 'break';
}

/** One directive of the rewrite module. */
export type Step = ReturnStep | SetStep | RewriteStep | RedirectStep | IfStep | BreakStep;

/** The rewrite directives of one block. */
export interface RewriteConfig {
  /** In file order. */
  readonly steps?: readonly Step[];
  /** `rewrite_log`: logs matches and rewrites. */
  readonly log: boolean;
}
