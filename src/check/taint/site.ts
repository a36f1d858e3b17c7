import type { DirectiveNode, RelatedPlace } from '../../../grammar/index.ts';
import type { BlockView } from '../../config/index.ts';
import type { Machine } from '../regex/index.ts';
import type { RegexUse } from '../regex/index.ts';

/** Where a value stands. */
export interface Site {
  readonly block: BlockView;
  readonly node: DirectiveNode;
  /** In a `map`: the pattern of the line, `none` for a line without one. */
  readonly matched?: RegexUse | 'none';
  /** What the place itself says of variables, besides the blocks around it. */
  readonly known?: ReadonlyMap<string, readonly Machine[]>;
  /** How many variables were passed on the way here. */
  readonly depth: number;
}

/** A variable or a capture that a client fills. */
export interface Source {
  /** As the configuration writes it: `$uri`, `$1`. */
  readonly name: string;
  /** Its texts are those of all of these. */
  readonly texts: readonly Machine[];
  /** For a capture: what it is cut out of. */
  readonly within?: readonly Source[] | undefined;
  /** Where it comes in, and what it went through on the way. */
  readonly related: readonly RelatedPlace[];
}

/** What stands in a value: text of the operator, or what a client fills. */
export type Piece = string | Source;

/** One of the texts that a value may be. */
export type Alternative = readonly Piece[];
