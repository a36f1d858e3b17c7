import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatConfig, minifyConfig } from '../../grammar/index.ts';
import { load } from '../../src/pipeline.ts';
import { ROOT } from './files.ts';

/** A configuration of the repository, and the directory that its includes start from. */
interface Config {
  readonly name: string;
  readonly directory: string;
  readonly text: string;
}

const whole = ['conf', 'conf/examples', 'conf/deploy', 'test/conf/everyday'].flatMap((directory) =>
  readdirSync(join(ROOT, directory))
    .filter((name) => name.endsWith('.conf') && name !== 'fastcgi.conf')
    .map((name) => ({ name: `${directory}/${name}`, directory, text: textIn(`${directory}/${name}`) })),
);
const cases = readdirSync(join(ROOT, 'test/conformance/cases')).map((name) => ({
  name: `test/conformance/cases/${name}`,
  directory: 'conf',
  text: `http {\n${textIn(`test/conformance/cases/${name}`).split('----------\n', 1)[0]}\n}\n`
    .replaceAll('PORT', '8080')
    .replaceAll('SITE', '/srv/site'),
}));
const configs: readonly Config[] = [...whole, ...cases];

function textIn(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The result of loading a text: its plan without lines and the digest of the text, and the messages. */
function meaningOf({ directory, text }: Config): { readonly plan: unknown; readonly faults: unknown } {
  const confFile = join(ROOT, directory, 'gateway.conf');
  const { plan, report } = load({ confFile, name: 'gateway.conf', prefix: ROOT, text });
  const withoutDigest = plan && { ...plan, main: { ...plan.main, digest: '' } };
  const withoutLines = JSON.stringify(withoutDigest, (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(/(gateway\.conf):\d+/g, '$1') : value,
  );
  return {
    plan: plan && JSON.parse(withoutLines),
    faults: report.faults.map(({ severity, message }) => ({ severity, message })),
  };
}

test('most configurations of the repository give a plan', () => {
  const planned = configs.filter((config) => meaningOf(config).plan !== undefined);
  expect(planned.length).toBeGreaterThan(50);
  expect(planned.length / configs.length).toBeGreaterThan(0.9);
});

for (const config of configs) {
  test(`${config.name} means the same formatted and minified, and formatting it again changes nothing`, () => {
    const formatted = formatConfig(config, { indent: '    ' });
    expect(formatConfig({ ...config, text: formatted }, { indent: '    ' })).toBe(formatted);
    const meaning = meaningOf(config);
    expect(meaningOf({ ...config, text: formatted })).toEqual(meaning);
    expect(meaningOf({ ...config, text: minifyConfig(config) })).toEqual(meaning);
  });
}
