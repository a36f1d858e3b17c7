import type { RequestHead } from '../request/index.ts';

const VERBS: Readonly<Record<string, string>> = {
  GET: 'reads rows of the database',
  HEAD: 'reads rows of the database',
  QUERY: 'reads rows of the database',
  POST: 'inserts rows into the database',
  PUT: 'puts a row into the database',
  PATCH: 'changes rows of the database',
  DELETE: 'deletes rows of the database',
};

/** What a request does, as a phrase without a subject. */
export function doesOf({ resource, method, kind }: RequestHead): string {
  if (kind === 'options') return 'lists the allowed methods';
  if (resource.kind === 'root') return 'describes the API of the database';
  return resource.kind === 'function'
    ? 'calls a function of the database'
    : (VERBS[method] ?? 'queries the database');
}
