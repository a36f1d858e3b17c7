import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { check, type Finding, load } from '../../../src/pipeline.ts';
import { placeOf } from '../../../grammar/index.ts';
import { ROOT } from '../../conf/files.ts';

async function findingsIn(path: string): Promise<readonly Finding[]> {
  const prefix = mkdtempSync(join(tmpdir(), 'gw-everyday-'));
  onTestFinished(() => rmSync(prefix, { recursive: true }));
  return check(load({ confFile: path, name: path, prefix }, { advise: true }));
}

const lineOf = ({ rule, slug, message, span }: Finding): string => {
  const { file, line } = span ? placeOf(span) : { file: '', line: 0 };
  return `${file}:${line} ${rule} ${slug}: ${message}`;
};

const filesIn = (directory: string): readonly string[] =>
  readdirSync(join(ROOT, directory))
    .filter((name) => name.endsWith('.conf'))
    .map((name) => `${directory}/${name}`);

/** The certificate that conf/examples/tls.conf and key-value-tls.conf have where they run. */
const certificates = mkdtempSync(join(tmpdir(), 'gw-everyday-'));
const [certificate, key] = [join(certificates, 'shop.crt'), join(certificates, 'shop.key')];
beforeAll(() => {
  const names = [
    '-subj',
    '/CN=shop.example',
    '-addext',
    'subjectAltName=DNS:shop.example,DNS:www.shop.example',
  ];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '90'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...names, '-keyout', key, '-out', certificate], {
    stdio: 'pipe',
  });
  vi.stubEnv('CERTIFICATE', certificate);
  vi.stubEnv('STORE_CA', certificate);
  vi.stubEnv('KEY', key);
});
afterAll(() => rmSync(certificates, { recursive: true }));

// What other configurations include is none of its own.
const ours = [...filesIn('conf'), ...filesIn('conf/examples')].filter((path) => path !== 'conf/fastcgi.conf');

test.each(ours)('%s, which serves as a template, gives no finding', async (path) => {
  const findings = await findingsIn(join(ROOT, path));
  expect(findings.filter(({ severity }) => severity !== 'info').map(lineOf)).toEqual([]);
});

const DEBIAN = '/etc/nginx/nginx.conf';

test.runIf(existsSync(DEBIAN))('the nginx configuration of Debian has no error', async () => {
  const findings = await findingsIn(DEBIAN);
  expect(findings.filter(({ severity }) => severity === 'error').map(lineOf)).toEqual([]);
});
