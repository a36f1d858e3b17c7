import type { CertificatePair } from '../acme/index.ts';
import type { FaultDetails } from '../../grammar/index.ts';
import type { ClusterPlan } from '../cluster/index.ts';
import type { ComplexValue, Rows } from '../config/index.ts';
import type {
  AccessCheck,
  BodyFilter,
  RangeRules,
  Exchange,
  Getter,
  Handler,
  HeaderFilter,
  LogStep,
} from '../http/index.ts';
import type { TokenReader } from '../tokens/index.ts';
import type { UpstreamAddress } from '../upstream/index.ts';
import type { ZoneDeclaration } from '../zone/index.ts';
import type { Build } from './build.ts';
import type { LocationMatch, ServerName } from './core-config.ts';
import type { ModuleRule, Sensitive } from './rule.ts';
import type { MasterScope, WorkerScope } from './scope.ts';

/** The scope that `gw check --live` passes to modules that check their peers. */
export interface LiveScope {
  /** Timeout for connecting, and again for a response. */
  readonly timeoutMs: number;
  /** Runs a query once per key; locations share the result. `close` gets it when all have been checked. */
  once<T>(key: string, ask: () => Promise<T>, close?: (answer: T) => Promise<void>): Promise<T>;
  /** Returns the servers of an `upstream` block as written; `undefined` if there is no such block. */
  upstream(name: string): readonly string[] | undefined;
  /** The plan of the `cluster` block that the config belongs to. */
  readonly cluster?: ClusterPlan | undefined;
}

/** A fault of a peer that a location is configured with. */
export interface LiveProblem<C> {
  /** Slug of a rule of `gw check`. */
  readonly rule: string;
  /** The directive to blame. */
  readonly field: keyof C & string;
  /** Its index within its list; 0 if absent. */
  readonly index?: number;
  /** One line, lower case, no full stop, no secrets. */
  readonly message: string;
  readonly hint?: string;
}

/** A fact about a request's way through a module. Facts with the same label form a list. */
export interface ExplainedFact {
  readonly label: string;
  /** May have several lines of text. */
  readonly value: string;
}

/** The action that a handler would take for an explained request. */
export interface ExplainedAction {
  /** A phrase without a subject: `forwards to "http://backend/v1/a"`. */
  readonly does: string;
  readonly facts?: readonly ExplainedFact[];
  /** The index of the directive that decides, within its list. */
  readonly nth?: number;
  /** A fact that is unknown without a running gateway. */
  readonly unknown?: string;
  /** Variables whose values depend on the unknown fact. */
  readonly unknownVariables?: readonly string[];
  /** True if the verdict of the access check depends on the unknown fact. */
  readonly isVerdictUnknown?: true;
}

/** Explains the action of a phase's handler. Returns `undefined` if it has ended the exchange as the handler would. */
export type Explainer = (x: Exchange) => ExplainedAction | undefined | Promise<ExplainedAction | undefined>;

/** The phases whose handlers can be explained. */
export type ExplainedPhase = 'preaccess' | 'access' | 'precontent' | 'content';

/**
 * The scope of `gw explain`, which serves no clients: zones are empty, and host names of upstreams are not resolved.
 */
export interface ExplainScope extends WorkerScope {
  /** True if databases may be opened for reading. */
  readonly live: boolean;
  /** The names of the `cluster` blocks; none of them is opened. */
  readonly clusterNames: readonly string[];
}

/**
 * How a module behaves in `gw explain`. All its handlers run on an exchange without a client; a handler that sends
 * requests or changes something must be replaced by an explainer.
 */
export interface ModuleExplanation<C extends object, R = undefined> {
  /** Replaces a `provision` that opens something. */
  provision?(config: C, scope: ExplainScope): Promise<R> | R;
  /** Returns explainers by phase. With `runs`, the handlers run as well. */
  explain?(config: C, resources: R, build: Build): Readonly<Partial<Record<ExplainedPhase, Explainer>>>;
  readonly runs?: true;
}

/** Takes the faults of a module's config; the core adds the directive's name and place. */
export interface ConfigReport<C> {
  /** `predicate` completes `"directive" …`, for example `exceeds "kv_pool_max" (8)`. */
  on(field: keyof C & string, predicate: string, more?: string | ConfigFault): void;
  warn(field: keyof C & string, predicate: string, more?: string | ConfigFault): void;
  /** Reports a complete message, if nginx has one of its own; `index` selects one of several directives of a list. */
  phrase(
    field: keyof C & string,
    message: string,
    options?: ConfigFault & { readonly index?: number | undefined },
  ): void;
}

/** Details of a fault: a hint, and the rule of `gw check` that the configuration breaks. */
export type ConfigFault = Pick<FaultDetails, 'hint' | 'rule'>;

/** What the other modules do on the level of a config. */
interface BesideConfig {
  /** One of them verifies the tokens of requests. */
  readonly verifiesTokens: boolean;
  /** The names of the server; absent outside of servers. */
  readonly serverNames: readonly ServerName[] | undefined;
}

/** The location of a config, and what the other modules do there. */
export interface ConfigSite {
  /** Absent on server level. */
  readonly match: LocationMatch | undefined;
  /** The path of the tools that another module offers to language models. */
  readonly toolsPath: string | undefined;
  /** The names of the server. */
  readonly serverNames: readonly ServerName[];
}

/** A location that a module serves without a block for it: an exact one. */
export interface OwnLocation<C> {
  readonly path: string;
  readonly config: C;
}

/**
 * The absolute paths of a certificate and its key, or `data:` and their content. An empty certificate: there is none
 * for this client.
 */
export interface PairPaths {
  readonly certificate: string;
  readonly key: string;
}

/** The pair that a server shows to all its clients while it serves: for an engine that cannot be asked in a handshake. */
export interface OrderedPair {
  /** A number that differs after each change of any pair. */
  readonly revision: number;
  /** The same object until it changes; `undefined`: there is none yet. */
  readonly pair: CertificatePair | undefined;
}

/** What modules do for the TLS handshakes of a server; absent members cost nothing. */
export interface HandshakeHandlers {
  /** Returns the file names of a handshake's pairs, if they depend on the client. */
  readonly pairs?: (x: Exchange) => readonly PairPaths[];
  /** Waits, for a bounded time, until `pairs` has one for this handshake; `undefined`: nothing does. */
  readonly awaitPairs?: (x: Exchange) => Promise<void> | undefined;
  /** Returns what a handshake that offers only `acme-tls/1` is shown (RFC 8737); `serverName` is in lower case. */
  readonly challengePair?: (serverName: string) => CertificatePair | undefined;
  /** What `pairs` gives for every client, where it is the same for all. */
  readonly orderedPair?: OrderedPair;
}

/**
 * The handlers of one module in one location, in the order of the phases. Absent members cost nothing at request time.
 */
export interface LocationParts {
  /** On server level only. No two modules give the same one of its members. */
  readonly handshakes?: HandshakeHandlers;
  /** On server level only: runs before all other handlers. */
  readonly postRead?: Handler;
  /**
   * Runs as a request enters the location, before anything can refuse it there, so that all log lines show what it
   * leaves. Neither waits nor responds.
   */
  readonly entering?: (x: Exchange) => void;
  /**
   * Waits for what values of this location ask for without waiting. Runs before the rewrite steps, if there are any, and
   * before `preaccess`.
   */
  readonly identify?: Handler;
  readonly rewrite?: readonly Handler[];
  readonly preaccess?: Handler;
  /** `satisfy` decides how it is combined with the checks of other modules. */
  readonly access?: AccessCheck;
  /** May redirect internally, which ends the phases of this location. */
  readonly precontent?: Handler;
  /** The content handler of the first module that has one is used. */
  readonly content?: Handler;
  /** If the location's path ends in a slash, the path without it is redirected to it (nginx: `auto_redirect`). */
  readonly slashRedirect?: true;
  /** Responds to a request whose body is too large (413) in the module's own format. */
  readonly tooLarge?: Handler;
  /**
   * Responds in the module's format to an error without an `error_page` in this server; its status is `x.errorStatus`.
   */
  readonly ownErrors?: Handler;
  readonly filter?: HeaderFilter;
  readonly bodyFilter?: BodyFilter;
  readonly ranges?: RangeRules;
  /**
   * Requests are not counted by location and not shown in the log tail; otherwise monitoring pages would show
   * themselves.
   */
  readonly quiet?: true;
  readonly log?: LogStep;
  /** Returns the id of a request that counts in logs and traces; called once for a request, if at all. */
  readonly requestId?: (x: Exchange) => string;
}

/** Where a value is known in a running gateway only. */
export type Liveness = true | 'even empty';

/** The definition of `$name`. `build` can request headers and the peer's address. */
export interface VariableDefinition {
  readonly summary: string;
  compile(build: Build): Getter;
  /** True: evaluated on each read. Default for variables that the configuration defines: once per request. */
  readonly volatile?: boolean;
  /**
   * True if the value is known in a running gateway only: a time, a random text, a result of an upstream. `even empty`: an
   * explained request has no value, but one in a running gateway may have.
   */
  readonly live?: Liveness;
  /** Assigns a value to a built-in variable for `set $name`. Absent: such a `set` is refused. */
  readonly assign?: (x: Exchange, value: string) => void;
}

/** A family such as `$arg_NAME`; `rest` is the text after the prefix. */
export interface VariableFamily {
  readonly summary: string;
  /** As for a variable. */
  readonly live?: true;
  compile(rest: string, build: Build): Getter;
}

/** Files and directories that are written while serving a location. Relative paths start from the prefix. */
export interface WrittenFiles {
  readonly files?: readonly string[];
  readonly directories?: readonly string[];
  /** Directories that other programs may use too. Missing ones are created; existing ones keep owner and mode. */
  readonly sharedDirectories?: readonly string[];
  /** As `directories`; the gateway does not start if it cannot write them, for each start would lose what they hold. */
  readonly stateDirectories?: readonly string[];
}

/** Headers and arguments of requests that hold credentials. */
export interface Credentials {
  /** In lower case. */
  readonly headers?: readonly string[];
  readonly arguments?: readonly string[];
}

/** A zone, and the directive to blame for its faults; `index` selects one of a list. */
export interface ZoneNeed<C> {
  readonly zone: ZoneDeclaration;
  readonly field: keyof C & string;
  readonly index?: number;
}

/**
 * A name that another directive must declare, and the directive to blame if none does; `index` selects one of a list.
 * `only cluster`: the cluster of the configuration, if it has exactly one.
 */
interface NameUse<C> {
  readonly kind: 'upstream' | 'ring' | 'cache' | 'dictionary' | 'cluster' | 'only cluster';
  readonly name: string;
  /** The gateways of a cluster share the members of this upstream. */
  readonly sharesMembers?: true;
  readonly field: keyof C & string;
  readonly index?: number;
}

/** A literal host that requests are sent to; `index` selects one of a list of directives. */
interface UpstreamNeed<C> extends UpstreamAddress {
  readonly field: keyof C & string;
  readonly index?: number;
}

/**
 * A module: its directives and their behaviour. All members are pure functions of their arguments, and an import has no
 * side effects. `C` is the config of one location (plain data), `R` the result of `provision` for it.
 *
 * The life of a module, in the order of its calls:
 *
 * - load: `directives` are bound. For each config that is `enabled`: `validate`, `writes`, `zones`, `uses`, `upstreams`; then
 *   `content`, `toolsPath`, `settle`, `ownLocations`, `showsRequestCounts`, `keepsPhases` and, for each server, `forServer`.
 *   `gw -t` ends here: nothing has been opened.
 * - check: `gw check` imports `rules` and asks `sensitive` and `strangers`; with `--live`, `probe`.
 * - start and reload, in the master: `prepare`.
 * - start and reload, in each worker, for each location where it is enabled: `provision`, `defines`, `compile`, `tokens`; `variables` and
 *   `families` where something names them, `assigns` where origins are compared.
 * - request: the closures that `compile` has returned run, and no member of the definition.
 * - close: nothing is called. After its last request a configuration closes what was given to `worker.own` and `master.share`.
 *
 * `gw explain` takes a worker's steps with what `explanation` replaces; views of the configuration ask `answers`.
 */
export interface ModuleDefinition<C extends object, R = undefined> {
  readonly name: string;
  /** One sentence for the reference. */
  readonly summary: string;
  readonly directives: Rows<C>;
  readonly variables?: { readonly [name: string]: VariableDefinition };
  /** By prefix: `arg_`, `http_`. */
  readonly families?: { readonly [prefix: string]: VariableFamily };
  /** The fields whose directives make this module the content handler of a location; at most one may be set. */
  readonly content?: (keyof C & string) | readonly (keyof C & string)[];
  /** Returns the directive that serves the location if none of `content` does, for views of the configuration. */
  answers?(config: C): string | undefined;
  /** False if this location does not use the module: the members below are not called for it. Default: true. */
  enabled?(config: C): boolean;
  /** Returns where requests have credentials that are not to be shown: names of headers (lower case) and arguments. */
  credentials?(config: C): Credentials;
  /** Pure; also runs under `gw -t`. */
  validate?(config: C, report: ConfigReport<C>, beside: BesideConfig): void;
  /** Returns the path at which the module offers tools to language models; `undefined`: it offers none. */
  toolsPath?(config: C, match: LocationMatch | undefined): string | undefined;
  /** Returns the config with what follows from its location; the same object if nothing does. */
  settle?(config: C, site: ConfigSite, report: ConfigReport<C>): C;
  /** Returns locations that the module adds to the server of a settled config. A location of the same path comes first. */
  ownLocations?(config: C): readonly OwnLocation<C>[];
  /** True if this location verifies the tokens of requests: `tokens` reads them. */
  verifiesTokens?(config: C): boolean;
  /** True if this location shows request counts by location. They are counted only if such a location exists. */
  showsRequestCounts?(config: C): boolean;
  /** True if this location logs what the time of requests goes on. It is measured only if such a location exists. */
  keepsPhases?(config: C): boolean;
  /** Returns the things in this location that must not be public; `gw check` reports them if they are. */
  sensitive?(config: C): Sensitive<C> | undefined;
  /** Returns the verdict of the module's access check on an unknown client; `undefined` if it does not decide. */
  strangers?(config: C): 'allowed' | 'denied' | undefined;
  /** Connects to a location's peers or a cluster's store and checks them. Changes nothing; never rejects. */
  probe?(config: C, live: LiveScope): Promise<readonly LiveProblem<C>[]>;
  /** Returns the files that it writes. If root starts gw, they are given to the account that serves. */
  writes?(config: C, prefix: string): WrittenFiles;
  /**
   * Returns the config of a server level, for a module that serves requests of its locations before a location is chosen.
   * `inner` are the configs of the level and of all blocks in it that use the module; without any it is not called.
   */
  forServer?(config: C, inner: readonly C[]): C;
  /** Returns the shared memory that this location needs. */
  zones?(config: C): readonly ZoneNeed<C>[];
  /** Returns the `upstream` blocks, rings, caches and clusters that other directives must declare for it. */
  uses?(config: C): readonly NameUse<C>[];
  /**
   * Returns the hosts that this location sends requests to. A host that is not an `upstream` block becomes a group of
   * its own (`worker.upstreams`).
   */
  upstreams?(config: C): readonly UpstreamNeed<C>[];
  /** Returns the variables that this location assigns (`set`), with their values. */
  assigns?(config: C): readonly { readonly variable: string; readonly value: ComplexValue }[];
  /**
   * Runs once per load in the master, before any worker compiles. Opens resources that the whole process shares (an
   * embedded server).
   */
  prepare?(configs: readonly C[], master: MasterScope): Promise<void> | void;
  /** Runs once per worker and distinct config. A resource is owned from the moment it opens. */
  provision?(config: C, worker: WorkerScope): Promise<R> | R;
  /**
   * Returns the variables that this location's configuration defines, each evaluated once per request on first read
   * (nginx: `map`). The directive's reader declares the names with `defineVariable`. It may also redefine a variable of
   * the module for this location; such a variable is evaluated on each read.
   */
  defines?(config: C, resources: R): Readonly<Record<string, VariableDefinition>>;
  /** Compiles how the tokens of requests are read where `verifiesTokens`; other modules read them as `Build.token`. */
  tokens?(config: C, resources: R, build: Build): TokenReader;
  compile(config: C, resources: R, build: Build): LocationParts;
  /** Imports the module's rules for `gw check`. A serving process never calls it. */
  rules?(): Promise<{ readonly rules: readonly ModuleRule<C>[] }>;
  /** How `gw explain` treats the module. */
  readonly explanation?: ModuleExplanation<C, R>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the registry holds modules of every config type
export type AnyModule = ModuleDefinition<any, any>;

/** Returns the definition. Checks it against the config type and infers the type of `provision`'s result. */
export const moduleFor =
  <C extends object>() =>
  <R = undefined>(definition: ModuleDefinition<C, R>): ModuleDefinition<C, R> =>
    definition;

/** The documentation of a built-in variable. */
export interface VariableFacts {
  readonly name: string;
  readonly module: string;
  readonly summary: string;
  /** `set` may change it. */
  readonly settable: boolean;
}

/** Returns all built-in variables. A family is listed as its prefix and `*`: `arg_*`. */
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
