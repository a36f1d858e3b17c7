import { quoteIdentifier } from '../../../postgres/index.ts';
import type { CallPlan, PlannedCall } from '../plan/index.ts';
import type { CallInput } from '../request/index.ts';
import type { Argument } from '../schema/index.ts';
import { formedStep, guessSql } from './shape.ts';
import { arrayLiteral, type Parameters, qualifiedName, ROWS, type RowSource } from './statement.ts';
import type { Work } from './transaction.ts';

/** The statements of a call. The main one runs the function once and returns rows and counts. */
export function callWork({ request, call, rows, form, preferences, readOnly, held }: PlannedCall): Work {
  const { called, showsValues } = call;
  const { features } = request.head;
  const source = callSource(call);
  const isPlanned = !form.media.plan && preferences.count === 'planned';
  const values = showsValues ? called.name : undefined;
  // A volatile function may have effects that a rollback does not undo.
  const repeatable = readOnly && called.volatility !== 'volatile';
  return {
    counts: isPlanned ? [{ statement: guessSql(rows, source) }] : [],
    main: formedStep(rows, form, { features, source, values }),
    held,
    readOnly,
    repeatable,
    contained: repeatable,
    timeoutMs: called.timeoutMs,
    isolation: called.isolation,
  };
}

/** The CTE with the result of the function, so that it runs only once. */
const RESULT = 'w';
/** Alias of the values of a JSON body. */
const BODY = 'b';

/** The rows of a call as the source of a read. */
function callSource(plan: CallPlan): (parameters: Parameters) => RowSource {
  const { called } = plan;
  const { returns } = called;
  return (parameters) => ({
    prefix: `with ${RESULT} as (${resultSql(plan, parameters)}) `,
    from: `${RESULT} ${ROWS}`,
    ...(returns.kind === 'table' && { rowType: qualifiedName(returns.table) }),
  });
}

function resultSql(plan: CallPlan, parameters: Parameters): string {
  const { called } = plan;
  const { body, list } = argumentsSql(plan, parameters);
  const call = `${qualifiedName(called)}(${list})`;
  if (called.returns.kind === 'scalar' || called.returns.kind === 'void') {
    // Without `offset 0`, PostgreSQL might copy the call to each use of its value.
    return `select ${call} as ${quoteIdentifier(called.name)}${body && ` from ${body}`} offset 0`;
  }
  return `select ${ROWS}.* from ${body && `${body} cross join lateral `}${call} ${ROWS}`;
}

/** The SQL of the arguments, and of the `from` item that they refer to, if any. */
interface ArgumentsSql {
  readonly body: string;
  readonly list: string;
}

function argumentsSql({ given, input, takesAll, wholeType }: CallPlan, parameters: Parameters): ArgumentsSql {
  const [only] = given;
  if (!only) return { body: '', list: '' };
  if (input.kind === 'texts') {
    const list = given.map((argument) => {
      return argumentSql(argument, textSql(argument, input.texts.get(argument.name) ?? [], parameters));
    });
    return { body: '', list: list.join(', ') };
  }
  if (takesAll || input.kind === 'whole')
    return { body: '', list: wholeSql(only, wholeType, parameters.bind(input.body)) };
  return only.name === '' ? unnamedSql(only, input, parameters) : membersSql(given, input, parameters);
}

/** Takes the single unnamed argument from the key "" of a JSON body, which cannot be the name of a column. */
function unnamedSql(
  { type }: Argument,
  input: CallInput & { kind: 'json' },
  parameters: Parameters,
): ArgumentsSql {
  const body = `(${parameters.bind(input.body)}::pg_catalog.json${input.isArray ? ' -> 0' : ''})`;
  const text = `(${body} ->> '')`;
  const isJson = type === 'json' || type === 'jsonb';
  const value = isJson ? `(case when ${text} is not null then ${body} -> '' end)` : text;
  return { body: '', list: `${value}::${type}` };
}

/** Takes arguments from the JSON body in SQL, so that values keep their exact form. */
function membersSql(
  given: readonly Argument[],
  { body, isArray, from, keys = [] }: CallInput & { kind: 'json' },
  parameters: Parameters,
): ArgumentsSql {
  const member = ({ name }: Argument): string => {
    return quoteIdentifier(from === 'csv' ? String(keys.indexOf(name) + 1) : name);
  };
  const columns = given.map((argument) => `${member(argument)} ${unbounded(argument.type)}`).join(', ');
  const record = isArray ? 'json_to_recordset' : 'json_to_record';
  const values = `pg_catalog.${record}(${parameters.bind(body)}) as ${BODY}(${columns})`;
  return {
    body: isArray ? `(select * from ${values} limit 1) ${BODY}` : values,
    list: given.map((argument) => argumentSql(argument, `${BODY}.${member(argument)}`)).join(', '),
  };
}

function argumentSql({ name, variadic }: Argument, value: string): string {
  return `${variadic ? 'variadic ' : ''}${quoteIdentifier(name)} := ${value}`;
}

/** The last of several texts is used, unless the argument is variadic. */
function textSql({ type, variadic }: Argument, texts: readonly string[], parameters: Parameters): string {
  return `${parameters.bind(variadic ? arrayLiteral(texts) : (texts.at(-1) ?? ''))}::${unbounded(type)}`;
}

/** Binds a whole body. `jsonb` is cast from text, because its binary form differs from its text. */
function wholeSql({ name, type }: Argument, base: string | undefined, value: string): string {
  const plain = base === 'jsonb' ? `${value}::text::jsonb` : `${value}::${base ?? type}`;
  const typed = base === undefined || base === type ? plain : `${plain}::${type}`;
  return name === '' ? typed : `${quoteIdentifier(name)} := ${typed}`;
}

/** `character` without a length means one character in a cast, but any length in an argument; `bit` likewise. */
function unbounded(type: string): string {
  return type.replace(/^(character|bit)(?=$|\[)/, '$1 varying');
}
