import type { Fact } from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import { parametersOf, parseReadQuery } from '../request/index.ts';

/** What the query of a request says as far as no schema is needed. Throws what a malformed one is answered with. */
export function queryFacts({ method, args }: Exchange): readonly Fact[] {
  if (method === 'GET' || method === 'HEAD') parseReadQuery(args);
  return [...parametersOf(args)].map(([key, value]) => ({ label: labelOf(key), value: textOf(key, value) }));
}

const CLAUSES: ReadonlySet<string> = new Set([
  'select',
  'order',
  'limit',
  'offset',
  'columns',
  'on_conflict',
]);

function labelOf(key: string): string {
  const last = key.slice(key.lastIndexOf('.') + 1);
  return CLAUSES.has(last) ? last : 'filter';
}

function textOf(key: string, value: string): string {
  return CLAUSES.has(key) ? value : `${key} ${value}`;
}
