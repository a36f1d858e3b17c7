import { setImmediate } from 'node:timers/promises';
import type { Build } from '../../../contract/index.ts';
import { compileReadGate, type Exchange, isRead, SITE_HEADERS, writeRefusal } from '../../../http/index.ts';
import { type Dictionary, DictionaryFault, type DictionaryPart } from '../../../zone/index.ts';
import type { Endpoint, Surface } from '../endpoint.ts';
import { prefixOf, WHOLE_INVENTORY } from '../resources.ts';
import { KeyvalFault, readPairs, readPatch } from './body.ts';
import type { KeyvalZone } from './directives.ts';

const MAX_BODY_BYTES = 1_048_576;
/** The page that errors of NGINX Plus refer to. */
const HREF = 'https://nginx.org/en/docs/http/ngx_http_api_module.html';
const READS: readonly string[] = ['GET', 'HEAD'];
const METHODS: readonly string[] = [...READS, 'POST', 'PATCH', 'DELETE'];

/** A keyval zone as the API uses it. */
interface OpenKeyval extends KeyvalZone {
  readonly name: string;
  readonly timeoutMs: number;
  readonly dictionary: Dictionary;
}

/** `/runtime/keyval/ZONE`: the entries of a keyval zone, with the bodies of NGINX Plus (`/api/9/http/keyvals/ZONE`). */
export const keyval: Endpoint = {
  name: 'keyval',
  path: 'keyval/',
  description: 'the entries of keyval zones; POST, PATCH and DELETE change them, as in NGINX Plus',
  writes: true,
  isTree: true,
  compile(surface) {
    const { build } = surface;
    for (const name of SITE_HEADERS) build.needHeader(name);
    const zones = zonesOf(surface);
    const zoneIn = compileZoneName(surface);
    const refusalOf = compileGate(surface);
    const fail = compileFailure(build);
    const act = (x: Exchange): void | Promise<void> => {
      const refusal = refusalOf(x);
      if (refusal !== undefined) throw new KeyvalFault(403, 'Forbidden', refusal);
      const name = zoneIn(x);
      const methods = name === '' ? READS : METHODS;
      if (!methods.includes(x.method)) {
        x.response.setHeader('Allow', methods.join(', '));
        throw new KeyvalFault(405, 'MethodDisabled', 'method disabled');
      }
      if (name === '') return sendAll(x, zones);
      const zone = zones.get(name);
      if (!zone) throw new KeyvalFault(404, 'KeyvalNotFound', 'keyval not found');
      if (isRead(x)) return sendZone(x, zone);
      return x.method === 'DELETE' ? clear(x, zone) : change(x, zone);
    };
    return (x) => {
      try {
        return act(x)?.catch((error: unknown) => fail(x, error));
      } catch (error) {
        return fail(x, error);
      }
    };
  },
};

function zonesOf({ config, resources }: Surface): ReadonlyMap<string, OpenKeyval> {
  return new Map(
    (config.dictionaries ?? []).flatMap(({ name, timeoutMs, keyval: zone }) => {
      const dictionary = resources.dictionaries.get(name);
      return zone && dictionary ? [[name, { ...zone, name, timeoutMs, dictionary }]] : [];
    }),
  );
}

/** The name of a zone is what follows the last slash, so that a location can have a path of NGINX Plus. */
function compileZoneName({ config: { api }, build: { location } }: Surface): (x: Exchange) => string {
  const prefix = api === WHOLE_INVENTORY ? `${prefixOf(location)}keyval/` : prefixOf(location);
  const start = location.kind === 'prefix' || api === WHOLE_INVENTORY ? prefix.length : 0;
  return ({ uri }) => uri.slice(Math.max(start, uri.lastIndexOf('/') + 1));
}

function compileGate({ config, build, resources: { worker } }: Surface): (x: Exchange) => string | undefined {
  if (config.crossSite) return () => undefined;
  const knowsHost = (host: string): boolean => worker.view.knowsHost(host);
  const gate = compileReadGate(build, knowsHost);
  return (x) => (isRead(x) ? gate(x) : writeRefusal(x, knowsHost));
}

function compileFailure(build: Build): (x: Exchange, error: unknown) => void {
  const requestId = build.variable('request_id');
  return (x, error) => {
    const fault = faultOf(error);
    if (fault.status === 503) x.response.setHeader('Retry-After', '1');
    const { status, code, message: text } = fault;
    const body = { error: { status, text, code }, request_id: requestId(x) ?? '', href: HREF };
    x.send(status, 'application/json', JSON.stringify(body));
  };
}

function faultOf(error: unknown): KeyvalFault {
  if (error instanceof KeyvalFault) return error;
  if (!(error instanceof DictionaryFault)) throw error;
  const { refusal, message } = error;
  if (refusal === 'busy') return new KeyvalFault(503, 'KeyvalBusy', 'the zone is busy');
  if (refusal === 'no memory') return new KeyvalFault(507, 'KeyvalOutOfMemory', 'the zone is full');
  return new KeyvalFault(400, 'KeyvalFormatError', message);
}

/** Sends the value of one key (`?key=`), or all entries. */
async function sendZone(x: Exchange, { dictionary }: OpenKeyval): Promise<void> {
  const key = argumentOf(x, 'key');
  if (key === undefined) return x.send(200, 'application/json', await textOf(dictionary));
  const value = key === '' ? undefined : dictionary.get(key);
  if (value === undefined) throw new KeyvalFault(404, 'KeyvalKeyNotFound', 'keyval key not found');
  x.send(200, 'application/json', JSON.stringify({ [key]: String(value) }));
}

/** Sends the entries of all zones, or with an empty `fields` their names. */
async function sendAll(x: Exchange, zones: ReadonlyMap<string, OpenKeyval>): Promise<void> {
  const names = [...zones.keys()];
  if (argumentOf(x, 'fields') === '') return x.send(200, 'application/json', JSON.stringify(names));
  const texts: string[] = [];
  for (const { name, dictionary } of zones.values())
    texts.push(`${JSON.stringify(name)}:${await textOf(dictionary)}`);
  x.send(200, 'application/json', `{${texts.join(',')}}`);
}

async function textOf(dictionary: Dictionary): Promise<string> {
  const pairs: string[] = [];
  for await (const { entries } of partsOf(dictionary)) {
    for (const { key, value } of entries)
      pairs.push(`${JSON.stringify(key)}:${JSON.stringify(String(value))}`);
  }
  return `{${pairs.join(',')}}`;
}

/** Reads a dictionary in parts, between which other requests are served. */
async function* partsOf(dictionary: Dictionary): AsyncIterable<DictionaryPart> {
  for (let cursor: number | undefined = 0; cursor !== undefined;) {
    const part: DictionaryPart = dictionary.scan(cursor);
    yield part;
    cursor = part.next;
    if (cursor !== undefined) await setImmediate();
  }
}

/** The last argument of a name; `undefined` without one. */
function argumentOf(x: Exchange, name: string): string | undefined {
  try {
    const found = x.args.split('&').findLast((pair) => pair === name || pair.startsWith(`${name}=`));
    return found === undefined ? undefined : decodeURIComponent(found.slice(name.length + 1));
  } catch {
    throw new KeyvalFault(400, 'KeyvalFormatError', `invalid argument "${name}"`);
  }
}

async function change(x: Exchange, zone: OpenKeyval): Promise<void> {
  const body = await x.readBody(MAX_BODY_BYTES);
  // Without a body, the response has been sent already or the client has gone.
  if (!body) return;
  if (x.method === 'POST') {
    add(body.toString(), zone);
    return x.send(201, '', '');
  }
  patch(body.toString(), zone);
  x.send(204, '', '');
}

/** Adds new keys: all of them or none. */
function add(text: string, zone: OpenKeyval): void {
  const { dictionary } = zone;
  const pairs = readPairs(text, zone);
  if (pairs.length > 1 && dictionary.facts().entries > 0)
    throw new KeyvalFault(400, 'KeyvalFormatError', 'only one key can be added');
  const added: string[] = [];
  try {
    for (const { key, value, expireMs } of pairs) {
      if (!dictionary.add(key, value, expireMs))
        throw new KeyvalFault(409, 'KeyvalKeyExists', `key "${key}" already exists`);
      added.push(key);
    }
  } catch (error) {
    for (const key of added) dictionary.delete(key);
    throw error;
  }
}

/** Changes the value or the lifetime of a key, or deletes it. */
function patch(text: string, zone: OpenKeyval): void {
  const { dictionary } = zone;
  const { key, value, expireMs } = readPatch(text, zone);
  if (value === null ? dictionary.delete(key) : replace(dictionary, { key, value, expireMs })) return;
  throw new KeyvalFault(404, 'KeyvalKeyNotFound', 'keyval key not found');
}

function replace(
  dictionary: Dictionary,
  { key, value, expireMs }: { key: string; value: string | undefined; expireMs: number | undefined },
): boolean {
  const next = value ?? dictionary.get(key);
  return next !== undefined && dictionary.replace(key, next, expireMs);
}

async function clear(x: Exchange, { dictionary }: OpenKeyval): Promise<void> {
  for await (const { entries } of partsOf(dictionary)) for (const { key } of entries) dictionary.delete(key);
  x.send(204, '', '');
}
