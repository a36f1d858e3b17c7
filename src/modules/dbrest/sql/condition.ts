import type { Condition } from '../plan/index.ts';
import { quoteIdentifier } from './identifier.ts';
import type { Parameters } from './statement.ts';
import { arrayLiteral } from './statement.ts';

/** Column types that full text search turns into a document by itself. */
const DOCUMENT = /^(text|json|jsonb|name|character|character varying)\b(?!.*\[\])/;

const TRUTH_SQL = {
  null: 'is null',
  not_null: 'is not null',
  true: 'is true',
  false: 'is false',
  unknown: 'is unknown',
};

/**
 * A condition as SQL. Values have no cast: PostgreSQL then gives them the column's type, and a text that is not of that
 * type is its own error (22P02).
 */
export function conditionSql(condition: Condition, relation: string, parameters: Parameters): string {
  const column = `${relation}.${quoteIdentifier(condition.column.name)}`;
  const test = testSql(condition, column, parameters);
  return condition.negated ? `not (${test})` : test;
}

function testSql(condition: Condition, column: string, parameters: Parameters): string {
  switch (condition.kind) {
    case 'truth':
      return `${column} ${TRUTH_SQL[condition.truth]}`;
    case 'any':
      return `${column} = any(${parameters.bind(arrayLiteral(condition.values))})`;
    case 'binary':
      return `${column} ${condition.operator} ${parameters.bind(condition.value)}`;
    case 'search': {
      const config =
        condition.config === undefined ? '' : `${parameters.bind(condition.config)}::pg_catalog.regconfig, `;
      const document = DOCUMENT.test(condition.column.type)
        ? `pg_catalog.to_tsvector(${config}${column})`
        : column;
      return `${document} @@ pg_catalog.${condition.operator}(${config}${parameters.bind(condition.query)})`;
    }
  }
}
