import type { ComplexValue } from '../config/index.ts';
import type {
  AnyModule,
  Build,
  CoreConfig,
  LocationFacts,
  ServerName,
  VariableDefinition,
} from '../contract/index.ts';
import type { Exchange, Getter, Handler } from '../http/index.ts';
import type { ErrorLog } from '../log/index.ts';
import type { VariablePlan } from '../plan/index.ts';
import type { Counters } from '../zone/index.ts';
import type { ErrorLogs } from './error-logs.ts';
import { compileAcceptsGzip } from './accepts-gzip.ts';
import { compileContentType } from './content-type.ts';
import { compileOptionalValue, compileValue } from './values.ts';

/** What the compiled closures will ask of a request; transports copy no more than that. */
export interface RequestNeeds {
  readonly headers: Set<string>;
  allHeaders: boolean;
  peer: boolean;
}

/** What all locations of one compile share. */
export interface BuildContext {
  readonly modules: readonly AnyModule[];
  readonly variables: VariablePlan;
  readonly errorLogs: ErrorLogs;
  readonly prefix: string;
  readonly needs: RequestNeeds;
  readonly metrics: Counters;
}

/** What belongs to one location alone. */
export interface LocationOwn {
  readonly core: CoreConfig;
  /** Of the server that it belongs to. */
  readonly serverNames: readonly ServerName[];
  /** The variables that its configuration defines, by name. */
  readonly defined: Readonly<Record<string, VariableDefinition>>;
  /** Its `if` blocks, by their place in it. */
  readonly blocks: ReadonlyMap<number, Handler>;
}

/** The build of one location. */
export class LocationBuild implements Build {
  readonly location: LocationFacts;
  readonly prefix: string;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  readonly #own: LocationOwn;
  readonly #context: BuildContext;
  readonly #getter = (name: string): Getter => this.variable(name);

  constructor(location: LocationFacts, own: LocationOwn, context: BuildContext) {
    this.location = location;
    this.#own = own;
    this.prefix = context.prefix;
    this.log = context.errorLogs.of(own.core.errorLogs);
    this.metrics = context.metrics;
    this.#context = context;
  }

  value(value: ComplexValue): (x: Parameters<Getter>[0]) => string {
    return compileValue(value, this.#getter);
  }

  optionalValue(value: ComplexValue): Getter {
    return compileOptionalValue(value, this.#getter);
  }

  get core(): CoreConfig {
    return this.#own.core;
  }

  get serverNames(): readonly ServerName[] {
    return this.#own.serverNames;
  }

  block(nth: number): Handler {
    const block = this.#own.blocks.get(nth);
    if (!block) throw new Error(`no block stands at place ${nth}: the plan and this worker disagree`);
    return block;
  }

  assign(name: string): (x: Exchange, value: string) => void {
    const assign = this.#definition(name)?.assign;
    if (assign) return assign;
    const slot = this.slot(name);
    return (x, value) => {
      (x.slots ??= [])[slot] = value;
    };
  }

  variable(name: string): Getter {
    const defined = Object.hasOwn(this.#own.defined, name) ? this.#own.defined[name] : undefined;
    const slot = this.#context.variables.slots[name];
    if (defined) return slot === undefined ? defined.compile(this) : keptIn(slot, defined.compile(this));
    const builtIn = this.#builtIn(name);
    if (slot === undefined && !builtIn) throw new Error(`variable "${name}" is unknown in this worker`);
    if (slot === undefined) return builtIn as Getter;
    // nginx: `set $arg_x` hides the argument from then on.
    return builtIn ? (x) => x.slots?.[slot] ?? builtIn(x) : (x) => x.slots?.[slot];
  }

  contentType(): (x: Parameters<Getter>[0]) => string {
    return compileContentType(this.#own.core, this.location);
  }

  acceptsGzip(): (x: Exchange) => boolean {
    return compileAcceptsGzip(this.#own.core, this);
  }

  #builtIn(name: string): Getter | undefined {
    const own = this.#definition(name);
    if (own) return own.compile(this);
    for (const { families } of this.#context.modules) {
      for (const [prefix, family] of Object.entries(families ?? {})) {
        if (name.startsWith(prefix) && name.length > prefix.length)
          return family.compile(name.slice(prefix.length), this);
      }
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
  }
}

/** A value that is evaluated once per request, and that `set` may have replaced before. */
function keptIn(slot: number, evaluate: Getter): Getter {
  return (x) => ((x.slots ??= [])[slot] ??= evaluate(x));
}
