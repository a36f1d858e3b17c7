import type { Value } from '../plan/index.ts';
import { qualifiedName, quoteIdentifier } from './identifier.ts';
import type { Writing } from './writing.ts';
import { rowOf } from './writing.ts';

const JSON_TYPE = /^jsonb?$/;

/** A value of a row of `relation`. The keys of a path are the client's, so they get bound. */
export function valueSql({ of, path }: Value, relation: string, writing: Writing): string {
  const [base, type] =
    of.kind === 'column'
      ? [`${relation}.${quoteIdentifier(of.column.name)}`, of.column.type]
      : [`${qualifiedName(of.call)}(${rowOf(relation, writing)})`, of.call.type];
  if (path.length === 0) return base;
  const json = JSON_TYPE.test(type) ? base : `pg_catalog.to_jsonb(${base})`;
  const steps = path.map(({ arrow, key }) => {
    return `${arrow}${writing.parameters.bind(String(key))}::${typeof key === 'number' ? 'integer' : 'text'}`;
  });
  return `(${json}${steps.join('')})`;
}
