import { LRUCache } from 'lru-cache';
import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { RestDatabase } from '../database.ts';
import { methodNotAllowed, noRoot, notAcceptable } from '../fault/index.ts';
import { acceptedMedia, only } from '../headers/index.ts';
import { type ApiFacts, writeDocument } from '../openapi/index.ts';
import { EVERY_RIGHT, rightsOf, type Schema } from '../schema/index.ts';
import { inSlices } from '../turn.ts';
import { setHead } from './answer-head.ts';
import type { Asker } from './asker.ts';
import { compileAsking } from './asking.ts';
import { compileTransaction } from './transaction.ts';

const OPENAPI = 'application/openapi+json';
const JSON_TYPE = 'application/json';
/** Descriptions that are kept: one for each role and schema that asked lately. */
const MOST_DOCUMENTS = 16;

/**
 * GET and HEAD of the root: the API as OpenAPI 3.1, as far as the role may use it. Runs an empty transaction first: a role
 * that may not be taken, or a `dbrest_pre_request` that refuses, gets no description either.
 */
export function compileDiscovery(
  config: DbrestConfig,
  { database, api }: { readonly database: RestDatabase; readonly api: ApiFacts },
): (x: Exchange, asker: Asker) => Promise<void> {
  const ask = compileAsking(config, database);
  const transaction = compileTransaction(config, database);
  const documents = new Documents(config, api);

  return async (x, asker) => {
    if (config.openapi === 'off') throw noRoot();
    if (x.method !== 'GET' && x.method !== 'HEAD') throw methodNotAllowed(x.method, 'OPTIONS,GET,HEAD');
    const asked = await ask(x);
    const type = documentType(x.header('accept'));
    const known = await database.schema.current();
    const main = { statement: { text: 'select 1', values: [] } };
    const sent = transaction(x, { ...asker, asked }, { main, readOnly: true });
    const results = await database.read(sent.steps, { reader: x, rules: config });
    asker.watch?.lap('transaction');
    const body = await documents.of({ known, schema: asked.schema, role: asker.identity.role });
    const chosen = sent.responses(results);
    const preferences = only(asked.preferences, ['handling', 'tx', 'timeZone']);
    const whose = { config, schema: asked.schema, preferences, watch: asker.watch };
    const said = setHead(x, chosen, { ...whose, status: 200, own: [] });
    const head = Buffer.from(`{"openapi":"3.1.0","servers":[{"url":${serverUrl(x.requestUri)}}],`);
    x.send(said.status, said.contentType ?? `${type}; charset=utf-8`, Buffer.concat([head, body]));
  };
}

/** As PostgREST: the type of its own unless plain JSON is wanted more. Throws PGRST107. */
function documentType(accept = '*/*'): string {
  const accepted = acceptedMedia(accept);
  if (accept === '*/*' || accept === '') return OPENAPI;
  for (const { text, media } of accepted) {
    const name = (text.split(';', 1)[0] ?? '').trimEnd().toLowerCase();
    if (name === OPENAPI || name === '*/*' || name === 'application/*') return OPENAPI;
    if (media?.name === JSON_TYPE) return JSON_TYPE;
  }
  throw notAcceptable(accepted.map(({ text }) => text));
}

/**
 * The location, relative to where the document was read: right for a client behind any proxy. What it is called comes from
 * the request, in JSON.
 */
function serverUrl(requestUri: string): string {
  const path = requestUri.replace(/[?#].*$/s, '');
  const place = path.endsWith('/') ? path.slice(0, -1) : path;
  const name = place.slice(place.lastIndexOf('/') + 1);
  return JSON.stringify(name === '' ? './' : `${place === path ? './' : '../'}${name}`);
}

interface Wanted {
  readonly known: Schema;
  readonly schema: string;
  readonly role: string;
}

/** Descriptions of what is known at the moment, the latest asked for last. */
class Documents {
  readonly #ignoresRights: boolean;
  readonly #api: ApiFacts;
  #known: Schema | undefined;
  readonly #byKey = new LRUCache<string, Promise<Buffer>>({ max: MOST_DOCUMENTS });

  constructor({ openapi }: DbrestConfig, api: ApiFacts) {
    this.#ignoresRights = openapi === 'ignore-privileges';
    this.#api = api;
  }

  of({ known, schema, role }: Wanted): Promise<Buffer> {
    if (known !== this.#known) this.#byKey.clear();
    this.#known = known;
    const key = JSON.stringify(this.#ignoresRights ? [schema] : [schema, role]);
    const kept = this.#byKey.get(key);
    if (kept) return kept;
    const rights = this.#ignoresRights ? EVERY_RIGHT : rightsOf(role, known);
    const document = inSlices(writeDocument({ known, schema, rights, api: this.#api }));
    this.#byKey.set(key, document);
    document.catch(() => this.#byKey.delete(key));
    return document;
  }
}
