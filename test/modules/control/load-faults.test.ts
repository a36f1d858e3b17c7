import { expect, test } from 'vitest';
import { ENDPOINTS } from '../../../src/modules/control/inventory.ts';
import { loadConf, testLoadFaults } from '../../harness/load-faults.ts';

testLoadFaults(import.meta.url);

test('an unknown endpoint without a near name lists all endpoints', () => {
  const [fault] = loadConf('events {} http { server { location /x { control_api xyzzyxyzzy; } } }').report
    .faults;
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
  test(`${it}`, () => expect(loadConf(`events {} http { ${conf} }`).report.faults).toEqual([]));
}
