import type { DirectiveNode } from '../../grammar/index.ts';
import type { AnyModule } from '../contract/index.ts';
import type { LoadedParts, Places } from './places.ts';
import type { ChosenPort } from './port.ts';
import type { Question, ReadQuestion } from './question.ts';
import type { Wording } from './words.ts';

/** What of a load an explanation needs. */
export interface Explainable extends LoadedParts {
  readonly modules: readonly AnyModule[];
}

/** What an account is written with. */
export interface Telling {
  readonly question: Question;
  readonly read: ReadQuestion;
  readonly chosen: ChosenPort;
  readonly places: Places;
  readonly wording: Wording;
  readonly loaded: Explainable;
  /** Those of all rewrite phases. */
  readonly directives: ReadonlySet<DirectiveNode>;
}
