import type { Exchange } from '../http/index.ts';
import type { Build } from './build.ts';
import type { WorkerScope } from './scope.ts';

/** What is known of a request's way through a module; facts of one label are a list. */
export interface Fact {
  readonly label: string;
  /** May have several lines. */
  readonly value: string;
}

/** What a handler would do with a request that nobody serves. */
export interface Deed {
  /** A phrase without a subject: `forwards to "http://backend/v1/a"`. */
  readonly does: string;
  readonly facts?: readonly Fact[];
  /** Which of the directives of its list decides. */
  readonly nth?: number;
  /** What only a running gateway knows. */
  readonly unknown?: string;
  /** Variables that get their values by it. */
  readonly unknownVariables?: readonly string[];
}

/** Tells what the handler of a phase would do; nothing where it has answered the exchange as the handler would. */
export type Telling = (x: Exchange) => Deed | undefined | Promise<Deed | undefined>;

/** The phases whose handlers may be told of. */
export type ToldPhase = 'preaccess' | 'access' | 'precontent' | 'content';

/** A worker that serves nobody: its zones are empty, its groups of peers look no names up. */
export interface ExplainScope extends WorkerScope {
  /** Databases may be opened, to be read. */
  readonly live: boolean;
}

/**
 * How a module takes part where requests are explained instead of served. All its handlers run on an exchange without a
 * client, so those that ask others or change something have to be told of.
 */
export interface ModuleExplanation<C extends object, R = undefined> {
  /** In the place of `provision`, where that opens something. */
  provision?(config: C, scope: ExplainScope): Promise<R> | R;
  /** By phase. With `runs`, the handlers run all the same, and this is told beside what they decide. */
  tell?(config: C, resources: R, build: Build): Readonly<Partial<Record<ToldPhase, Telling>>>;
  readonly runs?: true;
}
