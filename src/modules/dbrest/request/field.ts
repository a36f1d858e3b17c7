import type { Field, JsonStep } from './read-request.ts';
import type { Scanner } from './scanner.ts';

const MOST_STEPS = 100;
/** A plain key ends where the grammar goes on; a dash belongs to it unless it starts `->`. */
const PLAIN_KEY = /(?:[^(\-:.,>)"]|-(?!>))+/y;
const INDEX = /-?\d{1,9}(?=->|::|[.,)]|$)/y;

/** `column`, `column->key->>0`, each name plain or quoted. */
export function parseField(scanner: Scanner, expected?: string): Field {
  const column = scanner.identifier(expected);
  const path = parsePath(scanner);
  return path.length === 0 ? { column } : { column, path };
}

/** `->key->>0`, as long as there are arrows. */
export function parsePath(scanner: Scanner): JsonStep[] {
  const path: JsonStep[] = [];
  while (scanner.sees('->')) {
    scanner.refuseOver(path.length + 1, MOST_STEPS, 'steps in a JSON path');
    const arrow = scanner.take('->>') ? '->>' : '->';
    if (arrow === '->') scanner.take('->');
    path.push({ arrow, key: parseKey(scanner) });
  }
  return path;
}

function parseKey(scanner: Scanner): string | number {
  const index = scanner.match(INDEX);
  if (index !== undefined) return Number(index);
  const key = scanner.sees('"') ? scanner.quoted() : scanner.match(PLAIN_KEY)?.trim();
  if (key === undefined) throw scanner.unexpected('any non reserved character different from: .,>()');
  return key;
}
