import type { AnyModule, Build, LocationParts } from '../contract/index.ts';
import type { AnswerRules, Exchange, Getter, Handler } from '../http/index.ts';
import type { LocationPlan } from '../plan/index.ts';

/** Where a module takes part. */
export interface WatchedPart {
  readonly plan: LocationPlan;
  readonly module: AnyModule;
  readonly config: object;
  readonly resources: unknown;
  readonly build: Build;
}

/** Follows a compile whose handlers are looked at instead of served with. Nothing of it exists in a worker. */
export interface CompileWatch {
  /** What a module does in a location, as it is to be done here. */
  parts(parts: LocationParts, part: WatchedPart): LocationParts;
  /** A variable as a location reads it; `live`: what it gives means nothing outside of a running gateway. */
  getter(getter: Getter, variable: { readonly name: string; readonly live: boolean }): Getter;
  /** The way into the `if` at this place of a location: by then its condition has been found to hold. */
  block(enter: Handler): Handler;
  /** A text was compared with a regular expression. */
  matched(x: Exchange, match: { readonly pattern: string; readonly matches: boolean }): void;
  /** A variable was given a value. */
  assigned(x: Exchange, name: string, value: string): void;
  /** Exchanges that have these rules are in that place; `plan` is that of an `if` or `limit_except` too. */
  rules(rules: AnswerRules, plan: LocationPlan): void;
}
