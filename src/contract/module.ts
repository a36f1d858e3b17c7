import type { FaultDetails } from '../../grammar/index.ts';
import type { ComplexValue, Rows } from '../config/index.ts';
import type {
  AccessCheck,
  BodyFilter,
  Exchange,
  Getter,
  Handler,
  HeaderFilter,
  LogStep,
} from '../http/index.ts';
import type { UpstreamAddress } from '../upstream/index.ts';
import type { ZoneDeclaration } from '../zone/index.ts';
import type { Build } from './build.ts';
import type { ModuleRule, Sensitive } from './rule.ts';
import type { MasterScope, WorkerScope } from './scope.ts';

/** What `gw check --live` hands to modules that ask what a location is configured with. */
export interface LiveScope {
  /** The longest that anybody waits for a connection, and again for an answer. */
  readonly timeoutMs: number;
  /** What several locations ask of one target is asked once. */
  once<T>(key: string, ask: () => Promise<T>): Promise<T>;
  /** The servers of an `upstream` block as written. `undefined` when there is no such block. */
  upstream(name: string): readonly string[] | undefined;
}

/** What is wrong with what a location is configured with. */
export interface LiveProblem<C> {
  /** Slug of a rule of `gw check`. */
  readonly rule: string;
  /** The directive to blame. */
  readonly field: keyof C & string;
  /** One line, lower case, no full stop, no secrets. */
  readonly message: string;
  readonly hint?: string;
}

/** What is known of a request's way through a module; facts of one label are a list. */
export interface ExplainedFact {
  readonly label: string;
  /** May have several lines. */
  readonly value: string;
}

/** What a handler would do with a request that nobody serves. */
export interface ExplainedAction {
  /** A phrase without a subject: `forwards to "http://backend/v1/a"`. */
  readonly does: string;
  readonly facts?: readonly ExplainedFact[];
  /** Which of the directives of its list decides. */
  readonly nth?: number;
  /** What only a running gateway knows. */
  readonly unknown?: string;
  /** Variables that get their values by it. */
  readonly unknownVariables?: readonly string[];
}

/** Tells what the handler of a phase would do; nothing where it has answered the exchange as the handler would. */
export type Explainer = (x: Exchange) => ExplainedAction | undefined | Promise<ExplainedAction | undefined>;

/** The phases whose handlers may be told of. */
export type ExplainedPhase = 'preaccess' | 'access' | 'precontent' | 'content';

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
  explain?(config: C, resources: R, build: Build): Readonly<Partial<Record<ExplainedPhase, Explainer>>>;
  readonly runs?: true;
}

/** Where a module tells that a config is wrong: the core adds the directive's name and place. */
export interface ConfigReport<C> {
  /** `predicate` completes `"directive" …`, for example `exceeds "kv_pool_max" (8)`. */
  on(field: keyof C & string, predicate: string, more?: string | ConfigFault): void;
  warn(field: keyof C & string, predicate: string, more?: string | ConfigFault): void;
  /** A whole message, where nginx has its own; `index` picks one of several directives of a list. */
  phrase(
    field: keyof C & string,
    message: string,
    options?: ConfigFault & { readonly index?: number | undefined },
  ): void;
}

/** What more a module knows of a fault: a hint, and the rule of `gw check` that is broken. */
export type ConfigFault = Pick<FaultDetails, 'hint' | 'rule'>;

/** What one module does for one location, in the order of the phases. Absent members cost nothing at request time. */
export interface LocationParts {
  /** On server level only: before anybody looks at the request. */
  readonly postRead?: Handler;
  readonly rewrite?: readonly Handler[];
  readonly preaccess?: Handler;
  /** Combined with the checks of other modules as `satisfy` says. */
  readonly access?: AccessCheck;
  /** May redirect internally, which ends the phases here. */
  readonly precontent?: Handler;
  /** The first module that has one answers. */
  readonly content?: Handler;
  /** Where the location's path ends in a slash, the path without it is redirected there (nginx: `auto_redirect`). */
  readonly slashRedirect?: true;
  /** Answers a request whose body is too large (413) in the module's own form. */
  readonly tooLarge?: Handler;
  readonly filter?: HeaderFilter;
  readonly bodyFilter?: BodyFilter;
  /** Its requests are neither counted by location nor shown in the log tail: those who look would see themselves. */
  readonly quiet?: true;
  readonly log?: LogStep;
}

/** `$name`: how the worker reads it. `build` lets it ask for request headers and the peer's address. */
export interface VariableDefinition {
  readonly summary: string;
  compile(build: Build): Getter;
  /** A variable that configuration defines is evaluated once per request; this one whenever it is read. */
  readonly volatile?: boolean;
  /** Its value is known only while a running gateway serves a request: a time, a random text, what an upstream said. */
  readonly live?: true;
  /** What `set $name` does to a variable that is built in; without it such a `set` is refused. */
  readonly assign?: (x: Exchange, value: string) => void;
}

/** A family such as `$arg_NAME`; `rest` is what follows the prefix. */
export interface VariableFamily {
  readonly summary: string;
  /** As that of a variable. */
  readonly live?: true;
  compile(rest: string, build: Build): Getter;
}

/** Files and directories that serving a location leads to writing; a relative path starts from the prefix. */
export interface WrittenFiles {
  readonly files?: readonly string[];
  readonly directories?: readonly string[];
}

/** A zone, and the directive that a fault of it is blamed on: `index` picks one of a list. */
export interface ZoneNeed<C> {
  readonly zone: ZoneDeclaration;
  readonly field: keyof C & string;
  readonly index?: number;
}

/** A literal host that requests go to; `index` picks one of a list of directives. */
export interface UpstreamNeed<C> extends UpstreamAddress {
  readonly field: keyof C & string;
  readonly index?: number;
}

/**
 * A module: its directives and what they do. Everything is a pure function of its arguments; nothing happens on import.
 * `C` is its config of one location (plain data), `R` what `provision` opened for it.
 */
export interface ModuleDefinition<C extends object, R = undefined> {
  readonly name: string;
  readonly directives: Rows<C>;
  readonly variables?: { readonly [name: string]: VariableDefinition };
  /** By prefix: `arg_`, `http_`. */
  readonly families?: { readonly [prefix: string]: VariableFamily };
  /** The fields whose directives make this module answer the location; at most one may. */
  readonly content?: (keyof C & string) | readonly (keyof C & string)[];
  /** The directive that answers the location, where none of `content` does: for those who look at the configuration. */
  answers?(config: C): string | undefined;
  /** False: this location does not use the module; the members below are not called for it. Default: always true. */
  enabled?(config: C): boolean;
  /** Pure; also runs under `gw -t`. */
  validate?(config: C, report: ConfigReport<C>): void;
  /** True: this location shows request counts by location; without any such location they are not kept. */
  showsRequestCounts?(config: C): boolean;
  /** What strangers must not get at in this location: `gw check` tells when nothing keeps them out. */
  sensitive?(config: C): Sensitive<C> | undefined;
  /** What its access check says to somebody whom the configuration knows nothing of; nothing where it has no opinion. */
  strangers?(config: C): 'allowed' | 'denied' | undefined;
  /** Opens what the location is configured with, looks at it and closes it again; changes nothing, and never rejects. */
  probe?(config: C, live: LiveScope): Promise<readonly LiveProblem<C>[]>;
  /** What it writes: where root starts gw, it hands these over to the account that serves. */
  writes?(config: C, prefix: string): WrittenFiles;
  /** Shared memory that this location needs. */
  zones?(config: C): readonly ZoneNeed<C>[];
  /** Hosts that this location sends requests to: each one that is no `upstream` block becomes a group of its own (`worker.upstreams`). */
  upstreams?(config: C): readonly UpstreamNeed<C>[];
  /** The variables that this location fills while a request goes through it (`set`), each with what it may get. */
  assigns?(config: C): readonly { readonly variable: string; readonly value: ComplexValue }[];
  /** Once per load in the master, before any worker compiles: what the whole process shares (an embedded server). */
  prepare?(configs: readonly C[], master: MasterScope): Promise<void> | void;
  /** Once per worker and distinct config. A resource is owned the moment it opens. */
  provision?(config: C, worker: WorkerScope): Promise<R> | R;
  /**
   * Variables that this location's configuration defines by name, each evaluated when a request first reads it and
   * kept for the rest of it (nginx: `map`). The directive's reader notes the names with `defineVariable`. Also what a
   * variable of the module itself is in this location; that is evaluated each time.
   */
  defines?(config: C, resources: R): Readonly<Record<string, VariableDefinition>>;
  compile(config: C, resources: R, build: Build): LocationParts;
  /** Reads its rules, for `gw check`: who serves requests never asks for them. */
  rules?(): Promise<{ readonly rules: readonly ModuleRule<C>[] }>;
  /** For `gw explain`, which opens nothing. */
  readonly explanation?: ModuleExplanation<C, R>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the registry holds modules of every config type
export type AnyModule = ModuleDefinition<any, any>;

/** Checks a definition against its config type and infers what `provision` gives. */
export const moduleFor =
  <C extends object>() =>
  <R = undefined>(definition: ModuleDefinition<C, R>): ModuleDefinition<C, R> =>
    definition;

/** A built-in variable, as people look it up. */
export interface VariableFacts {
  readonly name: string;
  readonly module: string;
  readonly summary: string;
  /** `set` may change it. */
  readonly settable: boolean;
}

/** Every built-in variable by name; of a family, the prefix and what its names continue with: `arg_*`. */
export function variableFacts(modules: readonly AnyModule[]): readonly VariableFacts[] {
  return modules.flatMap(({ name: module, variables = {}, families = {} }) => [
    ...Object.entries(variables).map(([name, { summary, assign }]) => ({
      name,
      module,
      summary,
      settable: assign !== undefined,
    })),
    ...Object.entries(families).map(([prefix, { summary }]) => ({
      name: `${prefix}*`,
      module,
      summary,
      settable: false,
    })),
  ]);
}
