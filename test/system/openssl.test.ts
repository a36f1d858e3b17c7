import { expect, test } from 'vitest';
import { verifyError } from '../../src/system/index.ts';

const cases = [
  { code: 'CERT_HAS_EXPIRED', number: 10, message: 'certificate has expired' },
  { code: 'PATH_LENGTH_EXCEEDED', number: 25, message: 'path length constraint exceeded' },
  { code: 'INVALID_PURPOSE', number: 26, message: 'unsuitable certificate purpose' },
  // In OpenSSL 1.1 the number was 24, which is another error now.
  { code: 'INVALID_CA', number: 79, message: 'invalid CA certificate' },
  { code: 'HOSTNAME_MISMATCH', number: 1, message: 'HOSTNAME_MISMATCH' },
];

for (const { code, ...expected } of cases) {
  test(`${code} has the number and the message of OpenSSL 3`, () => {
    expect(verifyError(code)).toEqual(expected);
  });
}
