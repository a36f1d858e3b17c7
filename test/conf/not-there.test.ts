import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatFaults } from '../../grammar/index.ts';
import { refusalOf, Registry } from '../../src/config/index.ts';
import { MODULES } from '../../src/modules/index.ts';
import { load } from '../../src/pipeline.ts';
import { ROOT, textOf } from './files.ts';

const registry = new Registry(MODULES);

/** How each claim of a table "What is not there" is true of a directive. */
const CLAIMS: Readonly<Record<string, (directive: string) => boolean>> = {
  'refused by name': (name) =>
    registry.entries.every((entry) => entry.name !== name) && refusalOf(name) !== undefined,
  refused: (directive) => faultsOf(directive) !== '' && faultsOf('') === '',
  'accepted, without effect': (name) => {
    const rows = registry.entries.filter((entry) => entry.name === name);
    return rows.length > 0 && rows.every(({ row }) => 'accepted' in row);
  },
};

describe.each(['README.md', 'conf/guide/from-nginx.md'])('what is not there, by %s', (page) => {
  const rows = rowsOf(page);

  test('is a table', () => expect(rows.length).toBeGreaterThan(2));

  test.each(rows)('$directive is $claim', ({ directive, claim }) => {
    expect(CLAIMS[claim]?.(directive)).toBe(true);
  });
});

/** The directives in the first cells of the page's table, each with the claim about it. */
function rowsOf(page: string) {
  const section = /^#+ What is not there\n([^]*?)(?=^#)/m.exec(textOf(page))?.[1] ?? '';
  return [...section.matchAll(/^\| (.*?`.*?) +\| (.*?) +\|/gm)].flatMap(([, cell = '', claim = '']) =>
    [...cell.matchAll(/`(.*?)`/g)].map(([, directive = '']) => ({
      directive,
      claim: claim.replace(' (GW117)', ''),
    })),
  );
}

/** The faults of a configuration that is right but for the directive. */
function faultsOf(directive: string): string {
  const [name = ''] = directive.split(' ');
  const isMain = registry.entries.some((entry) => entry.name === name && entry.row.contexts.includes('main'));
  const server = `http { server { listen 80; ${isMain || directive === '' ? '' : `${directive};`} } }`;
  const text = isMain ? `${directive}; ${server}` : server;
  const { report } = load({
    confFile: join(ROOT, 'not-there.conf'),
    name: 'not-there.conf',
    prefix: ROOT,
    text,
  });
  return formatFaults(report, { program: 'gw', color: false });
}
