import { describe, expect, test } from 'vitest';
import type { Gateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import type { Case } from './cases/case.ts';
import { flagCases } from './cases/flags.ts';
import { metricCases } from './cases/metrics.ts';
import { probeCases } from './cases/probes.ts';
import { statementCases } from './cases/statements.ts';
import { surface } from './surface.ts';

const file = wholeFile();

async function expectCase(gw: Gateway, { first = [], path, status = 200, body, json }: Case) {
  for (const step of first) await gw.expect(`GET ${step}`, { status: 200 });
  const wanted = { status, ...(body !== undefined && { body }), ...(json !== undefined && { json }) };
  const response = await gw.expect(`GET ${path}`, wanted);
  const type = json === undefined ? 'text/plain; charset=utf-8' : 'application/json';
  expect(response.headers.get('content-type')).toBe(type);
  expect(response.headers.get('cache-control')).toBe('no-store');
}

describe.each([1, 4])('with %i workers', (workers) => {
  const gw = surface(file, workers);
  for (const tried of [...flagCases, ...probeCases, ...metricCases, ...statementCases]) {
    test(`${tried.it}: GET ${tried.path.slice(0, 80)}`, () => expectCase(gw(), tried));
  }
});
