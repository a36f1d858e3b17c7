import type { ExplainedFact } from '../../contract/index.ts';

/** A candidate of a choice with its place, and the reason why it was chosen or not. */
export interface Candidate {
  readonly text: string;
  /** `file:line`; '' without a directive. */
  readonly place: string;
  readonly chosen: boolean;
  readonly why: string;
}

/** A location that was compared with the URI; nested ones have a greater depth. */
export interface LocationCandidate extends Candidate {
  readonly depth: number;
  /** True if it matches and the search continued inside it. */
  readonly through?: true;
}

/** One step of a round. */
export type AccountStep =
  | {
      readonly kind: 'location';
      readonly text: string;
      readonly place: string;
      /** The search that found the location; absent for a named location. */
      readonly search?: {
        readonly uri: string;
        readonly candidates: readonly LocationCandidate[];
        readonly unnamed: number;
      };
    }
  | {
      readonly kind: 'directive';
      readonly text: string;
      readonly place: string;
      readonly in: string;
      readonly outcome: string;
      readonly known: readonly string[];
    }
  | { readonly kind: 'open'; readonly text: string; readonly place: string; readonly assumed: string }
  | {
      readonly kind: 'phase';
      readonly phase: string;
      readonly module: string;
      readonly text: string;
      readonly place: string;
      readonly facts: readonly ExplainedFact[];
      readonly unknown?: string;
    }
  | { readonly kind: 'jump'; readonly text: string; readonly place: string }
  | { readonly kind: 'log'; readonly level: string; readonly text: string };

/** The steps between two searches for a location. */
export interface AccountRound {
  readonly uri: string;
  readonly steps: readonly AccountStep[];
}

/** A directive that holds in the last location of the request. */
export interface EffectiveDirective {
  readonly text: string;
  readonly place: string;
  /** `location /a`, `server`, `http` … */
  readonly level: string;
  readonly inherited: boolean;
}

/** An outer directive that does not hold, and the directive that replaces it. */
export interface ReplacedDirective {
  readonly text: string;
  readonly place: string;
  readonly level: string;
  readonly by: string;
}

/** The response as far as the configuration decides it. */
export interface AccountResponse {
  /** Absent if only a running gateway knows it. */
  readonly status?: number;
  readonly does: string;
  readonly place: string;
  readonly facts: readonly ExplainedFact[];
  readonly unknown?: string;
}

/** The response under another assumption about an open question. */
export interface Branch {
  readonly question: string;
  readonly place: string;
  readonly if: string;
  readonly does: string;
  /** Absent if only a running gateway knows it. */
  readonly status?: number;
}

/** The account that `--json` prints. Within a version members are only added. */
export interface Account {
  readonly version: 1;
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly host: string;
    readonly uri: string;
    readonly args: string;
    readonly from: string;
    readonly headers: readonly (readonly [name: string, value: string])[];
  };
  readonly found: boolean;
  readonly port?: {
    readonly address: string;
    readonly place: string;
    readonly why: string;
    readonly others: readonly Candidate[];
  };
  readonly server?: {
    readonly name: string;
    readonly place: string;
    readonly why: string;
    readonly others: readonly Candidate[];
  };
  readonly rounds: readonly AccountRound[];
  readonly location?: { readonly text: string; readonly place: string };
  readonly client?: string;
  readonly effective: readonly EffectiveDirective[];
  readonly replaced: readonly ReplacedDirective[];
  readonly answer: AccountResponse;
  readonly branches: readonly Branch[];
}
