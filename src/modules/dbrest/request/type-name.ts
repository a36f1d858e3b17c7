import type { TypeName } from './read-request.ts';
import { AGGREGATES } from './read-request.ts';
import type { Scanner } from './scanner.ts';

const MODIFIERS = /\( ?(\d{1,4})(?: ?, ?(\d{1,4}))? ?\)/y;
/** What of `timestamp(0) with time zone` stands behind the modifier. */
const ZONE = / +with(?:out)? +time +zone/iy;
const ARRAY = /(?:\[\])+/y;
/** `amount::int.sum()`: the type ends before the dot. */
const AGGREGATE = new RegExp(String.raw`\.(?:${AGGREGATES.join('|')})\(\)`, 'y');

/** `text`, `double precision`, `numeric(10,2)`, `"my type"`, `schema.type`, `int[]`. Throws a `DbrestFault`. */
export function parseTypeName(scanner: Scanner): TypeName {
  const first = scanner.identifier('type name');
  const isQualified = !scanner.matches(AGGREGATE) && scanner.take('.');
  const name = isQualified ? scanner.identifier('type name') : first;
  const modifiers = scanner.match(MODIFIERS)?.match(/\d+/g)?.map(Number);
  const zone = modifiers ? (scanner.match(ZONE)?.trim().replace(/ +/g, ' ') ?? '') : '';
  const isArray = scanner.match(ARRAY) !== undefined;
  return {
    ...(isQualified && { schema: first }),
    name: zone === '' ? name : `${name} ${zone}`,
    ...(modifiers && { modifiers }),
    ...(isArray && { isArray }),
  };
}
