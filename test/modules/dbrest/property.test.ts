import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseReadQuery } from '../../../src/modules/dbrest/request/index.ts';
import { planRead } from '../../../src/modules/dbrest/plan/index.ts';
import type { Schema } from '../../../src/modules/dbrest/schema/index.ts';
import { shapedSql } from '../../../src/modules/dbrest/sql/index.ts';

const quoted = (name: string): string => `"${name.replace(/["\\]/g, '\\$&')}"`;
const name = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 15 })
  .filter((text) => !text.includes('\0'));
const value = fc.string({ unit: 'binary', maxLength: 40 });

const schemaWith = (column: string): Schema => ({
  tables: new Map([
    [
      'api',
      new Map([
        [
          't',
          {
            schema: 'api',
            name: 't',
            columns: new Map([[column, { name: column, type: 'text' }]]),
            primaryKey: [],
            grantees: [],
          },
        ],
      ]),
    ],
  ]),
  textSearchConfigs: new Set(),
  roles: new Map(),
});

test('every name and every value is parsed as it was written', () => {
  fc.assert(
    fc.property(name, name, fc.array(value, { maxLength: 5 }), (column, alias, values) => {
      const select = encodeURIComponent(`${quoted(alias)}:${quoted(column)}`);
      const list = encodeURIComponent(`in.(${values.map(quoted).join(',')})`);
      const query = `select=${select}&${encodeURIComponent(quoted(column))}=${list}&order=${encodeURIComponent(quoted(column))}`;
      expect(parseReadQuery(query)).toEqual({
        select: [{ kind: 'column', column, alias }],
        filters: [
          { kind: 'filter', column, negated: false, operator: 'in', operand: { kind: 'list', values } },
        ],
        order: [{ column }],
        offset: 0,
        having: [],
        distinct: [],
        embedded: [],
      });
    }),
  );
});

test('no value of a request is ever in the text of its statement', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(
        'id=eq.',
        'id=like.',
        'id=match.',
        'id=plfts.',
        'id=cs.',
        'id->>a=eq.',
        'id=ilike(any).',
      ),
      value,
      value,
      (operator, first, second) => {
        const sql = (text: string) => {
          const request = parseReadQuery(`${operator}${encodeURIComponent(text)}`);
          return shapedSql(
            planRead(request, { schema: 'api', table: 't', role: 'anon' }, schemaWith('id')),
            'whole',
          );
        };
        expect(sql(first).text).toBe(sql(second).text);
        expect(sql(first).values.at(-1)).toBe(operator.includes('like') ? first.replaceAll('*', '%') : first);
      },
    ),
  );
});

const piece = fc.oneof(
  value,
  fc.constantFrom(
    'select=',
    'order=',
    'id=eq.',
    '=',
    '&',
    '(',
    ')',
    '"',
    '\\',
    ',',
    '.',
    ':',
    '::',
    '->',
    '->>',
    'or=(',
    'and',
    'not.',
    '!',
    '...',
    '()',
    '{',
    '}',
    'a.b=is.null',
    '%',
  ),
);

test('any query string gives a request or a refusal, never a defect', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      try {
        parseReadQuery(pieces.join(''));
      } catch (error) {
        expect(error).toHaveProperty(
          'status',
          expect.toSatisfy((status: number) => status === 400 || status === 416),
        );
      }
    }),
    { numRuns: 2_000 },
  );
});
