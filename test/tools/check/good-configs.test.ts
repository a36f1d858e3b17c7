import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { placeOf } from '../../../grammar/index.ts';
import { check, load } from '../../../src/pipeline.ts';
import { Certificates } from '../../harness/certificates.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const DEBIAN = '/etc/nginx';
const DEBIAN_SITE = join(DEBIAN, 'sites-available/default');
const HAS_DEBIAN = existsSync(DEBIAN_SITE);

const SHIPPED = ['conf', 'conf/examples'].flatMap((folder) =>
  readdirSync(join(ROOT, folder)).flatMap((file) =>
    file.endsWith('.conf') && file !== 'fastcgi.conf' ? join(folder, file) : [],
  ),
);

/** Errors of any rule, and all findings of the rules of loading and routing except "it has no effect". */
async function saidOf(confFile: string, text = readFileSync(confFile, 'utf8')): Promise<readonly string[]> {
  const loaded = load({ confFile, name: confFile, prefix: dirname(confFile), text }, { advise: true });
  return (await check(loaded))
    .filter(
      ({ severity, rule, slug }) =>
        severity === 'error' || (/^GW[12]/.test(rule) && slug !== 'ignored-directive'),
    )
    .map(({ rule, message, span }) => `${rule} ${message} in line ${span && placeOf(span).line}`);
}

/** The files that an example expects beside it. */
function withCertificate(text: string): string {
  if (!text.includes('.crt')) return text;
  const certificates = new Certificates();
  certificates.authority('shop');
  return text.replaceAll(/\b[\w-]+\.(crt|key)\b/g, (_, kind) => certificates.path(`shop.${kind}`));
}

for (const file of SHIPPED) {
  test(`${file} gives no findings`, async () => {
    const path = join(ROOT, file);
    expect(await saidOf(path, withCertificate(readFileSync(path, 'utf8')))).toEqual([]);
  });
}

const title = HAS_DEBIAN ? '' : ` (skipped: ${DEBIAN} has no configuration of Debian's package)`;

test.skipIf(!HAS_DEBIAN)(`the configuration in Debian's package gives no findings${title}`, async () => {
  expect(await saidOf(join(DEBIAN, 'nginx.conf'))).toEqual([]);
  const site = readFileSync(DEBIAN_SITE, 'utf8');
  expect(await saidOf(join(DEBIAN, 'nginx.conf'), `events { }\nhttp {\n${site}\n}\n`)).toEqual([]);
});
