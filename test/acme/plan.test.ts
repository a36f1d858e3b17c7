import { expect, test } from 'vitest';
import {
  ACME_KEY_KINDS,
  type AcmeCertificate,
  type AcmePlan,
  certificateId,
  type OnDemandRules,
  USUAL_KEY,
} from '../../src/acme/plan.ts';

const certificate = (names: readonly string[], key = USUAL_KEY): AcmeCertificate => ({
  issuer: 'x',
  key,
  identifiers: names.map((value) => ({ type: 'dns', value })),
});

const ON_DEMAND: readonly OnDemandRules[] = [];

const PLAN: AcmePlan = {
  issuers: [],
  onDemand: ON_DEMAND,
  cluster: undefined,
  certificates: [
    ...ACME_KEY_KINDS.map((key) => certificate(['a.example'], key)),
    certificate(['a.example', 'b.example']),
    certificate(['a.example', 'c.example']),
    certificate(['b.example', 'a.example']),
    certificate(['*.a.example']),
    certificate([`${'a.'.repeat(125)}aa`]),
    certificate([`${'a.'.repeat(125)}bb`]),
  ],
};

test('each certificate has an id of its own, which is the name of a file', () => {
  const ids = PLAN.certificates.map(certificateId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[\w*-][\w.*-]{0,239}$/);
  expect(ids[0]).toBe('a.example');
});
