import { type LocationView, type TrialApi, TrialRefusal } from '../../../contract/index.ts';
import type { Exchange, Getter } from '../../../http/index.ts';
import { ControlFault, type Query, type Surface } from '../endpoint.ts';
import type { ApiDescription, ApiLocation, ApiPage, Trial, TrialOutcome } from './contract.ts';

/** Longest body of a POST, which contains the body of the tried request. */
export const MOST_TRIAL_BYTES = 128 * 1024;
const OFF = 'trials are off: "control_console_api on" lets the console make them';

/** Requests that an operator tries on REST locations, if the configuration allows it. */
export class TrialDesk {
  readonly #isOn: boolean;
  readonly #worker: Surface['resources']['worker'];
  readonly #userOf: Getter | undefined;

  constructor({ config, resources: { worker }, build }: Surface) {
    this.#isOn = config.consoleApi;
    this.#worker = worker;
    this.#userOf = config.consoleApi ? build.variable('remote_user') : undefined;
  }

  /** Returns the locations, or the description of one. Rejects with a `ControlFault`. */
  page(query: Query): ApiPage | Promise<ApiDescription> {
    if (!this.#isOn) return { isOn: false, apis: [] };
    const id = query.get('api') ?? '';
    if (id !== '') return refusing(() => this.#api(id).describe());
    return { isOn: true, apis: this.#worker.trials.map((api, index) => this.#shown(api, index)) };
  }

  /** Logs a trial, then makes it. Rejects with a `ControlFault`. */
  try(body: unknown, x: Exchange): Promise<TrialOutcome> {
    if (!this.#isOn) throw new ControlFault(403, OFF);
    const { api, ...trial } = readTrial(body);
    const tried = this.#api(api);
    this.#log(trial, x);
    return refusing(() => tried.run(trial, x));
  }

  /** Logs the user, the role and the request, without its query, which may contain secrets. */
  #log({ role, method, target, runs }: Omit<Trial, 'api'>, x: Exchange): void {
    const user = this.#userOf?.(x) ?? '';
    const who = user === '' ? 'an unnamed user' : `"${user}"`;
    const what = logged(`${method} ${target.replace(/[?#].*$/s, '')}`);
    const how = runs ? 'runs' : 'explains';
    const after = runs ? ', then rolls it back' : '';
    x.writeLog(`console: ${who} ${how} ${what} as role "${logged(role)}"${after}`);
  }

  /** Finds a location by its id. The id of another configuration is refused: it may name another location here. */
  #api(id: string): TrialApi {
    const found = this.#worker.trials.find((api, index) => idOf(api, index) === id);
    if (!found) throw new ControlFault(404, 'there is no such location any more: reload the page');
    return found;
  }

  #shown(api: TrialApi, index: number): ApiLocation {
    const { kind, path, place } = api.location;
    const isFixed = kind === 'prefix' || kind === 'exact';
    return {
      id: idOf(api, index),
      label: labelOf(this.#worker.view.servers, place) ?? path,
      ...(isFixed && { path: path.replace(/\/$/, '') }),
    };
  }
}

const MOST_LOGGED = 300;

/** Shortens a text that has not been checked yet, for one line of the log. */
function logged(text: string): string {
  return text.length > MOST_LOGGED ? `${text.slice(0, MOST_LOGGED)}…` : text;
}

function idOf({ location: { place } }: TrialApi, index: number): string {
  return `${index} ${place}`;
}

type Servers = Surface['resources']['worker']['view']['servers'];

function labelOf(servers: Servers, place: string): string | undefined {
  for (const { label, root } of servers) {
    const route = routeAt(root, place);
    if (route) return `${label} ${route.text}`.trim();
  }
  return undefined;
}

function routeAt(route: LocationView, place: string): LocationView | undefined {
  if (route.place === place) return route;
  for (const inner of route.locations) {
    const found = routeAt(inner, place);
    if (found) return found;
  }
  return undefined;
}

async function refusing<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof TrialRefusal) throw new ControlFault(error.status, error.message);
    throw error;
  }
}

type Json = Readonly<Record<string, unknown>>;

/** Reads a trial. Throws a `ControlFault` (400). */
function readTrial(body: unknown): Trial {
  const given = objectOf(body, 'the body');
  const text = (name: string): string => {
    const value = given[name];
    if (typeof value !== 'string') throw new ControlFault(400, `"${name}" must be a text`);
    return value;
  };
  if (typeof given['runs'] !== 'boolean') throw new ControlFault(400, '"runs" must be true or false');
  return {
    api: text('api'),
    role: text('role'),
    claims: objectOf(given['claims'], '"claims"'),
    method: text('method'),
    target: text('target'),
    headers: readHeaders(given['headers']),
    body: text('body'),
    runs: given['runs'],
  };
}

function objectOf(value: unknown, what: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw new ControlFault(400, `${what} must be an object`);
}

function readHeaders(value: unknown): Trial['headers'] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [undefined];
  return list.map((pair) => {
    const [name, text] = Array.isArray(pair) ? (pair as readonly unknown[]) : [];
    if (typeof name !== 'string' || typeof text !== 'string')
      throw new ControlFault(400, '"headers" must be a list of names and values');
    return [name, text] as const;
  });
}
