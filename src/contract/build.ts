import type { ComplexValue } from '../config/index.ts';
import type { Exchange, Getter, Handler } from '../http/index.ts';
import type { Health } from '../health/index.ts';
import type { ErrorLog } from '../log/index.ts';
import type { TokenReader } from '../tokens/index.ts';
import type { Origin } from '../upstream/index.ts';
import type { Counters } from '../zone/index.ts';
import type { CoreConfig, RegexConfig, ServerName } from './core-config.ts';

/** The parts of the compiled location that modules may see. */
export interface LocationFacts {
  /** The prefix or exact path as written; the pattern of a regex; `@name`; '' on server level. */
  readonly path: string;
  readonly kind: 'server' | 'prefix' | 'exact' | 'regex' | 'named';
  /** `file:line` of its first word. */
  readonly place: string;
  /** True for an `if` or `limit_except` block; the other fields are those of the location around it. */
  readonly nameless: boolean;
}

/** Compiles parts of the plan into closures for one worker. */
export interface Build {
  readonly location: LocationFacts;
  readonly core: CoreConfig;
  /** The names of the location's server. */
  readonly serverNames: readonly ServerName[];
  /** Absolute; relative paths of the configuration start here. */
  readonly prefix: string;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  /** Reads the verified tokens of requests; absent where the location verifies none. */
  readonly token: TokenReader | undefined;
  /** Some location of the configuration logs what the time of requests goes on (`phasesOf`). */
  readonly keepsPhases: boolean;
  /** The active checks of upstreams. */
  readonly health: Health;
  value(value: ComplexValue): (x: Exchange) => string;
  /** Works as `value`, but a value that is a single variable without a value gives `undefined`. */
  optionalValue(value: ComplexValue): Getter;
  variable(name: string): Getter;
  /**
   * Returns the origins of a value: one list of pieces for each way of filling it. Variables are followed through the
   * `set` directives of this server; variables of `map` and similar directives count as chosen by the configuration.
   */
  origins(value: ComplexValue): readonly (readonly Origin[])[];
  /** Compiles a test for whether a response may be compressed. Its head must be decided when the test runs. */
  acceptsGzip(): (x: Exchange) => boolean;
  /** Returns the type of a response by the extension of `$uri` (`types`), or `default_type`. */
  contentType(): (x: Exchange) => string;
  /** Compiles a regex match. A match sets `$1` … `$9` and the named captures of the request. */
  matcher(regex: RegexConfig): (x: Exchange, text: string) => boolean;
  /** Compiles an assignment as `set` makes it: fills the slot of a variable, or assigns to a built-in one. */
  assign(name: string): (x: Exchange, value: string) => void;
  /**
   * Returns the handler that enters the `if` at this index in the location (`ReadScope.nth`): the block's configuration
   * replaces that of the location, and its rewrite steps run.
   */
  block(nth: number): Handler;
  /** Returns the index into `x.slots` of a variable that the configuration defines (`set`, named captures). */
  slot(name: string): number;
  /** True if the configuration uses the variable; otherwise a module need not store it. */
  uses(variable: string): boolean;
  /** Works as `uses`, for all variables with this prefix. */
  usesFamily(prefix: string): boolean;
  /** Only headers requested here are copied before uWebSockets.js frees its request. */
  needHeader(lowerCaseName: string): void;
  needAllHeaders(): void;
  needPeer(): void;
}
