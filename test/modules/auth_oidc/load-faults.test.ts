import { expect, test } from 'vitest';
import { loadConf, testLoadFaults } from '../../harness/load-faults.ts';

testLoadFaults(import.meta.url);

const PROVIDER = 'oidc_provider idp { issuer https://idp.example; client_id a; session_store s; }';

test('a provider that no location asks needs no store', () => {
  expect(
    loadConf(`events { } http { ${PROVIDER} server { location / { return 200; } } }`).report.faults,
  ).toEqual([]);
});
