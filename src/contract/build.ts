import type { ComplexValue } from '../config/index.ts';
import type { Exchange, Getter, Handler } from '../http/index.ts';
import type { ErrorLog } from '../log/index.ts';
import type { Origin } from '../upstream/index.ts';
import type { Counters } from '../zone/index.ts';
import type { CoreConfig, RegexConfig, ServerName } from './core-config.ts';

/** The location that is being compiled, as far as a module may know it. */
export interface LocationFacts {
  /** The prefix or exact path as written; the pattern for a regex; `@name`; '' on server level. */
  readonly path: string;
  readonly kind: 'server' | 'prefix' | 'exact' | 'regex' | 'named';
  /** `file:line` of its first word. */
  readonly place: string;
  /** An `if` or `limit_except` inside the location: everything else here is the location's. */
  readonly nameless: boolean;
}

/** Turns parts of the plan into closures for one worker. */
export interface Build {
  readonly location: LocationFacts;
  readonly core: CoreConfig;
  /** Names of the server that the location belongs to. */
  readonly serverNames: readonly ServerName[];
  /** Absolute; relative paths of a configuration start here. */
  readonly prefix: string;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  value(value: ComplexValue): (x: Exchange) => string;
  /** Like `value`, but `undefined` when a single variable has no value. */
  optionalValue(value: ComplexValue): Getter;
  variable(name: string): Getter;
  /**
   * What a value is made of: one list of pieces for each way of filling it. Variables are followed through the `set` of this
   * server; those of `map` and the like are the configuration's choice.
   */
  origins(value: ComplexValue): readonly (readonly Origin[])[];
  /** Whether the client of an answer may get it in gzip; its head must be as good as decided. */
  acceptsGzip(): (x: Exchange) => boolean;
  /** Type of an answer by the extension of `$uri` (`types`), else `default_type`. */
  contentType(): (x: Exchange) => string;
  /** Whether a text matches; if so, `$1` … `$9` and the named captures are those of this match. */
  matcher(regex: RegexConfig): (x: Exchange, text: string) => boolean;
  /** What `set` does: fills the slot of a variable, or assigns a built-in one. */
  assign(name: string): (x: Exchange, value: string) => void;
  /**
   * Enters the `if` at this place of the location (`ReadScope.nth`): what it configures takes the place of the location,
   * and its own rewrite steps run.
   */
  block(nth: number): Handler;
  /** Index into `x.slots` of a variable that configuration defines (`set`, named captures). */
  slot(name: string): number;
  /** True when some configured text uses the variable: a module may skip keeping it otherwise. */
  uses(variable: string): boolean;
  /** The same for all variables whose names begin alike. */
  usesFamily(prefix: string): boolean;
  /** The exchange copies only what was asked for here, before uWebSockets.js frees its request. */
  needHeader(lowerCaseName: string): void;
  needAllHeaders(): void;
  needPeer(): void;
  /** Requests of any method are wanted, not only of those that gw's own modules serve. */
  needAnyMethod(): void;
}
