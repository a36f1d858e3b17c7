import { describe, expect, test } from 'vitest';
import { type FaultCase, fixtureGateway, givesFaults, givesRows, type RowsCase } from '../fixture/gateway.ts';

const gateway = fixtureGateway();

const many = (count: number, piece: string, between = ','): string => Array(count).fill(piece).join(between);
const nested = (depth: number): string => `${'(and'.repeat(depth - 1)}(id.eq.1)${')'.repeat(depth - 1)}`;
const bosses = (depth: number): string => `${'reports_to('.repeat(depth)}id${')'.repeat(depth)}`;

const within: readonly RowsCase[] = [
  [`clients?select=id&${many(500, 'id=eq.1', '&')}`, [{ id: 1 }]],
  [`clients?select=id&and=${nested(20)}`, [{ id: 1 }]],
  [`clients?select=id&id=in.(${many(1_500, '1')})`, [{ id: 1 }]],
  [`employees?select=${bosses(3)}&id=eq.4`, [{ reports_to: { reports_to: { reports_to: null } } }]],
  [`clients?select=${many(500, 'id')}&id=eq.1`, [{ id: 1 }]],
];
describe('requests just within a limit', () => {
  givesRows(gateway, within);
});

const tooLarge = (what: string): object => ({ message: `Request exceeds a limit: ${what}` });
const beyond: readonly FaultCase[] = [
  [`clients?${many(501, 'id=eq.1', '&')}`, 400, 'PGRST100', tooLarge('at most 500 filters')],
  [`clients?and=${nested(21)}`, 400, 'PGRST100', tooLarge('"and" and "or" nest at most 20 deep')],
  [`employees?select=${bosses(11)}`, 400, 'PGRST100', tooLarge('embedded resources nest at most 10 deep')],
  [`clients?select=${many(501, 'id')}`, 400, 'PGRST100', tooLarge('"select" has at most 500 items')],
  [`clients?select=${'x'.repeat(64)}`, 400, 'PGRST100', tooLarge('a name has at most 63 bytes')],
  [`clients?select=${'é'.repeat(32)}`, 400, 'PGRST100', tooLarge('a name has at most 63 bytes')],
  [`clients?order=${many(501, 'id')}`, 400, 'PGRST100', tooLarge('"order" has at most 500 terms')],
  ['clients?id=eq.1%00', 400, '22021'],
  ['clients?name=eq.%FF', 400, 'PGRST100'],
  ['clients?select="a%00b"', 400, 'PGRST100'],
];
describe('requests beyond a limit', () => {
  givesFaults(gateway, beyond);
});

test('a URL that is too long is refused before it is parsed', async () => {
  const { status } = await gateway.ask(`clients?id=in.(${many(6_000, '1')})`);
  expect(status).toBe(414);
});
