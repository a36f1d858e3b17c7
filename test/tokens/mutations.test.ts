import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CompactSign, compactVerify } from 'jose';
import { expect, test } from 'vitest';
import { isRefusal, openKeys, readKeySource, TokenVerifier } from '../../src/tokens/index.ts';

const SECRET = Buffer.alloc(32, 7);
const ed = generateKeyPairSync('ed25519');
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });

/** Tokens and their keys: signatures of 43, 86 and 128 characters. */
const signers: readonly [
  alg: string,
  signing: KeyObject | Buffer,
  verifying: KeyObject | Buffer,
  jwk: object,
][] = [
  ['HS256', SECRET, SECRET, { kty: 'oct', k: SECRET.toString('base64url') }],
  ['EdDSA', ed.privateKey, ed.publicKey, ed.publicKey.export({ format: 'jwk' })],
  ['ES384', p384.privateKey, p384.publicKey, p384.publicKey.export({ format: 'jwk' })],
];

const SIGNS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.';

/** Numbers from 0 to below 1 that are the same in every run (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Changes, removes, adds, repeats or swaps a piece, mostly near the end, where changes may not count. */
function mutated(token: string, random: () => number): string {
  const below = (limit: number): number => Math.floor(random() * limit);
  const at = random() < 0.5 ? token.length - below(4) : below(token.length);
  const sign = SIGNS[below(SIGNS.length)] as string;
  const [head, tail] = [token.slice(0, at), token.slice(at)];
  const kinds = [
    () => head + sign + tail.slice(1),
    () => head + tail.slice(1),
    () => head + sign + tail,
    () => head + sign + sign + tail,
    () => head + tail + tail,
    () => tail + head,
    () => token,
  ];
  return (kinds[below(kinds.length)] as () => string)();
}

test('ten thousand changed tokens are judged as jose judges them', { timeout: 20_000 }, async () => {
  const random = numbers(1);
  const counts = { verified: 0, refused: 0 };
  for (const [alg, signing, verifying, jwk] of signers) {
    const source = readKeySource(JSON.stringify(jwk));
    if ('fault' in source) throw new Error(source.fault);
    const keys = openKeys(source);
    const payload = new TextEncoder().encode('{"sub":"ann"}');
    const token = await new CompactSign(payload).setProtectedHeader({ alg }).sign(signing);
    // Elliptic curves are slow.
    for (let round = alg === 'HS256' ? 9_400 : 300; round > 0; round -= 1) {
      const changed = mutated(token, random);
      // Without what is kept of others: each is verified.
      const outcome = new TokenVerifier({ mostTokens: 1, mostBytes: 8_192 }).verify(changed, keys);
      const isVerified = !isRefusal(outcome);
      const expected = await compactVerify(changed, verifying, { algorithms: [alg] }).then(
        () => true,
        () => false,
      );
      expect([changed, isVerified]).toEqual([changed, expected]);
      counts[isVerified ? 'verified' : 'refused'] += 1;
    }
  }
  expect(counts.verified).toBeGreaterThan(500);
  expect(counts.refused).toBeGreaterThan(5_000);
});
