import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseReadQuery, type TypeName } from '../../../src/modules/dbrest/request/index.ts';

const quoted = (name: string): string => `"${name.replace(/["\\]/g, '\\$&')}"`;
const name = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 15 })
  .filter((text) => !text.includes('\0'));
const value = fc.string({ unit: 'binary', maxLength: 40 });
/** One word of a search, in quotes, in which any text may stand. */
const search = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 40 })
  .map((word) => `'${word.replaceAll(/['\\]/g, '$&$&')}'`);

const step = fc.record({
  arrow: fc.constantFrom('->', '->>'),
  key: fc.oneof(name, fc.integer({ min: -99_999, max: 99_999 })),
});
const field = fc.oneof(
  fc.record({ column: name }),
  fc.record({ column: name, path: fc.array(step, { minLength: 1, maxLength: 3 }) }),
);
type AnyField = { column: string; path?: { arrow: string; key: string | number }[] };
const printField = ({ column, path = [] }: AnyField): string =>
  quoted(column) +
  path.map(({ arrow, key }) => arrow + (typeof key === 'string' ? quoted(key) : key)).join('');

const operand = fc.oneof(
  fc.record({ operator: fc.constantFrom('eq', 'neq', 'like', 'cs'), operand: text() }),
  fc.record({ operator: fc.constant('ilike'), quantifier: fc.constantFrom('any', 'all'), operand: text() }),
  fc.record({
    operator: fc.constant('in'),
    operand: fc.record({
      kind: fc.constant('list'),
      values: fc.array(value, { minLength: 1, maxLength: 3 }),
    }),
  }),
  fc.record({
    operator: fc.constant('is'),
    operand: fc.record({ kind: fc.constant('truth'), truth: fc.constantFrom('null', 'true') }),
  }),
  fc.record({
    operator: fc.constant('fts'),
    operand: fc.record({ kind: fc.constant('search'), config: name, query: search }),
  }),
);
function text(): fc.Arbitrary<object> {
  return fc.record({ kind: fc.constant('text'), text: value });
}
const filter = fc
  .tuple(field, fc.boolean(), operand)
  .map(([of, negated, test]) => ({ kind: 'filter', ...of, negated, ...test }));
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof({ maxDepth: 4 }, filter, tie('group')),
  group: fc.record({
    kind: fc.constantFrom('and', 'or'),
    negated: fc.boolean(),
    terms: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
  }),
}));

interface AnyOperand {
  kind: string;
  text?: string;
  values?: string[];
  truth?: string;
  config?: string;
  query?: string;
}
interface AnyTree extends AnyField {
  kind: string;
  negated: boolean;
  terms?: AnyTree[];
  operator: string;
  quantifier?: string;
  operand: AnyOperand;
}
function print(logic: AnyTree): string {
  const not = logic.negated ? 'not.' : '';
  if (logic.terms) return `${not}${logic.kind}(${logic.terms.map(print).join(',')})`;
  const { config = '' } = logic.operand;
  const modifier = logic.quantifier ?? (logic.operand.kind === 'search' ? quoted(config) : '');
  const modified = modifier === '' ? logic.operator : `${logic.operator}(${modifier})`;
  return `${printField(logic)}.${not}${modified}.${printOperand(logic.operand)}`;
}
function printOperand({ text = '', values, truth, query }: AnyOperand): string {
  return values ? `(${values.map(quoted).join(',')})` : (truth ?? quoted(query ?? text));
}

test('every printed tree of filters is parsed to the same tree', () => {
  fc.assert(
    fc.property(fc.array(tree as fc.Arbitrary<AnyTree>, { minLength: 1, maxLength: 3 }), (terms) => {
      const query = `or=${encodeURIComponent(`(${terms.map(print).join(',')})`)}`;
      expect(parseReadQuery(query).filters).toEqual([{ kind: 'or', negated: false, terms }]);
    }),
  );
});

const given = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, content]) => content !== undefined));

const { items } = fc.letrec((tie) => ({
  items: fc.array(fc.oneof({ maxDepth: 3 }, tie('column'), tie('embed')), { minLength: 1, maxLength: 3 }),
  column: fc
    .tuple(
      field,
      fc.option(name, { nil: undefined }),
      fc.constantFrom<AnyItem['cast']>(
        undefined,
        { name: 'int4' },
        { name: 'text', isArray: true },
        { schema: 's', name: 'numeric', modifiers: [10, 2] },
      ),
      fc.constantFrom(undefined, 'sum', 'count'),
    )
    .map(([of, alias, cast, aggregate]) => ({ kind: 'column', ...of, ...given({ alias, cast, aggregate }) })),
  embed: fc
    .tuple(
      name,
      fc.option(name, { nil: undefined }),
      fc.constantFrom(undefined, 'fk'),
      fc.constantFrom(undefined, 'inner', 'left'),
      tie('items'),
    )
    .map(([target, alias, hint, join, select]) => ({
      kind: 'embed',
      target,
      ...given({ alias, hint, join }),
      spread: false,
      select,
    })),
}));
interface AnyItem extends AnyField {
  kind: string;
  target: string;
  select?: AnyItem[];
  alias?: string;
  cast?: TypeName | undefined;
  aggregate?: string;
  hint?: string;
  join?: string;
}
function printType({ schema, name, modifiers, isArray }: TypeName): string {
  const qualified = schema === undefined ? quoted(name) : `${quoted(schema)}.${quoted(name)}`;
  return `${qualified}${modifiers ? `(${modifiers.join(',')})` : ''}${isArray ? '[]' : ''}`;
}
function printItem(item: AnyItem): string {
  const alias = item.alias === undefined ? '' : `${quoted(item.alias)}:`;
  if (!item.select) {
    const cast = item.cast === undefined ? '' : `::${printType(item.cast)}`;
    const aggregate = item.aggregate === undefined ? '' : `.${item.aggregate}()`;
    return `${alias}${printField(item)}${cast}${aggregate}`;
  }
  const marks = [item.hint, item.join].filter((mark) => mark !== undefined).map((mark) => `!${mark}`);
  return `${alias}${quoted(item.target)}${marks.join('')}(${item.select.map(printItem).join(',')})`;
}

test('every printed selection is parsed to the same selection', () => {
  fc.assert(
    fc.property(items as fc.Arbitrary<AnyItem[]>, (select) => {
      expect(parseReadQuery(`select=${encodeURIComponent(select.map(printItem).join(','))}`).select).toEqual(
        select,
      );
    }),
  );
});

const aggregated = fc
  .tuple(
    fc.option(field, { nil: undefined }),
    fc.constantFrom<AnyItem['cast']>(
      undefined,
      { name: 'int4' },
      { schema: 's', name: 'numeric', modifiers: [10, 2] },
    ),
    fc.constantFrom('avg', 'count', 'max', 'min', 'sum'),
  )
  .map(
    ([of, cast, aggregate]) =>
      (of ? given({ field: of, cast, aggregate }) : { aggregate: 'count' }) as AnyAggregate,
  );
interface AnyAggregate {
  readonly field?: AnyField;
  readonly cast?: TypeName;
  readonly aggregate: string;
}
function printAggregate({ field: of, cast, aggregate }: AnyAggregate): string {
  return of ? `${printField(of)}${cast ? `::${printType(cast)}` : ''}.${aggregate}()` : 'count()';
}

const relations = fc.option(fc.array(name, { minLength: 1, maxLength: 3 }), { nil: undefined });
const orderKey = fc
  .tuple(fc.oneof(field, aggregated), relations)
  .map(
    ([of, within]) =>
      given({ ...of, relations: within }) as (AnyField | AnyAggregate) & { relations?: string[] },
  );
function printKey({
  relations: within = [],
  ...of
}: (AnyField | AnyAggregate) & { relations?: string[] }): string {
  const inside = 'aggregate' in of ? printAggregate(of) : printField(of);
  return `${within.map((one) => `${quoted(one)}(`).join('')}${inside}${')'.repeat(within.length)}`;
}

test('every printed order is parsed to the same terms, and so is what rows are distinct in', () => {
  const direction = fc.constantFrom(undefined, 'asc', 'desc');
  const nulls = fc.constantFrom(undefined, 'nullsfirst', 'nullslast');
  const term = fc.tuple(orderKey, direction, nulls);
  fc.assert(
    fc.property(fc.array(term, { minLength: 1, maxLength: 3 }), (terms) => {
      const texts = terms.map(([key, ...words]) =>
        [printKey(key), ...words].filter((word) => word !== undefined).join('.'),
      );
      const order = terms.map(([key, by, where]) => ({ ...key, ...given({ direction: by, nulls: where }) }));
      const distinct = terms.map(([key]) => key);
      const query = `order=${encodeURIComponent(texts.join(','))}&distinct=${encodeURIComponent(`on.(${distinct.map(printKey).join(',')})`)}`;
      expect(parseReadQuery(query)).toMatchObject({ order, distinct, filters: [] });
    }),
  );
});

test('every printed filter of groups is parsed to the same filter', () => {
  fc.assert(
    fc.property(aggregated, fc.boolean(), value, (of, negated, operand) => {
      const printed = `${printAggregate(of)}.${negated ? 'not.' : ''}eq.${quoted(operand)}`;
      const parsed = {
        kind: 'filter',
        ...of,
        negated,
        operator: 'eq',
        operand: { kind: 'text', text: operand },
      };
      const query = `having=${encodeURIComponent(`and(${printed})`)}&having=${encodeURIComponent(printed)}`;
      const whole = { ...parsed, operand: { kind: 'text', text: quoted(operand) } };
      expect(parseReadQuery(query).having).toEqual([{ kind: 'and', negated: false, terms: [parsed] }, whole]);
    }),
  );
});
