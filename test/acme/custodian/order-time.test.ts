import { expect, test } from 'vitest';
import type { OrderRecord } from '../../../src/acme/custodian/issuer-state.ts';
import { obtain } from '../../../src/acme/custodian/order.ts';
import type { AcmeIssuer } from '../../../src/acme/plan.ts';
import { startAuthority } from '../../harness/acme-authority.ts';
import { clientOf, dns } from '../protocol/account-of.ts';

const MINUTE_MS = 60_000;

const ISSUER: AcmeIssuer = {
  name: 'le',
  uri: 'http://127.0.0.1/',
  accountKey: { generate: 'ecdsa:256' },
  challenge: 'http-01',
  contacts: [],
  verifies: true,
  statePath: undefined,
  acceptsTerms: false,
  namesInCsr: false,
  dnsWaitMs: 0,
};

/** Keeps the tokens that are presented. */
function storeOf(tokens: Set<string>): Parameters<typeof obtain>[0]['store'] {
  return {
    putToken: (token) => void tokens.add(token),
    dropToken: (token) => void tokens.delete(token),
    putChallengeCertificate: () => undefined,
    dropChallengeCertificate: () => undefined,
    spread: async () => undefined,
  };
}

/** Each step takes a minute: looking at an authorization, presenting a proof, accepting a challenge. */
const CASES = [
  { it: 'before a proof is presented, its order is gone on with', names: 40, orders: 1 },
  { it: 'while proofs are presented, they are taken away, and it is ordered anew', names: 20, orders: 2 },
  { it: 'while challenges are accepted, they are taken away, and it is ordered anew', names: 12, orders: 2 },
];

for (const { it, names, orders } of CASES)
  test(`an order has half an hour: if that ends ${it}`, async (t) => {
    const authority = await startAuthority(t, { validates: false });
    const { client } = clientOf(authority);
    const { url: accountUrl } = await client.account();
    const identifiers = Array.from({ length: names }, (_, n) => dns(`n${n}.test`));
    const tokens = new Set<string>();
    let placed: OrderRecord | undefined;
    const attempt = (stepMs: number): ReturnType<typeof obtain> => {
      let nowMs = 0;
      return obtain({
        session: { client, accountUrl },
        issuer: ISSUER,
        certificate: { issuer: 'le', identifiers, key: 'ecdsa:256' },
        placed,
        replaces: undefined,
        store: storeOf(tokens),
        save: async (order) => void (placed = order),
        forget: async () => void (placed = undefined),
        texts: async () => [],
        warn: () => undefined,
        signal: new AbortController().signal,
        nowMs: () => (nowMs += stepMs),
      });
    };
    await expect(attempt(MINUTE_MS)).rejects.toMatchObject({
      kind: 'undecided',
      message: 'the order is not done after 30 minutes',
    });
    expect([...tokens]).toEqual([]);
    expect(authority.issued).toHaveLength(0);
    expect(placed).toBeDefined();

    const { chain } = await attempt(0);
    expect(chain).toContain('BEGIN CERTIFICATE');
    expect(authority.orders).toHaveLength(orders);
    expect([...tokens]).toEqual([]);
  });
