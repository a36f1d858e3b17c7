import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isGenuine, type Seal, type SealedEntry, sealEntry } from '../../src/cluster/index.ts';

const seal: Seal = { secret: 'sesame', namespace: 'prod' };
const stream = 'ev:news';
const entry = {
  origin: 'gw-a',
  incarnation: 'i1',
  sequence: 7,
  fields: ['channel', 'a', 'payload', 'ü\u{1f600}\0'],
};
const sealed = sealEntry(seal, stream, entry);

test('a sealed entry is genuine', () => {
  expect(sealed).toEqual({ ...entry, mac: expect.stringMatching(/^\d+\.[\w-]{43}$/) as string });
  expect(isGenuine({ ...seal }, stream, { ...sealed, fields: [...sealed.fields] })).toBe(true);
});

interface Change {
  readonly seal?: Partial<Seal>;
  readonly stream?: string;
  readonly entry?: Partial<SealedEntry>;
}

const changes: readonly (readonly [what: string, change: Change])[] = [
  ['another secret', { seal: { secret: 'Sesame' } }],
  ['no secret', { seal: { secret: '' } }],
  ['another namespace', { seal: { namespace: 'test' } }],
  ['another stream', { stream: 'ev:new' }],
  ['the namespace in the stream', { seal: { namespace: 'pro' }, stream: 'dev:news' }],
  ['another origin', { entry: { origin: 'gw-b' } }],
  ['a part of the incarnation in the origin', { entry: { origin: 'gw-ai', incarnation: '1' } }],
  ['another incarnation', { entry: { incarnation: 'i2' } }],
  ['a part of the sequence in the incarnation', { entry: { incarnation: 'i17', sequence: 0 } }],
  ['another sequence', { entry: { sequence: 8 } }],
  ['one field less', { entry: { fields: entry.fields.slice(0, -1) } }],
  ['one field more', { entry: { fields: [...entry.fields, ''] } }],
  ['two fields as one', { entry: { fields: ['channela', 'payload', 'ü\u{1f600}\0'] } }],
  ['a length as text', { entry: { fields: ['channel1:a', 'payload', 'ü\u{1f600}\0'] } }],
  ['fields exchanged', { entry: { fields: ['payload', 'ü\u{1f600}\0', 'channel', 'a'] } }],
  ['a text moved into its neighbour', { entry: { fields: ['channe', 'la', 'payload', 'ü\u{1f600}\0'] } }],
  ['no fields', { entry: { fields: [] } }],
  ['no mac', { entry: { mac: '' } }],
  ['another time', { entry: { mac: sealed.mac.replace(/^\d+/, (ms) => String(Number(ms) + 1)) } }],
  ['a mac without its time', { entry: { mac: sealed.mac.replace(/^\d+\./, '') } }],
  ['a shorter mac', { entry: { mac: sealed.mac.slice(0, -1) } }],
  ['a longer mac', { entry: { mac: `${sealed.mac}=` } }],
  [
    'a mac in other letters',
    { entry: { mac: sealed.mac.replace(/.$/, (one) => (one === 'A' ? 'E' : 'A')) } },
  ],
  ['a mac that is no ASCII', { entry: { mac: 'ü'.repeat(43) } }],
];
test.each(changes)(
  'an entry with %s is not genuine',
  (_, { seal: otherSeal, stream: other = stream, entry: changed }) => {
    expect(isGenuine({ ...seal, ...otherSeal }, other, { ...sealed, ...changed })).toBe(false);
  },
);

test('no text can be moved from one part of an entry into another', () => {
  const part = fc.stringMatching(/^[01:]{0,3}$/);
  const parts = fc.record({
    origin: part,
    incarnation: part,
    sequence: fc.nat(2),
    fields: fc.array(part, { maxLength: 3 }),
  });
  const property = fc.property(parts, parts, (one, other) => {
    const { mac } = sealEntry(seal, stream, one);
    expect(isGenuine(seal, stream, { ...other, mac })).toBe(JSON.stringify(one) === JSON.stringify(other));
  });
  fc.assert(property, { numRuns: 2_000 });
});
