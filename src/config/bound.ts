import type { DirectiveNode, Span } from '../../grammar/index.ts';
import type { Context } from './row.ts';

/** A field of a module's config as one block sets it. */
export interface BoundField {
  readonly directive: string;
  /** One for each directive that contributed, in file order. */
  readonly spans: readonly Span[];
  /** The same directives, whole. */
  readonly nodes: readonly DirectiveNode[];
  readonly value: unknown;
}

/** One block after binding: what it sets itself, by module and field, and the blocks inside it in file order. */
export interface BoundBlock {
  readonly context: Context;
  readonly node: DirectiveNode | undefined;
  /** Its place among the directives of the enclosing block, from 0. */
  readonly nth: number;
  /** What the opening row's reader made of the block's arguments. */
  readonly args: unknown;
  readonly own: ReadonlyMap<string, ReadonlyMap<string, BoundField>>;
  readonly children: readonly BoundBlock[];
}

/** A variable that some text uses, and where. */
export interface VariableUse {
  readonly name: string;
  readonly span: Span;
}

/** The typed configuration: the main block, and what its texts say of variables. */
export interface BoundConfig {
  readonly main: BoundBlock;
  readonly uses: readonly VariableUse[];
  /** Names that directives define, such as `set $name`, and where each is defined first. */
  readonly defined: ReadonlyMap<string, Span>;
  /** Those of them that more than `set` defines: they take the place of a variable of gw whose name they have. */
  readonly fixed: ReadonlySet<string>;
  /** Those that a regular expression fills. */
  readonly captured: ReadonlySet<string>;
}
