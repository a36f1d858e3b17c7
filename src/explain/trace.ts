import type { DirectiveNode } from '../../grammar/index.ts';
import type { Deed, ToldPhase } from '../contract/index.ts';
import type { Verdict } from '../http/index.ts';
import type { Level } from '../log/index.ts';
import type { LocationPlan } from '../plan/index.ts';

/** A variable that was read. */
export interface Read {
  readonly name: string;
  readonly value: string | undefined;
  /** What it gives here is an example: only a running gateway knows. */
  readonly live: boolean;
}

/** Something that only a running gateway decides, and what was assumed. */
export interface OpenQuestion {
  readonly question: string;
  readonly options: readonly [string, string];
  readonly taken: 0 | 1;
}

/** What a directive of the rewrite phase did. */
export interface DirectiveStep {
  readonly kind: 'directive';
  readonly node: DirectiveNode;
  /** Whether an `if` was entered or a pattern matched; absent where nothing was asked. */
  readonly holds?: boolean;
  readonly reads: readonly Read[];
  readonly assigned: readonly { readonly name: string; readonly value: string; readonly live: boolean }[];
  readonly before: { readonly uri: string; readonly args: string };
  readonly after: { readonly uri: string; readonly args: string };
  /** `last`: another search follows; `break`: the rest of the rewrites is skipped. */
  readonly end?: 'last' | 'break';
  readonly open?: OpenQuestion;
  /** The path of another request, that this one is for. */
  readonly of?: string;
  /** The request was answered by it. */
  readonly answers?: true;
}

/** One thing that happened to a request, in the order in which it did. */
export type TraceStep =
  | {
      readonly kind: 'enter';
      readonly plan: LocationPlan;
      readonly uri: string;
      /** The request may enter internal locations. */
      readonly internal: boolean;
    }
  | DirectiveStep
  | {
      readonly kind: 'phase';
      readonly phase: ToldPhase | 'postRead';
      readonly module: string;
      readonly deed?: Deed | undefined;
      readonly verdict?: Verdict;
      readonly open?: OpenQuestion;
      /** The address that stands for the client's from now on. */
      readonly address?: string;
      readonly reads: readonly Read[];
    }
  | { readonly kind: 'jump'; readonly target: string }
  | { readonly kind: 'end'; readonly status: number; readonly page: boolean }
  | { readonly kind: 'closed'; readonly status: number }
  | { readonly kind: 'log'; readonly level: Level; readonly message: string }
  | ({ readonly kind: 'answer' } & TracedAnswer);

/** An answer as a client would get it. */
export interface TracedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body?: string | Uint8Array;
  readonly lengthBytes?: number;
  /** Name, value, name, value … */
  readonly headers: readonly string[];
}

/** What happened between two searches for a location. */
export interface TraceRound {
  readonly uri: string;
  readonly args: string;
  readonly steps: TraceStep[];
}
