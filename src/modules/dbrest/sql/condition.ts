import { quoteIdentifier } from '../../../postgres/index.ts';
import type { Aggregation, Cast, ConditionOn, Embed, Value, WriteCondition } from '../plan/index.ts';
import type { TableName } from '../schema/index.ts';
import {
  arrayLiteral,
  qualifiedName,
  rowOf,
  type StatementDraft,
  type Parameters,
  ROWS,
} from './statement.ts';

const JSON_TYPE = /^jsonb?$/;

/** The SQL of a value in a row of `relation`. The keys of a JSON path are bound, because they come from the client. */
export function valueSql({ of, path }: Value, relation: string, writing: StatementDraft): string {
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

/** The SQL of an aggregate of rows of `relation`. */
export function aggregationSql(
  { aggregate, value, cast }: Aggregation,
  relation: string,
  writing: StatementDraft,
): string {
  const over = value ? casted(valueSql(value, relation, writing), cast) : '*';
  return `pg_catalog.${aggregate}(${over})`;
}

/** A value with a cast. */
export function casted(value: string, type: Cast | undefined): string {
  if (type === undefined) return value;
  return `${value}::${typeof type === 'string' ? type : `${qualifiedName(type)}${type.isArray ? '[]' : ''}`}`;
}

/** The operand that a condition tests: a value of a row, or an aggregate of a group. */
type Tested = Value | Aggregation;

function testedSql(tested: Tested, relation: string, writing: StatementDraft): string {
  return 'aggregate' in tested
    ? aggregationSql(tested, relation, writing)
    : valueSql(tested, relation, writing);
}

const TRUTH_SQL = {
  null: 'is null',
  not_null: 'is not null',
  true: 'is true',
  false: 'is false',
  unknown: 'is unknown',
};

/** The context of a condition. */
export interface ConditionScope {
  /** Alias of the filtered rows. */
  readonly relation: string;
  readonly writing: StatementDraft;
  /** The SQL of the test that an embed has a row. */
  readonly isThere: (embed: Embed) => string;
}

/**
 * The SQL of a condition. Operands have no cast, so PostgreSQL infers the type of the column; an invalid text is its
 * error 22P02.
 */
export function conditionSql(condition: ConditionOn<Tested>, at: ConditionScope): string {
  const test = testSql(condition, at);
  return condition.negated ? `not (${test})` : test;
}

function testSql(condition: ConditionOn<Tested>, at: ConditionScope): string {
  const { relation, writing } = at;
  const { parameters } = writing;
  switch (condition.kind) {
    case 'and':
    case 'or':
      return `(${condition.terms.map((term) => conditionSql(term, at)).join(` ${condition.kind} `)})`;
    case 'none':
      return `not (${at.isThere(condition.embed)})`;
    case 'truth':
      return `${testedSql(condition.value, relation, writing)} ${TRUTH_SQL[condition.truth]}`;
    case 'list': {
      const value = testedSql(condition.value, relation, writing);
      return `${value} = any(${readSql(parameters.bind(arrayLiteral(condition.values)), condition.read, true)})`;
    }
    case 'binary': {
      const value = testedSql(condition.value, relation, writing);
      const { operator, quantifier } = condition;
      const operand = readSql(parameters.bind(condition.operand), condition.read, quantifier !== undefined);
      return `${value} ${operator} ${quantifier ? `${quantifier}(${operand})` : operand}`;
    }
    case 'search':
      return searchSql(condition, at);
  }
}

/** Converts an operand, or each element of an array, by the function of the domain. */
export function readSql(operand: string, reader: TableName | undefined, isArray = false): string {
  if (!reader) return operand;
  const call = qualifiedName(reader);
  return isArray
    ? `array(select ${call}(v) from pg_catalog.unnest(${operand}::text[]) v)`
    : `${call}(${operand}::text)`;
}

function searchSql(
  condition: ConditionOn<Tested> & { kind: 'search' },
  { relation, writing }: ConditionScope,
): string {
  const { parameters } = writing;
  const value = testedSql(condition.value, relation, writing);
  const config =
    condition.config === undefined ? '' : `${parameters.bind(condition.config)}::pg_catalog.regconfig, `;
  const document = condition.isVector ? value : `pg_catalog.to_tsvector(${config}${value})`;
  return `${document} @@ pg_catalog.${condition.operator}(${config}${parameters.bind(condition.query)})`;
}

/** The version of a row as a text, as JSON shows it. */
export function versionSql(column: string, relation: string = ROWS): string {
  return versionText(`${relation}.${quoteIdentifier(column)}`);
}

export function versionText(value: string): string {
  return `(pg_catalog.to_json(${value}) #>> '{}')`;
}

/** The condition that a row has one of the versions. The statement itself checks it for the rows that it locks. */
export function hasVersionSql(condition: WriteCondition | undefined, parameters: Parameters): string[] {
  if (condition?.kind !== 'match') return [];
  const versions = parameters.bind(arrayLiteral(condition.versions));
  return [`${versionSql(condition.column)} = any(${versions}::pg_catalog.text[])`];
}
