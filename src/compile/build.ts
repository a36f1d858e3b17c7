import type { ComplexValue } from '../config/index.ts';
import type { AnyModule, Build, LocationFacts } from '../contract/index.ts';
import type { Getter } from '../http/index.ts';
import type { ErrorLog } from '../log/index.ts';
import type { VariablePlan } from '../plan/index.ts';
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
  readonly log: ErrorLog;
  readonly needs: RequestNeeds;
}

/** The build of one location. */
export class LocationBuild implements Build {
  readonly location: LocationFacts;
  readonly log: ErrorLog;
  readonly #context: BuildContext;
  readonly #getter = (name: string): Getter => this.variable(name);

  constructor(location: LocationFacts, context: BuildContext) {
    this.location = location;
    this.log = context.log;
    this.#context = context;
  }

  value(value: ComplexValue): (x: Parameters<Getter>[0]) => string {
    return compileValue(value, this.#getter);
  }

  optionalValue(value: ComplexValue): Getter {
    return compileOptionalValue(value, this.#getter);
  }

  variable(name: string): Getter {
    for (const { variables, families } of this.#context.modules) {
      const own = variables?.[name];
      if (own) return own.compile(this);
      for (const [prefix, family] of Object.entries(families ?? {})) {
        if (name.startsWith(prefix) && name.length > prefix.length)
          return family.compile(name.slice(prefix.length), this);
      }
    }
    const slot = this.slot(name);
    return (x) => x.slots?.[slot];
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
