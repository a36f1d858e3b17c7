import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { RestDatabase } from '../database.ts';
import { type Media, only, type Preference, type Preferences } from '../headers/index.ts';
import {
  type Context,
  mediaHandlersOf,
  planDelete,
  planInsert,
  type PlannedWrite,
  planPut,
  planUpdate,
  writtenTable,
} from '../plan/index.ts';
import { parseWriteQuery, readWritten, type WriteQuery, type WrittenBody } from '../request/index.ts';
import type { BoundValue } from '../sql/index.ts';
import type { Asker } from './asker.ts';
import { type Asked, compileAsking } from './asking.ts';
import { requestBody } from './request-body.ts';
import { chooseShown } from './showing.ts';
import { withSchema } from './with-schema.ts';

export type WriteMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** All that is decided of a write before the database sees it. */
export interface DecidedWrite {
  readonly method: WriteMethod;
  readonly asked: Asked;
  /** Those that this write honours. */
  readonly preferences: Preferences;
  readonly plan: PlannedWrite;
  readonly media: Media;
  /** JSON of the rows; null without any. */
  readonly body: BoundValue;
}

const ALWAYS: readonly Preference[] = ['return', 'count', 'tx', 'handling', 'timeZone'];
const HONOURED: Readonly<Record<WriteMethod, readonly Preference[]>> = {
  POST: [...ALWAYS, 'resolution', 'missing'],
  PUT: ALWAYS,
  PATCH: [...ALWAYS, 'missing', 'maxAffected'],
  DELETE: [...ALWAYS, 'maxAffected'],
};

/** Headers, query and body of a write to a plan; `undefined` when the request needs no answer any more. */
export function compileWriteDecision(
  config: DbrestConfig,
  database: RestDatabase,
): (x: Exchange, table: string, asker: Asker) => Promise<DecidedWrite | undefined> {
  const { extraSearchPath, aggregates } = config;
  const ask = compileAsking(config, database);
  return async (x, table, { identity, watch }) => {
    const method = x.method as WriteMethod;
    const asked = await ask(x);
    const query = parseWriteQuery(x.args);
    const received = method === 'DELETE' ? undefined : await requestBody(x);
    if (method !== 'DELETE' && !received) return undefined;
    const body = received && (await readWritten(received, query.columns !== undefined));
    watch?.lap('parse');
    const { schema } = asked;
    const searchPath = [schema, ...extraSearchPath];
    const target = { schema, table, role: identity.role, searchPath, aggregates };
    const { plan, handlers } = await withSchema(database, (known) => {
      const context = { ...target, known };
      const found = planned({ method, query, body, preferences: asked.preferences }, context);
      return { plan: found, handlers: mediaHandlersOf(found.answer, context) };
    });
    const media = chooseShown(asked, { rows: plan.answer, handlers }, config);
    watch?.lap('plan');
    const preferences = applied(asked.preferences, method, plan);
    return { method, asked, preferences, plan, media, body: body?.json ?? null };
  };
}

interface Wanted {
  readonly method: WriteMethod;
  readonly query: WriteQuery;
  readonly body: WrittenBody | undefined;
  readonly preferences: Preferences;
}

function planned({ method, query, body, preferences }: Wanted, context: Context): PlannedWrite {
  const table = writtenTable(context, context.known);
  if (!body) return planDelete(query, table, context);
  const request = { query, body, defaults: preferences.missing === 'default' };
  switch (method) {
    case 'POST': {
      const resolution =
        preferences.resolution && (preferences.resolution === 'merge-duplicates' ? 'merge' : 'ignore');
      return planInsert({ ...request, resolution }, table, context);
    }
    case 'PUT':
      return planPut(request, table, context);
    case 'PATCH':
    case 'DELETE':
      return planUpdate(request, table, context);
  }
}

/** What has no effect on this very write is not honoured. */
function applied(asked: Preferences, method: WriteMethod, { write }: PlannedWrite): Preferences {
  const isUpsert = write.kind === 'insert' && write.conflict !== undefined;
  const isBounded = asked.handling === 'strict';
  const honoured = HONOURED[method].filter((name) => {
    return (name !== 'resolution' || isUpsert) && (name !== 'maxAffected' || isBounded);
  });
  return only(asked, honoured);
}
