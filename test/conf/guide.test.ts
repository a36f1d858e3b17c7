import { existsSync, readdirSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { formatFaults } from '../../grammar/index.ts';
import { check, load } from '../../src/pipeline.ts';
import { ROOT, textOf } from './files.ts';

const PAGES = readdirSync(join(ROOT, 'conf/guide')).map((name) => `conf/guide/${name}`);

/** The environment variables that the pages refer to. */
const ENVIRONMENT = {
  CLIENT_SECRET: 'the secret of the gateway',
  CLUSTER_SECRET: 'c'.repeat(32),
  DATABASE_URL: 'postgres://authenticator@localhost/app',
  API_KEYS: join(ROOT, 'conf/examples/api-keys'),
  ISSUER_KEYS: join(ROOT, 'conf/examples/issuer-keys.json'),
  JWT_SECRET: randomBytes(32).toString('base64url'),
  PGRST_DB_URI: 'postgres://authenticator@localhost/app',
  PGRST_JWT_SECRET: randomBytes(32).toString('base64url'),
  PUBLISH_KEY: 'k'.repeat(32),
  DATABASE_PASSWORD: 'secret',
  REDIS_PASSWORD: 'secret',
};
beforeAll(() => {
  for (const [name, value] of Object.entries(ENVIRONMENT)) vi.stubEnv(name, value);
});

const blocks = [...PAGES, 'README.md'].flatMap((page) =>
  [...textOf(page).matchAll(/```nginx\n([^]*?)```/g)].map(([, text = ''], index) => ({ page, index, text })),
);

test.each(blocks)(
  'configuration $index of $page loads, and gw check has nothing against it',
  async ({ text }) => {
    const confFile = join(ROOT, 'conf/guide.conf');
    const loaded = load({ confFile, name: 'guide.conf', prefix: ROOT, text });
    expect(formatFaults(loaded.report, { program: 'gw', color: false })).toBe('');
    const findings = await check(loaded, { severity: 'warning' });
    expect(findings.map(({ rule, message }) => `${rule} ${message}`)).toEqual([]);
  },
);

describe.each([...PAGES, 'README.md', 'CONTRIBUTING.md'])('%s', (page) => {
  const text = textOf(page);

  test('links to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
    const broken = links.filter(([, path = '', anchor]) => {
      const file = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(ROOT, file))) return true;
      return anchor !== undefined && !headingsOf(textOf(file)).has(anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});

/** The names by which headings are linked to, and explicit anchors. */
function headingsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
  const anchors = [...text.matchAll(/<a id="([^"]*)"/g)].map(([, id = '']) => id);
  return new Set([...headings, ...anchors]);
}
