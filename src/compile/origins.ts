import type { ComplexValue } from '../config/index.ts';
import type { AnyModule, Build } from '../contract/index.ts';
import type { LocationPlan, ServerPlan } from '../plan/index.ts';
import type { Origin } from '../upstream/index.ts';
import type { BuildContext } from './location-build.ts';

/** The values that `set` assigns to variables in one server, by name. A request never leaves its server. */
type Assignments = ReadonlyMap<string, readonly ComplexValue[]>;

/** Values with more alternatives or a deeper nesting count as filled by clients. */
const MAX_ALTERNATIVES = 64;
const MAX_DEPTH = 6;

/** Variables whose text the client chooses. */
const CLIENT_VARIABLES =
  /^(?:(?:arg|http|cookie)_.+|args|query_string|host|request|request_body|request_filename|content_type|remote_user|ssl_server_name)$/;
/** Also chosen by the client, but beginning with a slash, or with the question mark of `$is_args`. */
const PATHS: ReadonlySet<string> = new Set(['uri', 'document_uri', 'request_uri', 'is_args']);

const CLIENT: Origin = { by: 'client' };
const PATH: Origin = { by: 'path' };
const CONFIGURATION: Origin = { by: 'configuration' };

/** Compiles `build.origins` for the locations of one server. The assignments are collected on first use. */
export function compileOrigins(plan: ServerPlan, { modules, variables }: Compiling): Build['origins'] {
  let origins: Origins | undefined;
  return (value) => (origins ??= new Origins(assignmentsOf(plan, modules), variables.captured)).of(value);
}

type Compiling = Pick<BuildContext, 'modules' | 'variables'>;

/** Collects the assignments of all locations of a server. */
function assignmentsOf({ root, named }: ServerPlan, modules: readonly AnyModule[]): Assignments {
  const found = new Map<string, ComplexValue[]>();
  const waiting: LocationPlan[] = [root, ...named];
  for (let location = waiting.pop(); location; location = waiting.pop()) {
    for (const { name, assigns } of modules) {
      const config = location.modules[name];
      for (const { variable, value } of (config && assigns?.(config)) ?? []) {
        const values = found.get(variable) ?? [];
        found.set(variable, values);
        values.push(value);
      }
    }
    waiting.push(...location.locations, ...(location.blocks ?? []).map(({ plan }) => plan));
  }
  return found;
}

/** Resolves values to the origins of their pieces. */
class Origins {
  readonly #assignments: Assignments;
  readonly #captured: Readonly<Record<string, true>>;

  constructor(assignments: Assignments, captured: Readonly<Record<string, true>>) {
    this.#assignments = assignments;
    this.#captured = captured;
  }

  of({ parts }: ComplexValue, depth = 0): readonly (readonly Origin[])[] {
    let all: readonly (readonly Origin[])[] = [[]];
    for (const part of parts) {
      const added =
        typeof part === 'object' && 'variable' in part ? this.#variable(part.variable, depth) : undefined;
      const more = added ?? [[typeof part === 'string' ? part : CLIENT]];
      if (all.length * more.length > MAX_ALTERNATIVES) return [[CLIENT]];
      all = all.flatMap((before) => more.map((behind) => [...before, ...behind]));
    }
    return all;
  }

  #variable(name: string, depth: number): readonly (readonly Origin[])[] {
    if (PATHS.has(name)) return [[PATH]];
    if (CLIENT_VARIABLES.test(name) || depth === MAX_DEPTH) return [[CLIENT]];
    const assigned = (this.#assignments.get(name) ?? []).flatMap((value) => this.of(value, depth + 1));
    const captured = Object.hasOwn(this.#captured, name) ? [[CLIENT]] : [];
    const all = [...assigned, ...captured];
    return all.length > 0 ? all : [[CONFIGURATION]];
  }
}
