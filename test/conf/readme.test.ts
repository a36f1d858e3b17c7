import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatFaults } from '../../grammar/index.ts';
import { FORMATS, reportOf } from '../../src/tools/check/index.ts';
import { load, review } from '../../src/pipeline.ts';
import { VERSION } from '../../src/version.ts';
import { ROOT, textOf } from './files.ts';

const blocks = [...textOf('README.md').matchAll(/```nginx\n([^]*?)```/g)].map(([, text = '']) => text);

function faultsOf(conf: string): string {
  const confFile = join(ROOT, 'conf/readme.conf');
  const { report } = load({ confFile, name: 'readme.conf', prefix: ROOT, text: conf });
  return formatFaults(report, { program: 'gw', color: false });
}

test('the README shows a configuration', () => expect(blocks.length).toBeGreaterThan(0));

test.each(blocks)('configuration %# of the README loads', (conf) => expect(faultsOf(conf)).toBe(''));

test('the message that the README shows is the one that gw prints', () => {
  const conf = textOf('conf/demo.conf').replace('return 200', 'retrun 200');
  const [message] = faultsOf(conf).split(/(?=gw: )/);
  const shown = /```\n( +gw: \[emerg\][^]*?)```/.exec(textOf('README.md'))?.[1] ?? '';
  const lines = shown.split('\n').map((line) => line.replace(/^ {3}/, ''));
  expect(message?.replaceAll('readme.conf', 'conf/demo.conf').trimEnd()).toBe(lines.join('\n').trimEnd());
});

const SHOP = `http {
    server {
        listen 80;
        server_name shop.example;

        location ^~ /img {
            alias /srv/shop/img/;
        }
        location ~ ^/img/.*\\.svg$ {
            root /srv/shop/vector;
        }
    }
}
`;

test('the findings that the README shows are those of gw check', async () => {
  const loaded = load({ confFile: join(ROOT, 'shop.conf'), name: 'shop.conf', prefix: ROOT, text: SHOP });
  const report = reportOf([{ name: 'shop.conf', review: await review(loaded) }]);
  const said = FORMATS.concise(report);
  expect(/```\n\$ gw check shop\.conf \| cat\n([^]*?)```/.exec(textOf('README.md'))?.[1]).toBe(said);
});

test('the version of the program is that of its package', () => {
  const { version } = JSON.parse(textOf('package.json')) as { version: string };
  expect(VERSION).toBe(version);
});
