import type { ExplainedFact } from '../contract/index.ts';

/** A thing with its place, and why it was chosen or not. */
export interface Candidate {
  readonly text: string;
  /** `file:line`; '' where nothing is written. */
  readonly place: string;
  readonly chosen: boolean;
  readonly why: string;
}

/** A location that was asked: nested ones lie deeper. */
export interface LocationCandidate extends Candidate {
  readonly depth: number;
  /** It fits, and the search went on inside of it. */
  readonly through?: true;
}

/** One thing that happens, in order. */
export type AccountStep =
  | {
      readonly kind: 'location';
      readonly text: string;
      readonly place: string;
      /** What was searched for; absent for a named location, which nobody searches. */
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

/** What happens between two searches for a location. */
export interface AccountRound {
  readonly uri: string;
  readonly steps: readonly AccountStep[];
}

/** A directive that holds where the request ended up. */
export interface EffectiveDirective {
  readonly text: string;
  readonly place: string;
  /** `location /a`, `server`, `http` … */
  readonly level: string;
  readonly inherited: boolean;
}

/** One that stands further out and does not hold, and the directive that took its place. */
export interface ReplacedDirective {
  readonly text: string;
  readonly place: string;
  readonly level: string;
  readonly by: string;
}

/** What the client gets, as far as that can be said. */
export interface AccountResponse {
  /** Absent where only a running gateway knows. */
  readonly status?: number;
  readonly does: string;
  readonly place: string;
  readonly facts: readonly ExplainedFact[];
  readonly unknown?: string;
}

/** What would be different if something that only a running gateway knows were otherwise. */
export interface Branch {
  readonly question: string;
  readonly place: string;
  readonly if: string;
  readonly does: string;
  /** Absent where only a running gateway knows. */
  readonly status?: number;
}

/** The whole account, as `--json` prints it. Members are only ever added within a version. */
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
