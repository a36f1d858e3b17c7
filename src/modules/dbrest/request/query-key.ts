import { parsePath } from './field.ts';
import type { Field } from './read-request.ts';
import { DELIMITER, Scanner } from './scanner.ts';

/** What a parameter is about; `path` leads to the embed that it belongs to, empty for the root. */
export type QueryKey = { readonly path: readonly string[] } & (
  | { readonly kind: 'filter'; readonly field: Field }
  | { readonly kind: 'logic'; readonly operator: string }
  | { readonly kind: 'order' | 'limit' | 'offset' }
);

const DEEPEST = 10;

/** `id`, `data->>a`, `orders.items.id`, `orders.order`, `orders.not.or` … Throws a `DbrestFault`. */
export function parseKey(key: string): QueryKey {
  const scanner = new Scanner('tree path', key);
  const names: string[] = [];
  let start: number;
  do {
    scanner.refuseOver(names.length, DEEPEST + 2, 'names in a path');
    start = scanner.at;
    names.push(scanner.identifier());
  } while (scanner.take('.'));
  const word = scanner.text.slice(start);
  const path = names.slice(0, -1);
  switch (word) {
    case 'order':
    case 'limit':
    case 'offset':
      return { kind: word, path };
    case 'and':
    case 'or':
      if (path.at(-1) !== 'not') return { kind: 'logic', operator: word, path };
      return { kind: 'logic', operator: `not.${word}`, path: path.slice(0, -1) };
  }
  const column = names.at(-1) as string;
  const steps = parsePath(scanner);
  scanner.end(DELIMITER);
  return { kind: 'filter', path, field: steps.length === 0 ? { column } : { column, path: steps } };
}
