import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { RestDatabase } from '../database.ts';
import { noSet } from '../fault/index.ts';
import { type Media, only, type Preferences, type RowRange, rowRange } from '../headers/index.ts';
import { type CallPlan, mediaHandlersOf, planCall } from '../plan/index.ts';
import {
  asJsonObject,
  type CallInput,
  parseCallBody,
  parseCallQuery,
  parseWriteQuery,
  type ReadRequest,
} from '../request/index.ts';
import type { Asker } from './asker.ts';
import { type Asked, compileAsking } from './asking.ts';
import { requestBody } from './request-body.ts';
import { chooseShown } from './showing.ts';
import { withSchema } from './with-schema.ts';

/** All that is decided of a call before the database sees it. */
export interface DecidedCall {
  readonly asked: Asked;
  /** Those that a call honours. */
  readonly preferences: Preferences;
  readonly range: RowRange;
  readonly plan: CallPlan;
  readonly media: Media;
  readonly readOnly: boolean;
  /** There is nothing to be shown. */
  readonly isVoid: boolean;
}

/** Headers, query and body of a call; nothing when there is nobody left to be answered. Throws a `DbrestFault`. */
export function compileCallDecision(config: DbrestConfig, database: RestDatabase) {
  const { extraSearchPath, maxRows, aggregates } = config;
  const ask = compileAsking(config, database);
  return async (x: Exchange, name: string, { identity, watch }: Asker): Promise<DecidedCall | undefined> => {
    const asked = await ask(x);
    const preferences = only(asked.preferences, asked.preferences.handling === 'strict' ? STRICT : HONOURED);
    const asObject = preferences.params === 'single-object';
    const given = x.method === 'POST' ? await posted(x) : parseCallQuery(x.args);
    if (!given) return undefined;
    const range = rowRange(given.read, x.method === 'POST' ? undefined : x.header('range'), maxRows);
    watch?.lap('parse');
    const { schema } = asked;
    const searchPath = [schema, ...extraSearchPath];
    const target = { schema, table: name, role: identity.role, searchPath, maxRows, aggregates };
    const input = asObject ? asJsonObject(given.input) : given.input;
    const { plan, handlers } = await withSchema(database, (known) => {
      const found = planCall({ input, asObject, read: { ...given.read, ...range } }, target, known);
      return { plan: found, handlers: mediaHandlersOf(found.rows, { ...target, known }) };
    });
    const { called, rows } = plan;
    const showable = { rows, handlers, mediaType: plan.showsValues ? called.mediaType : undefined };
    const media = chooseShown(asked, showable, config);
    if (preferences.maxAffected !== undefined && !called.returnsSet) throw noSet();
    watch?.lap('plan');
    const readOnly = x.method !== 'POST' || called.volatility !== 'volatile';
    const isVoid = called.returns.kind === 'void' && media.format !== 'plan';
    return { asked, preferences, range, plan, media: asItIs(media, plan), readOnly, isVoid };
  };
}

const HONOURED = ['params', 'count', 'tx', 'handling', 'timeZone'] as const;
const STRICT = [...HONOURED, 'maxAffected'] as const;

async function posted(x: Exchange): Promise<{ input: CallInput; read: ReadRequest } | undefined> {
  const { rows: read, columns } = parseWriteQuery(x.args);
  const body = await requestBody(x);
  return body && { input: await parseCallBody(body, columns), read };
}

/** A value that is XML is not put into more of it. */
function asItIs(media: Media, { called: { returns }, showsValues }: CallPlan): Media {
  const isXml = showsValues && returns.kind === 'scalar' && returns.type === 'xml';
  return isXml && media.format === 'xml' ? { ...media, format: 'text' } : media;
}
