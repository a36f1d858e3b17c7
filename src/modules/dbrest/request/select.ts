import { notYet, tooLarge } from '../fault/index.ts';
import type { SelectItem } from './read-request.ts';
import { Scanner } from './scanner.ts';

const MOST_ITEMS = 500;

/** `select=id,alias:name,amount::text,*`; empty selects everything. Throws a `DbrestFault`. */
export function parseSelect(text: string): SelectItem[] {
  const scanner = new Scanner('select parameter', text);
  const items: SelectItem[] = [];
  while (!scanner.done) {
    items.push(parseItem(scanner));
    if (items.length > MOST_ITEMS) throw tooLarge(`"select" has at most ${MOST_ITEMS} items`);
    if (!scanner.take(',')) scanner.end('","');
    else if (scanner.done) throw scanner.unexpected('field name, "*" or "..."');
  }
  return items;
}

function parseItem(scanner: Scanner): SelectItem {
  if (scanner.sees('...')) throw notYet('Spread relationships are');
  if (scanner.take('*')) return { kind: 'all' };
  const first = scanner.identifier('field name, "*" or "..."');
  const aliased = scanner.sees(':') && !scanner.sees('::') && scanner.take(':');
  const column = aliased ? scanner.identifier() : first;
  refuseUnserved(scanner);
  const cast = scanner.take('::') ? scanner.identifier('type name') : undefined;
  refuseUnserved(scanner);
  return { kind: 'column', column, ...(aliased && { alias: first }), ...(cast !== undefined && { cast }) };
}

function refuseUnserved(scanner: Scanner): void {
  if (scanner.sees('->')) throw notYet('JSON paths are');
  if (scanner.sees('.') || scanner.sees('()')) throw notYet('Aggregates are');
  if (scanner.sees('(') || scanner.sees('!')) throw notYet('Embedded resources are');
}
