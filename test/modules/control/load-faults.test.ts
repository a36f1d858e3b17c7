import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { formatFaults } from '../../../grammar/index.ts';
import { ENDPOINTS } from '../../../src/modules/control/inventory.ts';
import { load } from '../../../src/pipeline.ts';

const folder = fileURLToPath(new URL('errors/', import.meta.url));

function reportOf(conf: string) {
  return load({ confFile: join(folder, 'gw.conf'), name: 'gw.conf', prefix: folder, text: conf }).report;
}

for (const file of readdirSync(folder)) {
  test(`${file.replace('.golden', '').replaceAll('-', ' ')} fails the load with its message`, () => {
    const [conf = '', message] = readFileSync(join(folder, file), 'utf8').split(/^-{5,}\n/m);
    expect(formatFaults(reportOf(conf), { program: 'gw', color: false })).toBe(message);
  });
}

test('an unknown endpoint without a near name lists all endpoints', () => {
  const [fault] = reportOf('events {} http { server { location /x { control_api xyzzyxyzzy; } } }').faults;
  expect(fault?.hint).toBe(`expected ${ENDPOINTS.map(({ name }) => name).join(', ')}`);
});

const accepted = [
  {
    it: 'endpoints without flags need no dictionary',
    conf: 'server { location /h { control_api health; } }',
  },
  {
    it: 'the dictionary of the flags may have another name',
    conf: 'control_flags_zone mine; shared_dict_zone zone=mine:64k; server { location /r/ { control_api; } }',
  },
  {
    it: 'a dictionary may be declared after its use',
    conf: 'server { location /r/ { control_api; } } shared_dict_zone zone=feature_flags:4k;',
  },
  {
    it: 'all parameters of a dictionary are optional but the first, in any order',
    conf: 'shared_dict_zone evict timeout=1h30m zone=a:1m; js_shared_dict_zone zone=b:8k; server { }',
  },
  {
    it: 'the key of a flag may be any text',
    conf: `shared_dict_zone zone=feature_flags:4k; feature_flag $a a key=$remote_addr-$http_user_agent;
      feature_flag $B b key=fixed; feature_flag $c c key=$a; server { set $a 1; return 200 "$a$b$c"; }`,
  },
];
for (const { it, conf } of accepted) {
  test(`${it}`, () => expect(reportOf(`events {} http { ${conf} }`).faults).toEqual([]));
}
