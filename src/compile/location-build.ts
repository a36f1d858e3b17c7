import type { Health } from '../health/index.ts';
import type { ComplexValue } from '../config/index.ts';
import type {
  AnyModule,
  Build,
  CoreConfig,
  LocationFacts,
  LocationParts,
  RegexConfig,
  ServerName,
  VariableDefinition,
  VariableFamily,
  Liveness,
} from '../contract/index.ts';
import {
  charsetOf,
  CONFIGURED_TYPE,
  type Exchange,
  type ExchangeWatch,
  type Getter,
  type Handler,
  KEPT_TYPE,
  logContext,
  type ResponseRules,
} from '../http/index.ts';
import type { ErrorLog } from '../log/index.ts';
import type { LocationPlan, VariablePlan } from '../plan/index.ts';
import type { TokenReader } from '../tokens/index.ts';
import type { Counters } from '../zone/index.ts';
import { compileAcceptsGzip } from './accepts-gzip.ts';
import type { Matcher, Matchers } from './captures.ts';
import type { ErrorLogs } from './logs.ts';

/** A module's part in a location. */
export interface WatchedPart {
  readonly plan: LocationPlan;
  readonly module: AnyModule;
  readonly config: object;
  readonly resources: unknown;
  readonly build: Build;
}

/** Observes and replaces parts of a compile for `gw explain`. Workers have none. */
export interface CompileWatch extends ExchangeWatch {
  /** Returns the handlers to use instead of a module's own. */
  parts(parts: LocationParts, part: WatchedPart): LocationParts;
  /** Returns the getter to use for a variable; `live`: its value is only meaningful in a running gateway. */
  getter(getter: Getter, variable: { readonly name: string; readonly live: Liveness | false }): Getter;
  /** Returns the handler to use for entering an `if` whose condition is true. */
  block(enter: Handler): Handler;
  /** Called when a text was compared with a regular expression. */
  matched(x: Exchange, match: { readonly pattern: string; readonly matches: boolean }): void;
  /** Called when a variable was assigned. */
  assigned(x: Exchange, name: string, value: string): void;
  /** Associates rules with the plan of their location, `if` or `limit_except`. */
  rules(rules: ResponseRules, plan: LocationPlan): void;
}

type Text = (x: Exchange) => string;

/** Compiles a value with variables to a closure. `getter` returns the closure of a variable. */
function compileValue({ parts }: ComplexValue, getter: (variable: string) => Getter): Text {
  const pieces = parts.map((part) => (typeof part === 'string' ? part : orEmpty(compilePart(part, getter))));
  const [first = '', second] = pieces;
  if (second === undefined) return typeof first === 'string' ? () => first : first;
  if (pieces.length === 2 && typeof first === 'string' && typeof second === 'function')
    return (x) => first + second(x);
  return (x) => {
    let text = '';
    for (const piece of pieces) text += typeof piece === 'string' ? piece : piece(x);
    return text;
  };
}

/** Works as `compileValue`, but a value that is a single variable without a value gives `undefined`. */
function compileOptionalValue(value: ComplexValue, getter: (variable: string) => Getter): Getter {
  const [only] = value.parts;
  if (value.parts.length !== 1 || only === undefined || typeof only === 'string')
    return compileValue(value, getter);
  return compilePart(only, getter);
}

type Part = Exclude<ComplexValue['parts'][number], string>;

function compilePart(part: Part, getter: (variable: string) => Getter): Getter {
  if ('variable' in part) return getter(part.variable);
  const { capture } = part;
  return (x) => x.captures?.[capture];
}

function orEmpty(read: Getter): Text {
  return (x) => read(x) ?? '';
}

/**
 * Compiles `types` and `default_type` of a location: the content type by the extension of `$uri` (nginx
 * ngx_http_set_content_type). `exactPath`: the path of an exact location.
 */
function compileContentType(
  { types = NO_TYPES, defaultType }: Pick<CoreConfig, 'types' | 'defaultType'>,
  exactPath: string | undefined,
): (x: Exchange) => string {
  const ofUri = compileTypeOf({ types, defaultType }, exactPath);
  if (![...Object.values(types), defaultType].some((type) => charsetOf(type) !== ''))
    return (x) => x.state(KEPT_TYPE) || ofUri(x);
  return (x) => {
    const kept = x.state(KEPT_TYPE);
    if (kept) return kept;
    const type = ofUri(x);
    x.setState(CONFIGURED_TYPE, type);
    return type;
  };
}

function compileTypeOf(
  { types, defaultType }: Pick<CoreConfig, 'defaultType'> & { readonly types: Types },
  exactPath: string | undefined,
): (x: Exchange) => string {
  const byExtension = extensions.get(types) ?? new Map(Object.entries(types));
  extensions.set(types, byExtension);
  if (byExtension.size === 0) return () => defaultType;
  const typeOf = (uri: string): string => byExtension.get(extensionOf(uri)) ?? defaultType;
  if (exactPath === undefined) return (x) => typeOf(x.uri);
  const usual = typeOf(exactPath);
  return (x) => (x.uri === exactPath ? usual : typeOf(x.uri));
}

type Types = Readonly<Record<string, string>>;

const NO_TYPES: Types = {};
/** Content types of locations other than exact ones, by their config. */
const contentTypes = new WeakMap<CoreConfig, (x: Exchange) => string>();
/** Types by extension, once for all locations that inherit them. */
const extensions = new WeakMap<Types, ReadonlyMap<string, string>>();

/**
 * Returns the extension in lower case; '' if there is none. A name whose only dot is its first character has none
 * (nginx ngx_http_set_exten).
 */
function extensionOf(uri: string): string {
  const dot = uri.lastIndexOf('.');
  return dot > uri.lastIndexOf('/') + 1 ? uri.slice(dot + 1).toLowerCase() : '';
}

/** The parts of a request that the compiled closures use. Transports copy only these. */
export interface RequestNeeds {
  readonly headers: Set<string>;
  allHeaders: boolean;
  peer: boolean;
}

/** The values that all locations of one compile share. */
export interface BuildContext {
  readonly modules: readonly AnyModule[];
  readonly variables: VariablePlan;
  readonly matchers: Matchers;
  readonly errorLogs: Pick<ErrorLogs, 'of'>;
  readonly prefix: string;
  readonly needs: RequestNeeds;
  readonly metrics: Counters;
  readonly keepsPhases: boolean;
  readonly health: Health;
  /** Set by `gw explain` only. */
  readonly watch?: CompileWatch | undefined;
}

/** The values of one location. */
interface LocationOwn {
  readonly core: CoreConfig;
  /** The names of its server. */
  readonly serverNames: readonly ServerName[];
  readonly origins: Build['origins'];
  /** The variables that the location's configuration defines, by name. */
  readonly defined: Readonly<Record<string, VariableDefinition>>;
  /** Compiles how the tokens of its requests are read; absent where it verifies none. */
  readonly tokens: ((build: Build) => TokenReader) | undefined;
  /** The location's `if` blocks, by their index in it. */
  readonly blocks: ReadonlyMap<number, Handler>;
}

/** The build of a part of one location. Other locations may share the part if it has not read `location`. */
export class LocationBuild implements Build {
  readonly prefix: string;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  readonly keepsPhases: boolean;
  readonly health: Health;
  readonly origins: Build['origins'];
  readonly #own: LocationOwn;
  readonly #context: BuildContext;
  readonly #location: LocationFacts;
  #sharing: 'undecided' | 'own' | 'shared' = 'undecided';
  #needsPeer = false;
  #token: TokenReader | undefined;
  /** By name; `undefined` while the variable is being compiled. */
  readonly #getters = new Map<string, Getter | undefined>();
  readonly #getter = (name: string): Getter => this.variable(name);

  constructor(location: LocationFacts, own: LocationOwn, context: BuildContext) {
    this.#location = location;
    this.#own = own;
    this.origins = own.origins;
    this.prefix = context.prefix;
    this.log = context.errorLogs.of(own.core.errorLogs);
    this.metrics = context.metrics;
    this.keepsPhases = context.keepsPhases;
    this.health = context.health;
    this.#context = context;
  }

  value(value: ComplexValue): (x: Parameters<Getter>[0]) => string {
    return compileValue(value, this.#getter);
  }

  optionalValue(value: ComplexValue): Getter {
    return compileOptionalValue(value, this.#getter);
  }

  get location(): LocationFacts {
    this.#keepOwn();
    return this.#location;
  }

  /** Called when the part is compiled. True if it does not depend on its location, which it cannot read afterwards. */
  share(): boolean {
    if (this.#sharing === 'undecided') this.#sharing = 'shared';
    return this.#sharing === 'shared';
  }

  #keepOwn(): void {
    if (this.#sharing === 'shared') throw new Error('a part that locations share has looked at its location');
    this.#sharing = 'own';
  }

  get core(): CoreConfig {
    return this.#own.core;
  }

  get token(): TokenReader | undefined {
    return (this.#token ??= this.#own.tokens?.(this));
  }

  get serverNames(): readonly ServerName[] {
    return this.#own.serverNames;
  }

  block(nth: number): Handler {
    this.#keepOwn();
    const block = this.#own.blocks.get(nth);
    if (!block) throw new Error(`no block has index ${nth}: the plan and this worker disagree`);
    return this.#context.watch?.block(block) ?? block;
  }

  assign(name: string): (x: Exchange, value: string) => void {
    const assign = this.#definition(name)?.assign ?? fillSlot(this.slot(name));
    const { watch } = this.#context;
    if (!watch) return assign;
    return (x, value) => {
      assign(x, value);
      watch.assigned(x, name, value);
    };
  }

  matcher(regex: RegexConfig): Matcher {
    const matcher = this.#context.matchers.of(regex);
    const { watch } = this.#context;
    if (!watch) return matcher;
    return (x, text) => {
      const matches = matcher(x, text);
      watch.matched(x, { pattern: regex.pattern, matches });
      return matches;
    };
  }

  variable(name: string): Getter {
    const known = this.#getters.get(name);
    if (known) return known;
    if (this.#getters.has(name)) return this.#cycle(name);
    this.#getters.set(name, undefined);
    const compiled = this.#compile(name);
    const getter = this.#context.watch?.getter(compiled, { name, live: this.#liveness(name) }) ?? compiled;
    this.#getters.set(name, getter);
    return getter;
  }

  #liveness(name: string): Liveness | false {
    const own = Object.hasOwn(this.#own.defined, name) ? this.#own.defined[name] : this.#definition(name);
    return (own ?? this.#family(name)?.[1])?.live ?? false;
  }

  #compile(name: string): Getter {
    const { slots, assigned } = this.#context.variables;
    const slot = slots[name];
    const defined = Object.hasOwn(this.#own.defined, name) ? this.#own.defined[name] : undefined;
    if (defined)
      return slot === undefined ? defined.compile(this) : definedIn(slot, defined.compile(this), defined);
    // A named capture hides an argument or header of the same name. `set` hides it only after it has run (nginx).
    if (slot !== undefined && !Object.hasOwn(assigned, name)) return (x) => x.slots?.[slot];
    const builtIn = this.#builtIn(name);
    if (slot === undefined && !builtIn) throw new Error(`variable "${name}" is unknown in this worker`);
    if (slot === undefined) return builtIn as Getter;
    return builtIn
      ? (x) => x.slots?.[slot] ?? builtIn(x)
      : (x) => x.slots?.[slot] ?? this.#unset(name, slot, x);
  }

  /** The value of a `set` variable that has not been set (nginx ngx_http_rewrite_var). Logged once per request. */
  #unset(name: string, slot: number, x: Exchange): string {
    if (this.core.uninitializedVariableWarn)
      this.log.write('warn', `using uninitialized "${name}" variable`, logContext(x));
    (x.slots ??= [])[slot] = '';
    return '';
  }

  /** A variable whose value depends on itself has no value. */
  #cycle(name: string): Getter {
    return (x) => {
      this.log.write('error', `cycle while evaluating variable "${name}"`, logContext(x));
      return undefined;
    };
  }

  contentType(): (x: Parameters<Getter>[0]) => string {
    const { core } = this.#own;
    if (this.#location.kind === 'exact') return compileContentType(core, this.location.path);
    const known = contentTypes.get(core) ?? compileContentType(core, undefined);
    contentTypes.set(core, known);
    return known;
  }

  acceptsGzip(): (x: Exchange) => boolean {
    return compileAcceptsGzip(this.#own.core, this);
  }

  #builtIn(name: string): Getter | undefined {
    const own = this.#definition(name);
    if (own) return own.compile(this);
    const [prefix, family] = this.#family(name) ?? [];
    // nginx: a prefix alone is a variable without a value.
    if (prefix === name) return () => undefined;
    return prefix === undefined ? undefined : family?.compile(name.slice(prefix.length), this);
  }

  #family(name: string): readonly [prefix: string, family: VariableFamily] | undefined {
    for (const { families = {} } of this.#context.modules) {
      for (const entry of Object.entries(families)) if (name.startsWith(entry[0])) return entry;
    }
    return undefined;
  }

  #definition(name: string): VariableDefinition | undefined {
    for (const { variables } of this.#context.modules)
      if (variables && Object.hasOwn(variables, name)) return variables[name];
    return undefined;
  }

  slot(name: string): number {
    const slot = this.#context.variables.slots[name];
    if (slot === undefined)
      throw new Error(`variable "${name}" has no slot: the plan and this worker disagree`);
    return slot;
  }

  uses(variable: string): boolean {
    return this.#context.variables.used.includes(variable);
  }

  usesFamily(prefix: string): boolean {
    return this.#context.variables.used.some((name) => name.startsWith(prefix));
  }

  needHeader(lowerCaseName: string): void {
    this.#context.needs.headers.add(lowerCaseName);
  }

  needAllHeaders(): void {
    this.#context.needs.allHeaders = true;
  }

  needPeer(): void {
    this.#context.needs.peer = true;
    this.#needsPeer = true;
  }

  /** True if this location needs the peer's address; final when the location is compiled. */
  get needsPeer(): boolean {
    return this.#needsPeer;
  }
}

function fillSlot(slot: number): (x: Exchange, value: string) => void {
  return (x, value) => {
    (x.slots ??= [])[slot] = value;
  };
}

/** Compiles a variable that the configuration defines. A value assigned by `set` takes precedence. */
function definedIn(slot: number, evaluate: Getter, { volatile = false }: VariableDefinition): Getter {
  if (volatile) return (x) => x.slots?.[slot] ?? evaluate(x);
  return (x) => ((x.slots ??= [])[slot] ??= evaluate(x));
}
