import { quoteIdentifier } from '../../../postgres/index.ts';
import type { WriteCondition } from '../plan/index.ts';
import { arrayLiteral, type Parameters, ROWS } from './statement.ts';

/** The version of a row as a text, as JSON shows it. */
export function versionSql(column: string, relation: string = ROWS): string {
  return versionText(`${relation}.${quoteIdentifier(column)}`);
}

export function versionText(value: string): string {
  return `(pg_catalog.to_json(${value}) #>> '{}')`;
}

/** The condition that a row has one of the versions; it is part of the statement, which checks it for the rows that it locks. */
export function hasVersionSql(condition: WriteCondition | undefined, parameters: Parameters): string[] {
  if (condition?.kind !== 'match') return [];
  const versions = parameters.bind(arrayLiteral(condition.versions));
  return [`${versionSql(condition.column)} = any(${versions}::pg_catalog.text[])`];
}
