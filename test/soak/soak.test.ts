import { expect, test } from 'vitest';
import { mutate } from './mutate.ts';
import { Random } from './random.ts';

const request = 'POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello';

function decisions(name: string): unknown[] {
  const random = new Random(name);
  return Array.from({ length: 200 }, (_, turn) => [
    random.below(1_000_000),
    random.chance(0.5),
    random.word(4),
    random.bytes(3).toString('hex'),
    mutate(request, new Random(`${name}/${turn}`)).toString('base64'),
  ]);
}

test('one seed always gives the same decisions, and another seed gives others', () => {
  expect(decisions('1')).toEqual(decisions('1'));
  expect(decisions('1')).not.toEqual(decisions('2'));
});

test('decisions are the same on every machine', () => {
  const random = new Random('seed 1');
  const decided = [random.below(1000), random.below(1000), random.word(8), random.bytes(4).toString('hex')];
  expect(decided).toEqual([910, 178, 'mdp9pb29', '1e7ce913']);
});

test('decisions spread over all choices', () => {
  const random = new Random('spread');
  const counts = Array.from({ length: 10 }, () => 0);
  for (let turn = 0; turn < 10_000; turn++) counts[random.below(10)]!++;
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(200);
});

test('a mutant differs from its original most of the time, and stays within its bounds', () => {
  const mutants = Array.from({ length: 1000 }, (_, turn) => mutate(request, new Random(`m${turn}`)));
  expect(mutants.filter((mutant) => mutant.toString('latin1') !== request).length).toBeGreaterThan(900);
  expect(Math.max(...mutants.map((mutant) => mutant.length))).toBeLessThanOrEqual(400_000);
});
